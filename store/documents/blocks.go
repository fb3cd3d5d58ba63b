package documents

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"gorm.io/gorm"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/store/sqldb"
	"github.com/chattray/chattray/store/tables"
	"github.com/chattray/chattray/store/values"
)

// errBlockType is for a new type of a block that has content.
var errBlockType = schemas.NewError(schemas.CodeInvalid, "the block is of another type; delete it and add a new one")

// head is a block of a document without its contents.
type head struct {
	ID          string
	Type        string
	State       schemas.BlockState
	Position    string
	NewPosition *string
	Meta        *string
	NewMeta     *string
	Revision    int64
	Size        int64
	// KeptPlan is the plan that hides the block, 0 for none.
	KeptPlan int
	// Decided is the revision that the last decision was about, negative if it was a revert.
	Decided int64
	// CurrentSize and NewSize are nil if there is no such content.
	CurrentSize *int64
	NewSize     *int64
}

// head returns the block of the document; a block that is not in it is
// schemas.ErrNotFound.
func (d *change) head(id string) (*head, error) {
	h := new(head)
	err := sqldb.ScanRow(d.tx.Raw(`SELECT id, type, state, position, new_position, meta, new_meta, revision, size, kept_plan, decided, octet_length(current) AS current_size,
		octet_length(new) AS new_size FROM blocks WHERE owner = ? AND document_id = ? AND id = ?`, d.owner, d.row.ID, id),
		&h.ID, &h.Type, &h.State, &h.Position, &h.NewPosition, &h.Meta, &h.NewMeta, &h.Revision, &h.Size, &h.KeptPlan, &h.Decided, &h.CurrentSize, &h.NewSize)
	return h, err
}

// state derives a block's state from its columns.
func (h *head) state() schemas.BlockState {
	switch {
	case h.CurrentSize == nil:
		return schemas.BlockPendingNew
	case h.NewSize != nil || h.NewMeta != nil:
		return schemas.BlockPendingEdit
	case h.NewPosition != nil:
		return schemas.BlockPendingMove
	default:
		return schemas.BlockClean
	}
}

// unwritten reports whether the block is only planned.
func (h *head) unwritten() bool {
	return h.State == schemas.BlockPendingNew && h.NewSize != nil && *h.NewSize == 0 && (h.Meta == nil || planned(h.Meta))
}

// bytes returns the size that the block counts.
func (h *head) bytes() int64 {
	return *cmp.Or(h.CurrentSize, new(int64)) + *cmp.Or(h.NewSize, new(int64)) + length(h.Meta) + length(h.NewMeta)
}

func length(s *string) int64 {
	if s == nil {
		return 0
	}
	return int64(len(*s))
}

// save writes the columns of the head, and set, which begins with a comma
// unless it is empty. The state is h.State.
func (d *change) save(h *head, set string, args ...any) error {
	size := h.bytes()
	if err := d.grow(0, size-h.Size); err != nil {
		return err
	}
	h.Size = size
	values := append([]any{h.Type, h.State, h.Position, h.NewPosition, h.Meta, h.NewMeta, size, h.KeptPlan, d.next(), d.now}, args...)
	return d.exec(`UPDATE blocks SET type = ?, state = ?, position = ?, new_position = ?, meta = ?, new_meta = ?, size = ?, kept_plan = ?, revision = ?, changed_at = ?`+set+
		` WHERE owner = ? AND id = ?`, append(values, d.owner, h.ID)...)
}

// saveProposal is save for what a run proposes.
func (d *change) saveProposal(h *head, set string, args ...any) error {
	return d.save(h, ", kept_state = CASE WHEN kept_state IS NOT NULL THEN "+changedSince+" END"+set, args...)
}

// holds reports whether the column has exactly this text.
func (d *change) holds(id, column, text string) (bool, error) {
	var n int64
	err := sqldb.ScanRow(d.tx.Raw("SELECT COUNT(*) FROM blocks WHERE owner = ? AND id = ? AND "+column+" = ?", d.owner, id, text), &n)
	return n > 0, err
}

// add adds a block at its place, clean or pending.
func (d *change) add(b *record.NewBlock, pending bool) error {
	content, meta := values.Clean(b.Content), metaText(b.Meta)
	size := int64(len(content)) + length(meta)
	if len(content) > MaxBlockContent {
		return errLongBlock
	}
	if err := d.grow(1, size); err != nil {
		return err
	}
	position, _, err := d.key(place{after: b.After, proposed: pending}, "")
	if err != nil {
		return err
	}
	var current, proposed, kept any
	state := schemas.BlockClean
	if pending {
		state, proposed = schemas.BlockPendingNew, content
	} else {
		current, kept = content, state // it is no part of a plan
	}
	done := d.tx.Exec(`INSERT INTO blocks (owner, id, document_id, type, current, new, meta, state, kept_state, position, revision, changed_at, size, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (owner, id) DO NOTHING`,
		d.owner, b.ID, d.row.ID, values.Clean(b.Type), current, proposed, meta, state, kept, position, d.next(), d.now, size, d.row.CreatedAt)
	switch {
	case done.Error != nil:
		return done.Error
	case done.RowsAffected == 0:
		return schemas.ErrTaken
	}
	return d.follow(" AND id = ?", b.ID)
}

// has reports whether the document has the block with the same accepted content.
func (d *change) has(b *record.NewBlock) (bool, error) {
	h, err := d.head(b.ID)
	switch {
	case isMissing(err):
		return false, nil
	case err != nil || h.Type != values.Clean(b.Type) || !sameText(h.Meta, metaText(b.Meta)):
		return false, err
	}
	return d.holds(b.ID, "current", values.Clean(b.Content))
}

func metaText(meta json.RawMessage) *string {
	if meta == nil {
		return nil
	}
	text := values.Clean(string(meta))
	return &text
}

// Block returns the owner's block by any of its ids: a block of a document, or
// a message of a chat.
func (t *Tables) Block(ctx context.Context, owner, id string) (schemas.Block, error) {
	b, err := oneBlock(t.db.Read(ctx), owner, id)
	if isMissing(err) {
		var message string
		err = sqldb.ScanRow(t.db.Read(ctx).Raw(`SELECT r.message_id FROM blocks b JOIN runs r ON r.id = b.run_id WHERE b.owner = ? AND b.id = ? AND b.chat_id IS NULL
			AND b.document_id IS NULL AND NOT r.`+tables.OpenStates, owner, id), &message)
		if err == nil {
			b, err = oneBlock(t.db.Read(ctx), owner, message)
			b.ID = id
		}
	}
	return b, t.db.Fault("block", err)
}

// AnswerChat returns the key of the chat to which an id of an answer belongs, also while
// the answer is under way or after it has been superseded.
func (t *Tables) AnswerChat(ctx context.Context, owner, id string) (key string, err error) {
	if !values.PlainText(id) {
		return "", schemas.ErrNotFound
	}
	err = sqldb.ScanRow(t.db.Read(ctx).Raw(`SELECT c.key FROM blocks b LEFT JOIN runs r ON r.id = b.run_id JOIN chats c ON c.id = COALESCE(b.chat_id, r.chat_id)
		WHERE b.owner = ? AND b.id = ? AND b.role = 'assistant' AND b.document_id IS NULL`, owner, id), &key)
	return key, t.db.Fault("chat of an answer", err)
}

// EarlierAnswer returns the block or message that has the id, a superseded one too. While a
// run answers under the id, that is the answer which had it before.
func (t *Tables) EarlierAnswer(ctx context.Context, owner, id string) (schemas.Block, error) {
	b, err := storedBlock(t.db.Read(ctx), "", owner, id)
	if isMissing(err) {
		var message string
		if message, err = t.answerNamed(ctx, owner, id); err == nil {
			b, err = storedBlock(t.db.Read(ctx), "", owner, message)
			b.ID = id
		}
	}
	return b, t.db.Fault("earlier answer", err)
}

// answerNamed returns the message of an answer by another id that the answer has, or had
// until a run began that is under way.
func (t *Tables) answerNamed(ctx context.Context, owner, id string) (message string, err error) {
	var open bool
	var replaced string
	err = sqldb.ScanRow(t.db.Read(ctx).Raw(`SELECT r.message_id, r.`+tables.OpenStates+`, r.replaced FROM blocks b JOIN runs r ON r.id = b.run_id
		WHERE b.owner = ? AND b.id = ? AND b.chat_id IS NULL AND b.document_id IS NULL`, owner, id), &message, &open, &replaced)
	if err != nil || !open {
		return message, err
	}
	var ids []tables.Replaced
	if replaced != "" {
		err = json.Unmarshal([]byte(replaced), &ids)
	}
	at := slices.IndexFunc(ids, func(r tables.Replaced) bool { return r.ID == id })
	switch {
	case err != nil:
		return "", err
	case at < 0:
		return "", schemas.ErrNotFound
	case ids[at].Message == "":
		err = sqldb.ScanRow(t.db.Read(ctx).Raw("SELECT message_id FROM runs WHERE id = ?", ids[at].Run), &message)
		return message, err
	}
	return ids[at].Message, nil
}

// oneBlock returns a block of a document, or a current message.
func oneBlock(tx *gorm.DB, owner, id string) (schemas.Block, error) {
	return storedBlock(tx, " AND (b.document_id IS NOT NULL OR b.status <> 'superseded')", owner, id)
}

// storedBlock returns a block of a document, or a message, on a condition.
func storedBlock(tx *gorm.DB, condition, owner, id string) (schemas.Block, error) {
	var r documentBlockRow
	err := sqldb.ScanRow(tx.Raw(`SELECT `+documentBlockColumns+`, c.key FROM blocks b LEFT JOIN chats c ON c.id = b.chat_id
		WHERE b.owner = ? AND b.id = ? AND (b.document_id IS NOT NULL OR b.chat_id IS NOT NULL)`+condition, owner, id),
		&r.ID, &r.DocumentID, &r.Role, &r.Type, &r.Current, &r.New, &r.Meta, &r.NewMeta, &r.State, &r.Position, &r.NewPosition,
		&r.Revision, &r.ChatKey)
	if err != nil {
		return schemas.Block{}, err
	}
	return r.block(), nil
}

// changeBlock locks the document that the block is in. A block that is in no
// document is schemas.ErrNotFound.
func (t *Tables) changeBlock(ctx context.Context, owner, id string, match record.Match, fn func(d *change, h *head) error) error {
	return t.db.Write(ctx, func(tx *gorm.DB) error {
		var document string
		err := sqldb.ScanRow(tx.Raw("SELECT document_id FROM blocks WHERE owner = ? AND id = ? AND document_id IS NOT NULL", owner, id), &document)
		if err != nil {
			return err
		}
		return t.withDocument(tx, owner, document, func(d *change) error {
			h, err := d.head(id)
			if err != nil {
				return err
			}
			if !match.Holds(h.Revision) {
				return schemas.ErrStale
			}
			return fn(d, h)
		})
	})
}

// AddBlock adds a block of the user, in state clean. The match is for the
// document's revision; an id in use is schemas.ErrTaken. A block that the document has
// already with this content is returned as it is, with any match: the client repeats an
// addition whose answer it has lost.
func (t *Tables) AddBlock(ctx context.Context, owner, document string, b record.NewBlock, match record.Match) (schemas.Block, error) {
	var added schemas.Block
	err := t.changeDocument(ctx, owner, document, nil, func(d *change) error {
		known, err := d.has(&b)
		switch {
		case err != nil:
			return err
		case known:
			added, err = oneBlock(d.tx, owner, b.ID)
			return err
		case !match.Holds(d.revision):
			return schemas.ErrStale
		}
		if err = d.keepOften(schemas.VersionEdited, nil); err == nil {
			err = d.add(&b, false)
		}
		if err == nil {
			added, err = oneBlock(d.tx, owner, b.ID)
		}
		return err
	})
	return added, t.db.Fault("add block", err)
}

// PatchBlock makes the user's own edit: it changes the current content and
// meta; a move takes effect at once and settles a pending one. A planned block that
// has no text yet is filled by it. A patch that changes nothing keeps the revision, and
// may have any match: the client repeats an edit whose answer it has lost.
func (t *Tables) PatchBlock(ctx context.Context, owner, id string, p schemas.BlockPatch, match record.Match) (schemas.Block, error) {
	var patched schemas.Block
	err := t.changeBlock(ctx, owner, id, nil, func(d *change, h *head) error {
		known := match.Holds(h.Revision)
		changed, set, args, err := d.patch(h, p)
		_, refused := errors.AsType[*schemas.Error](err)
		switch {
		case !known && (changed || refused):
			return schemas.ErrStale
		case err != nil:
			return err
		case changed:
			if h.State != schemas.BlockPendingDelete {
				h.State = h.state()
			}
			if err := d.keepOften(schemas.VersionEdited, nil); err != nil {
				return err
			}
			if err := d.save(h, set, args...); err != nil {
				return err
			}
		}
		patched, err = oneBlock(d.tx, owner, id)
		return err
	})
	return patched, t.db.Fault("patch block", err)
}

// patch changes the head of a block as the user asks, and returns whether that changes the
// block, and what save sets besides.
func (d *change) patch(h *head, p schemas.BlockPatch) (changed bool, set string, args []any, err error) {
	if p.Content != nil {
		content := values.Clean(*p.Content)
		same, err := d.holds(h.ID, "current", content)
		switch {
		case err != nil:
			return false, "", nil, err
		case len(content) > MaxBlockContent:
			return false, "", nil, errLongBlock
		case !same:
			size := int64(len(content))
			if h.CurrentSize == nil && h.NewSize != nil && *h.NewSize == 0 { // else accepting it would empty the block
				set, h.NewSize = ", new = NULL", nil
			}
			if h.CurrentSize == nil && h.KeptPlan == 0 { // the block is the user's, not the plan's
				kept := "'clean'"
				if h.NewSize != nil {
					kept = changedSince
				}
				set += ", kept_state = COALESCE(kept_state, " + kept + ")"
			}
			changed, set, args, h.CurrentSize = true, set+", current = ?", []any{content}, &size
		}
	}
	if p.Meta != nil && (h.Meta == nil || !bytes.Equal([]byte(*h.Meta), p.Meta)) {
		changed, h.Meta = true, metaText(p.Meta)
	}
	if p.AfterBlockID != nil {
		position, same, err := d.key(place{after: p.AfterBlockID, self: h.ID}, h.Position)
		if err != nil {
			return false, "", nil, err
		}
		changed = changed || !same || h.NewPosition != nil
		h.Position, h.NewPosition = position, nil
	}
	return changed, set, args, nil
}

// DeleteBlock deletes a block of a document, whatever its state.
func (t *Tables) DeleteBlock(ctx context.Context, owner, id string, match record.Match) error {
	return t.db.Fault("delete block", t.changeBlock(ctx, owner, id, match, func(d *change, h *head) error {
		if err := d.keepOften(schemas.VersionEdited, h); err != nil {
			return err
		}
		if _, err := d.remove(" AND id = ?", id); err != nil {
			return err
		}
		if err := t.withdrawBlock(ctx, d, id); err != nil {
			return err
		}
		return d.touch()
	}))
}
