package documents

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/store/sqldb"
	"github.com/chattray/chattray/store/values"
)

// WriteBlock replaces the new content of a block of the document, or adds a
// block with only new content. The type of a block that has current content
// does not change. A write that would change nothing succeeds whatever its match, and keeps
// the revision: a request may be repeated after its answer was lost.
func (t *Tables) WriteBlock(ctx context.Context, owner, document string, w record.BlockWrite) (schemas.Block, error) {
	var written schemas.Block
	err := t.changeDocument(ctx, owner, document, w.Create, func(d *change) error {
		if err := t.unwritten(ctx, d.tx, owner, "", w.ID); err != nil {
			return err
		}
		h, err := d.head(w.ID)
		known := w.Match.Holds(d.revision)
		if w.Only {
			known = w.Match.Holds(h.Revision)
		}
		switch {
		case err == nil:
			if err = d.propose(h, &w); err == nil && w.Applied && !w.Only && w.After != nil {
				err = d.move(w.ID, w.After)
			}
		case isMissing(err) && !w.Only:
			if w.Type == "" {
				w.Type = schemas.BlockMarkdown
			}
			err = d.add(&w.NewBlock, true)
		}
		if _, refused := errors.AsType[*schemas.Error](err); !known && (d.changed || refused) {
			return schemas.ErrStale
		}
		if err == nil && w.Applied && known { // a repeated one is not newer than a plan
			err = d.exec("UPDATE blocks SET kept_state = "+appliedSince+" WHERE owner = ? AND id = ? AND (kept_state IS NOT NULL OR current IS NULL)", owner, w.ID)
		}
		if err == nil {
			written, err = oneBlock(d.tx, owner, w.ID)
		}
		return err
	})
	return written, t.db.Fault("write block", err)
}

func isMissing(err error) bool {
	return err != nil && schemas.Visible(sqldb.Translate(err)).Code == schemas.CodeNotFound
}

// propose sets the block's new content. A block that was marked as deleted no
// longer is.
func (d *change) propose(h *head, w *record.BlockWrite) error {
	if err := h.uncover(); err != nil {
		return err
	}
	content, meta := values.Clean(w.Content), metaText(w.Meta)
	size := int64(len(content))
	if size > MaxBlockContent {
		return errLongBlock
	}
	column := "new"
	if h.State == schemas.BlockClean || h.State == schemas.BlockPendingMove {
		column = "current"
	}
	same, err := d.holds(h.ID, column, content)
	if err != nil {
		return err
	}
	before := *h
	if w.Type != "" && w.Type != h.Type {
		if h.CurrentSize != nil || w.KeepsType {
			return errBlockType
		}
		h.Type = values.Clean(w.Type)
	}
	target := &h.Meta
	switch {
	case h.CurrentSize != nil && (h.NewMeta != nil || !sameText(h.Meta, meta)):
		target = &h.NewMeta
	case h.CurrentSize == nil && meta == nil && planned(h.Meta):
		h.Meta = nil
	}
	if meta != nil {
		*target = meta
	}
	if same && h.State != schemas.BlockPendingDelete && h.Type == before.Type && sameText(h.Meta, before.Meta) && sameText(h.NewMeta, before.NewMeta) {
		return nil
	}
	h.NewSize = &size
	h.State = h.state()
	return d.saveProposal(h, ", new = ?", content)
}

func sameText(a, b *string) bool { return a == nil && b == nil || a != nil && b != nil && *a == *b }

// planned reports whether a meta belongs to a planned block.
func planned(meta *string) bool {
	var m map[string]json.RawMessage
	return meta != nil && json.Unmarshal([]byte(*meta), &m) == nil && m[record.PlannedKey] != nil
}

// AppendBlock appends to the new content of a block of the document. Without
// new content the error is schemas.ErrNotFound: the user has accepted or
// reverted the block meanwhile.
func (t *Tables) AppendBlock(ctx context.Context, owner, document, id, piece string) error {
	return t.db.Fault("append to block", t.changeDocument(ctx, owner, document, nil, func(d *change) error {
		h, err := d.head(id)
		switch {
		case err != nil:
			return err
		case h.NewSize == nil || h.KeptPlan > 0:
			return schemas.ErrNotFound
		}
		piece = values.Clean(piece)
		if *h.NewSize += int64(len(piece)); *h.NewSize > MaxBlockContent {
			return errLongBlock
		}
		return d.saveProposal(h, ", new = new || ?", piece)
	}))
}

// TouchBlock gives a block of the document a new revision, changes nothing else, and
// returns the block. Pending content that a plan hides is a conflict, as in WriteBlock.
func (t *Tables) TouchBlock(ctx context.Context, owner, document, id string) (schemas.Block, error) {
	var touched schemas.Block
	err := t.changeDocument(ctx, owner, document, nil, func(d *change) error {
		h, err := d.head(id)
		if err != nil {
			return err
		}
		writable := *h
		if err := writable.uncover(); err != nil {
			return err
		}
		if err := d.save(h, ""); err != nil {
			return err
		}
		touched, err = oneBlock(d.tx, owner, id)
		return err
	})
	return touched, t.db.Fault("touch block", err)
}

// ProposeMove marks a block of the document to be moved after another one, to
// the front ("") or to the end (nil). A new block moves at once.
func (t *Tables) ProposeMove(ctx context.Context, owner, document, id string, after *string) (schemas.Block, error) {
	var moved schemas.Block
	err := t.changeDocument(ctx, owner, document, nil, func(d *change) error {
		err := d.move(id, after)
		if err == nil {
			moved, err = oneBlock(d.tx, owner, id)
		}
		return err
	})
	return moved, t.db.Fault("propose move", err)
}

// move proposes a place for the block. Its present place changes nothing.
func (d *change) move(id string, after *string) error {
	h, err := d.head(id)
	if err == nil {
		err = h.uncover()
	}
	if err != nil {
		return err
	}
	own := h.Position
	if h.NewPosition != nil {
		own = *h.NewPosition
	}
	position, same, err := d.key(place{after: after, proposed: true, self: id}, own)
	if err != nil || same {
		return err
	}
	if h, err = d.head(id); err != nil { // the keys may have been assigned again
		return err
	}
	h.KeptPlan = 0
	if h.CurrentSize == nil {
		h.Position = position
	} else {
		h.NewPosition = &position
	}
	h.State = h.state()
	return d.saveProposal(h, "")
}

// ProposeDelete marks a block of the document to be deleted and drops its other
// pending changes. A block with only new content is deleted at once.
func (t *Tables) ProposeDelete(ctx context.Context, owner, document, id string) (record.Settled, error) {
	var out record.Settled
	err := t.changeDocument(ctx, owner, document, nil, func(d *change) error {
		h, err := d.head(id)
		if err != nil {
			return err
		}
		if out.Block, err = oneBlock(d.tx, owner, id); err != nil {
			return err
		}
		switch {
		case h.State == schemas.BlockPendingDelete:
			return nil
		case h.CurrentSize == nil:
			out.Gone = true
			if _, err := d.remove(" AND id = ?", id); err != nil {
				return err
			}
			return d.touch()
		}
		h.State, h.NewPosition, h.NewMeta, h.NewSize = schemas.BlockPendingDelete, nil, nil, nil
		if err := d.saveProposal(h, ", new = NULL"); err != nil {
			return err
		}
		out.Block, err = oneBlock(d.tx, owner, id)
		return err
	})
	return out, t.db.Fault("propose delete", err)
}
