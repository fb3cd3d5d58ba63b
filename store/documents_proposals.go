package store

import (
	"context"
	"encoding/json"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

// WriteBlock replaces the new content of a block of the document, or adds a
// block with only new content. The type of a block that has current content
// does not change. A write that changes nothing keeps the revision, so the same
// write may be repeated.
func (s *Store) WriteBlock(ctx context.Context, owner, document string, w record.BlockWrite) (schemas.Block, error) {
	var written schemas.Block
	err := s.changeDocument(ctx, owner, document, w.Create, func(d *change) error {
		h, err := d.head(w.ID)
		switch {
		case err == nil && !w.Match.Holds(h.Revision), isMissing(err) && !w.Only && !w.Match.Holds(d.revision):
			return schemas.ErrStale
		case err == nil:
			err = d.propose(h, &w)
		case isMissing(err) && !w.Only:
			if w.Type == "" {
				w.Type = schemas.BlockMarkdown
			}
			err = d.add(&w.NewBlock, true)
		}
		if err == nil {
			written, err = oneBlock(d.tx, owner, w.ID)
		}
		return err
	})
	return written, s.fault("write block", err)
}

func isMissing(err error) bool {
	return err != nil && schemas.Visible(translate(err)).Code == schemas.CodeNotFound
}

// propose sets the block's new content. A block that was marked as deleted is no longer.
func (d *change) propose(h *head, w *record.BlockWrite) error {
	content, meta := clean(w.Content), metaText(w.Meta)
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
		if h.CurrentSize != nil {
			return errBlockType
		}
		h.Type = clean(w.Type)
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
	return d.save(h, ", new = ?", content)
}

func sameText(a, b *string) bool { return a == nil && b == nil || a != nil && b != nil && *a == *b }

// planned reports whether a meta is that of a planned block.
func planned(meta *string) bool {
	var m map[string]json.RawMessage
	return meta != nil && json.Unmarshal([]byte(*meta), &m) == nil && m[record.PlannedKey] != nil
}

// AppendBlock appends to the new content of a block of the document. Without
// new content the error is schemas.ErrNotFound: the user has accepted or
// reverted it meanwhile.
func (s *Store) AppendBlock(ctx context.Context, owner, document, id, piece string) error {
	return s.fault("append to block", s.changeDocument(ctx, owner, document, nil, func(d *change) error {
		h, err := d.head(id)
		switch {
		case err != nil:
			return err
		case h.NewSize == nil:
			return schemas.ErrNotFound
		}
		piece = clean(piece)
		if *h.NewSize += int64(len(piece)); *h.NewSize > MaxBlockContent {
			return errLongBlock
		}
		return d.save(h, ", new = new || ?", piece)
	}))
}

// ProposeMove marks a block of the document to be moved after another one, to
// the front ("") or to the end (nil). A new block moves at once.
func (s *Store) ProposeMove(ctx context.Context, owner, document, id string, after *string) (schemas.Block, error) {
	var moved schemas.Block
	err := s.changeDocument(ctx, owner, document, nil, func(d *change) error {
		h, err := d.head(id)
		if err != nil {
			return err
		}
		own := h.Position
		if h.NewPosition != nil {
			own = *h.NewPosition
		}
		position, same, err := d.key(place{after: after, proposed: true, self: id}, own)
		if err != nil {
			return err
		}
		if !same {
			if h, err = d.head(id); err != nil { // the keys may have been assigned again
				return err
			}
			if h.CurrentSize == nil {
				h.Position = position
			} else {
				h.NewPosition = &position
			}
			h.State = h.state()
			err = d.save(h, "")
		}
		if err == nil {
			moved, err = oneBlock(d.tx, owner, id)
		}
		return err
	})
	return moved, s.fault("propose move", err)
}

// ProposeDelete marks a block of the document to be deleted and drops its other
// pending changes. A block with only new content is deleted at once.
func (s *Store) ProposeDelete(ctx context.Context, owner, document, id string) (record.Settled, error) {
	var out record.Settled
	err := s.changeDocument(ctx, owner, document, nil, func(d *change) error {
		h, err := d.head(id)
		if err != nil {
			return err
		}
		if out.Block, err = oneBlock(d.tx, owner, id); err != nil {
			return err
		}
		switch {
		case h.CurrentSize == nil:
			out.Gone = true
			if err := d.exec("DELETE FROM blocks WHERE owner = ? AND id = ?", owner, id); err != nil {
				return err
			}
			return d.touch()
		case h.State == schemas.BlockPendingDelete:
			return nil
		}
		h.State, h.NewPosition, h.NewMeta, h.NewSize = schemas.BlockPendingDelete, nil, nil, nil
		if err := d.save(h, ", new = NULL"); err != nil {
			return err
		}
		out.Block, err = oneBlock(d.tx, owner, id)
		return err
	})
	return out, s.fault("propose delete", err)
}

// PlanDocument proposes a new structure. Blocks with current content are marked
// to be deleted, other ones are deleted, the planned blocks are added at the
// end, and the title is pending too. Planned blocks that exist already do not
// change, so the same plan may be repeated. It returns the document with its
// blocks.
func (s *Store) PlanDocument(ctx context.Context, owner, id string, p record.Plan) (schemas.Document, error) {
	var planned schemas.Document
	err := s.changeDocument(ctx, owner, id, p.Create, func(d *change) error {
		ids := make([]string, len(p.Blocks), len(p.Blocks)+1)
		for i, b := range p.Blocks {
			ids[i] = b.ID
		}
		if err := d.clear(append(ids, "")); err != nil { // never an empty list
			return err
		}
		for i := range p.Blocks {
			if _, err := d.head(ids[i]); err == nil {
				continue
			} else if !isMissing(err) {
				return err
			}
			if err := d.add(&p.Blocks[i], true); err != nil {
				return err
			}
		}
		if title := clean(p.Title); title != "" && title != d.row.Title && (d.row.NewTitle == nil || *d.row.NewTitle != title) {
			if err := d.exec("UPDATE documents SET new_title = ?, revision = ? WHERE owner = ? AND id = ?", title, d.next(), owner, id); err != nil {
				return err
			}
		}
		var err error
		planned, err = wholeDocument(d.tx, owner, id)
		return err
	})
	return planned, s.fault("plan document", err)
}

// clear proposes to delete all blocks except those.
func (d *change) clear(but []string) error {
	const others = " WHERE owner = ? AND document_id = ? AND id NOT IN ? AND "
	gone := d.tx.Exec("DELETE FROM blocks"+others+"current IS NULL", d.owner, d.row.ID, but)
	if gone.Error != nil {
		return gone.Error
	}
	if gone.RowsAffected > 0 {
		if err := d.touch(); err != nil {
			return err
		}
	}
	if err := d.exec("UPDATE blocks SET state = 'pending_delete', new = NULL, new_meta = NULL, new_position = NULL, revision = ?,"+
		" size = octet_length(current) + COALESCE(octet_length(meta), 0)"+others+"state <> 'pending_delete'",
		d.upcoming(), d.owner, d.row.ID, but); err != nil {
		return err
	}
	return d.count()
}

// The two decisions. Deletions come first, then the other changes. Every state
// is in one of the statements:
//
//	state           accept                 revert
//	clean           as it is               as it is
//	pending_new     clean with new         gone
//	pending_edit    clean with new         clean with current
//	pending_delete  gone                   clean with current
//	pending_move    clean at new_position  clean at position
var (
	settleGone = map[record.Settle]string{record.Accept: "state = 'pending_delete'", record.Revert: "state = 'pending_new'"}
	settleKept = map[record.Settle]string{
		record.Accept: `current = COALESCE(new, current), meta = COALESCE(new_meta, meta), position = COALESCE(new_position, position),
			size = octet_length(COALESCE(new, current)) + COALESCE(octet_length(COALESCE(new_meta, meta)), 0)`,
		record.Revert: `size = octet_length(current) + COALESCE(octet_length(meta), 0)`,
	}
)

// settle decides about the pending blocks in scope; gone says that some were deleted.
func (d *change) settle(decision record.Settle, scope string, args ...any) (gone bool, err error) {
	scope = " WHERE owner = ? AND document_id = ?" + scope + " AND "
	args = append([]any{d.owner, d.row.ID}, args...)
	deleted := d.tx.Exec("DELETE FROM blocks"+scope+settleGone[decision], args...)
	if deleted.Error != nil {
		return false, deleted.Error
	}
	if deleted.RowsAffected > 0 {
		if err := d.touch(); err != nil {
			return true, err
		}
	}
	kept := d.tx.Exec("UPDATE blocks SET "+settleKept[decision]+", new = NULL, new_meta = NULL, new_position = NULL, state = 'clean', revision = ?"+
		scope+"state <> 'clean'", append([]any{d.upcoming()}, args...)...)
	if kept.RowsAffected > 0 {
		d.next()
	}
	return deleted.RowsAffected > 0, kept.Error
}

// SettleBlock decides about the pending changes of a block. With nothing
// pending, and for a chat's message, it returns the block unchanged.
func (s *Store) SettleBlock(ctx context.Context, owner, id string, decision record.Settle, match record.Match) (record.Settled, error) {
	var out record.Settled
	err := s.changeBlock(ctx, owner, id, match, func(d *change, _ *head) (err error) {
		if out.Block, err = oneBlock(d.tx, owner, id); err != nil {
			return err
		}
		if out.Gone, err = d.settle(decision, " AND id = ?", id); err != nil || out.Gone {
			return err
		}
		out.Block, err = oneBlock(d.tx, owner, id)
		return err
	})
	if isMissing(err) {
		if out.Block, err = s.Block(ctx, owner, id); err == nil && !match.Holds(out.Block.Revision) {
			err = schemas.ErrStale
		}
	}
	return out, s.fault("settle block", err)
}

// SettleDocument decides about all pending changes of a document, in one
// transaction, and returns the document with its blocks.
func (s *Store) SettleDocument(ctx context.Context, owner, id string, decision record.Settle, match record.Match) (schemas.Document, error) {
	var settled schemas.Document
	err := s.changeDocument(ctx, owner, id, nil, func(d *change) error {
		if !match.Holds(d.revision) {
			return schemas.ErrStale
		}
		if _, err := d.settle(decision, ""); err != nil {
			return err
		}
		if d.row.NewTitle != nil {
			title := d.row.Title
			if decision == record.Accept {
				title = *d.row.NewTitle
			}
			if err := d.exec("UPDATE documents SET title = ?, new_title = NULL, revision = ? WHERE owner = ? AND id = ?", title, d.next(), owner, id); err != nil {
				return err
			}
		}
		var err error
		settled, err = wholeDocument(d.tx, owner, id)
		return err
	})
	return settled, s.fault("settle document", err)
}
