// Package documents keeps the documents of users, their blocks with the changes that wait
// for a decision, and their versions. It also finds the messages of chats by their ids, since
// those are blocks too.
package documents

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"gorm.io/gorm"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/store/quota"
	"github.com/chattray/chattray/store/sqldb"
	"github.com/chattray/chattray/store/values"
)

// Limits of documents. Sizes are in bytes and include pending changes.
const (
	defaultDocuments = 50
	maxDocuments     = 200 // documents of a page
	maxBlocks        = 10_000
	MaxBlockContent  = 8 << 20
	MaxDocumentSize  = 64 << 20
)

const cursorDocuments = 'd'

// Tables are the tables of documents. It is safe for concurrent use.
type Tables struct {
	db    *sqldb.DB
	quota int64
	many  bool
}

// New returns the tables of a database. The quota is that of each owner in bytes, 0 for none;
// many says that other processes use the database too.
func New(db *sqldb.DB, quota int64, many bool) *Tables {
	return &Tables{db: db, quota: quota, many: many}
}

// Errors of a document that is full.
var (
	errManyBlocks = schemas.NewError(schemas.CodeTooLarge, "the document would have more than 10,000 blocks")
	errLongBlock  = schemas.NewError(schemas.CodeTooLarge, "the block would be larger than 8 MiB")
	errLargeWhole = schemas.NewError(schemas.CodeTooLarge, "the document would be larger than 64 MiB")
)

type documentRow struct {
	Owner     string
	ID        string
	Title     string
	NewTitle  *string
	Revision  int64
	CreatedAt int64 `gorm:"autoCreateTime:false"`
	ChangedAt int64
	// Plans are the pending titles before each plan that can be reverted, as JSON.
	Plans *string
	// PlannedBy is the run of the last plan, also once the user has accepted that.
	PlannedBy *string
	// Decided is the revision that the last decision was about, negative if it was a revert.
	Decided int64
	Seq     int64
}

// TableName names the table.
func (documentRow) TableName() string { return "documents" }

// document returns the row with the revision of its blocks and the time of their
// last change.
func (r *documentRow) document(revision, changed int64) schemas.Document {
	d := schemas.Document{
		ID: r.ID, Title: r.Title, Owner: r.Owner, Revision: max(r.Revision, revision),
		CreatedAt: values.Moment(r.CreatedAt), UpdatedAt: values.Moment(max(r.CreatedAt, r.ChangedAt, changed)),
	}
	if r.NewTitle != nil {
		d.NewTitle = *r.NewTitle
	}
	return d
}

// documentBlockRow is a block of a document with all of its columns.
type documentBlockRow struct {
	ID          string
	DocumentID  *string
	ChatKey     *string
	Role        string
	Type        string
	Current     *string
	New         *string
	Meta        *string
	NewMeta     *string
	State       schemas.BlockState
	Position    string
	NewPosition *string
	Revision    int64
}

const documentBlockColumns = `b.id, b.document_id, b.role, b.type, b.current, b.new, b.meta, b.new_meta, b.state, b.position,
	b.new_position, b.revision`

func (r *documentBlockRow) block() schemas.Block {
	text := func(s *string) string {
		if s == nil {
			return ""
		}
		return *s
	}
	raw := func(s *string) json.RawMessage {
		if s == nil {
			return nil
		}
		return json.RawMessage(*s)
	}
	return schemas.Block{
		ID: r.ID, DocumentID: text(r.DocumentID), ChatID: text(r.ChatKey), Role: r.Role, Type: r.Type, Current: r.Current, New: r.New,
		Meta: raw(r.Meta), NewMeta: raw(r.NewMeta), State: r.State, Position: r.Position, NewPosition: text(r.NewPosition), Revision: r.Revision,
	}
}

// CreateDocument makes a document. An id that the owner already uses is
// schemas.ErrTaken.
func (t *Tables) CreateDocument(ctx context.Context, owner string, d record.NewDocument) (schemas.Document, error) {
	row := documentRow{Owner: owner, ID: d.ID, Title: values.Clean(d.Title), CreatedAt: values.Micros(d.CreatedAt)}
	err := t.db.Write(ctx, func(tx *gorm.DB) (err error) {
		row.Revision, err = t.makeDocument(tx, owner, &d)
		if err == nil && row.Revision == 0 {
			return schemas.ErrTaken
		}
		return err
	})
	if err != nil {
		return schemas.Document{}, t.db.Fault("create document", err)
	}
	made := row.document(0, 0)
	made.Blocks = []schemas.Block{}
	return made, nil
}

// makeDocument returns the revision of the document, 0 if one with this id already exists.
func (t *Tables) makeDocument(tx *gorm.DB, owner string, d *record.NewDocument) (revision int64, err error) {
	done := tx.Exec("INSERT INTO documents (owner, id, title, created_at) VALUES (?, ?, ?, ?) ON CONFLICT (owner, id) DO NOTHING",
		owner, d.ID, values.Clean(d.Title), values.Micros(d.CreatedAt))
	if done.Error != nil || done.RowsAffected == 0 {
		return 0, done.Error
	}
	if revision, err = followDocument(tx, owner, d.ID); err != nil {
		return 0, err
	}
	return revision, (&quota.Allowance{Quota: t.quota}).Taken(tx, owner)
}

// Documents returns a page of the owner's documents, the newest first, without
// their blocks.
func (t *Tables) Documents(ctx context.Context, owner string, q record.DocumentQuery) (schemas.DocumentList, error) {
	limit := values.PageLimit(q.Limit, defaultDocuments, maxDocuments)
	const last = ` FROM blocks b WHERE b.owner = documents.owner AND b.document_id = documents.id`
	tx := t.db.Read(ctx).Table("documents").Where("owner = ?", owner).Select(`documents.*, (SELECT MAX(b.revision)` + last + `) AS block_revision,
		(SELECT b.changed_at` + last + ` ORDER BY b.revision DESC LIMIT 1) AS block_changed`)
	var seq int64
	more, err := values.CursorPlace(q.Cursor, cursorDocuments, &seq)
	if err != nil {
		return schemas.DocumentList{}, err
	}
	if more {
		tx = tx.Where("seq < ?", seq)
	}
	var rows []struct {
		Row           documentRow `gorm:"embedded"`
		BlockRevision *int64
		BlockChanged  *int64
	}
	if err := tx.Order("seq DESC").Limit(limit + 1).Find(&rows).Error; err != nil {
		return schemas.DocumentList{}, t.db.Fault("documents", err)
	}
	list := schemas.DocumentList{}
	if len(rows) > limit {
		rows = rows[:limit]
		list.NextCursor = values.CursorOf(cursorDocuments, rows[limit-1].Row.Seq)
	}
	list.Items = make([]schemas.Document, len(rows))
	for i := range rows {
		list.Items[i] = rows[i].Row.document(*cmp.Or(rows[i].BlockRevision, new(int64)), *cmp.Or(rows[i].BlockChanged, new(int64)))
	}
	return list, nil
}

// Document returns a consistent view of the document with its blocks in order.
func (t *Tables) Document(ctx context.Context, owner, id string) (schemas.Document, error) {
	d, err := wholeDocument(t.db.Read(ctx), owner, id)
	return d, t.db.Fault("document", err)
}

func wholeDocument(tx *gorm.DB, owner, id string) (schemas.Document, error) {
	found, err := tx.Raw(`SELECT d.title, d.new_title, d.revision, d.created_at, d.changed_at, b.changed_at, `+documentBlockColumns+` FROM documents d
		LEFT JOIN blocks b ON b.owner = d.owner AND b.document_id = d.id
		WHERE d.owner = ? AND d.id = ? ORDER BY b.position, b.id`, owner, id).Rows()
	if err != nil {
		return schemas.Document{}, err
	}
	defer func() { _ = found.Close() }() // Err reports the error
	row, revision, changed := documentRow{Owner: owner, ID: id}, int64(0), int64(0)
	blocks, pending, known := []schemas.Block{}, []string(nil), false
	for found.Next() {
		var b documentBlockRow
		var blockID, role, kind, state, position *string
		var blockRevision, blockChanged *int64
		if err := found.Scan(&row.Title, &row.NewTitle, &row.Revision, &row.CreatedAt, &row.ChangedAt, &blockChanged, &blockID, &b.DocumentID, &role, &kind, &b.Current, &b.New, &b.Meta,
			&b.NewMeta, &state, &position, &b.NewPosition, &blockRevision); err != nil {
			return schemas.Document{}, err
		}
		known = true
		if blockID == nil { // a document without blocks
			continue
		}
		b.ID, b.Role, b.Type, b.State, b.Position, b.Revision = *blockID, *role, *kind, schemas.BlockState(*state), *position, *blockRevision
		revision, changed = max(revision, b.Revision), max(changed, *blockChanged)
		blocks = append(blocks, b.block())
		if b.State != schemas.BlockClean {
			pending = append(pending, b.ID)
		}
	}
	if err := found.Err(); err != nil {
		return schemas.Document{}, err
	}
	if !known {
		return schemas.Document{}, schemas.ErrNotFound
	}
	d := row.document(revision, changed)
	d.Blocks, d.Pending = blocks, pending
	return d, nil
}

// RenameDocument sets the document's title; a pending title is dropped, also one that
// undoing a plan would bring back. It returns the document without its blocks.
func (t *Tables) RenameDocument(ctx context.Context, owner, id, title string, match record.Match) (schemas.Document, error) {
	var renamed schemas.Document
	err := t.changeDocument(ctx, owner, id, nil, func(d *change) error {
		title = values.Clean(title)
		if d.row.Title != title || d.row.NewTitle != nil {
			if !match.Holds(d.revision) {
				return schemas.ErrStale
			}
			if err := d.keepOften(schemas.VersionEdited, nil); err != nil {
				return err
			}
			if err := d.exec("UPDATE documents SET title = ? WHERE owner = ? AND id = ?", title, owner, id); err != nil {
				return err
			}
			if err := d.dropTitles(); err != nil {
				return err
			}
			d.row.ChangedAt = d.now
		}
		d.row.Title, d.row.NewTitle = title, nil
		var changed int64
		err := d.tx.Raw("SELECT changed_at FROM blocks WHERE owner = ? AND document_id = ? ORDER BY revision DESC LIMIT 1", owner, id).Scan(&changed).Error
		renamed = d.row.document(d.revision, changed)
		return err
	})
	return renamed, t.db.Fault("rename document", err)
}

// DeleteDocument deletes the document with its blocks. If its versions are large, they go
// first, some in each transaction, also when ctx ends or the document is changed in between.
func (t *Tables) DeleteDocument(ctx context.Context, owner, id string, match record.Match) (err error) {
	ctx = context.WithoutCancel(ctx)
	for more := true; more && err == nil; {
		err = t.changeDocument(ctx, owner, id, nil, func(d *change) error {
			if !match.Holds(d.revision) {
				return schemas.ErrStale
			}
			var err error
			if more, err = d.forgetVersions(); err != nil || more {
				return err
			}
			if err := d.withdrawAll(); err != nil {
				return err
			}
			if _, err := d.remove(""); err != nil {
				return err
			}
			if err := d.noteDocument(); err != nil {
				return err
			}
			return d.exec("DELETE FROM documents WHERE owner = ? AND id = ?", owner, id)
		})
		match = nil // it was met
	}
	return t.db.Fault("delete document", err)
}

// change is a document in a transaction, locked until its end: changes of one
// document happen one after the other.
type change struct {
	tx    *gorm.DB
	owner string
	row   documentRow
	// revision is the document's; next makes it the revision of the change.
	revision int64
	changed  bool
	now      int64 // the time of the change
	blocks   int
	size     int64
	owned    quota.Allowance
}

// changeDocument locks the document for fn. Create, when not nil, is the
// document to make if it does not exist.
func (t *Tables) changeDocument(ctx context.Context, owner, id string, create *record.NewDocument, fn func(d *change) error) error {
	return t.db.Write(ctx, func(tx *gorm.DB) error {
		if create != nil {
			if _, err := t.makeDocument(tx, owner, create); err != nil {
				return err
			}
		}
		return t.withDocument(tx, owner, id, fn)
	})
}

func (t *Tables) withDocument(tx *gorm.DB, owner, id string, fn func(d *change) error) error {
	d := &change{tx: tx, owner: owner, owned: quota.Allowance{Quota: t.quota}, now: values.Micros(time.Now())}
	unknown := tx.Clauses(t.db.RowLock()...).Where("owner = ? AND id = ?", owner, id).Take(&d.row).Error
	if unknown != nil && !isMissing(unknown) {
		return unknown
	}
	if err := cmp.Or(permitted(tx, id), unknown); err != nil {
		return err
	}
	d.revision = d.row.Revision
	if err := d.count(); err != nil {
		return err
	}
	d.changed = false
	return fn(d)
}

// count reads the number and size of the document's blocks.
func (d *change) count() error {
	var greatest int64
	err := sqldb.ScanRow(d.tx.Raw("SELECT COUNT(*), COALESCE(MAX(revision), 0), COALESCE(SUM(size), 0) FROM blocks WHERE owner = ? AND document_id = ?",
		d.owner, d.row.ID), &d.blocks, &greatest, &d.size)
	if greatest > d.revision {
		d.revision, d.changed = greatest, true
	}
	return err
}

// next returns the revision of this transaction's changes.
func (d *change) next() int64 {
	if !d.changed {
		d.changed = true
		d.revision++
	}
	return d.revision
}

// upcoming returns the result of next in advance, for a statement that may change nothing.
func (d *change) upcoming() int64 {
	if d.changed {
		return d.revision
	}
	return d.revision + 1
}

func (d *change) exec(statement string, args ...any) error {
	return d.tx.Exec(statement, args...).Error
}

// touch stores the revision in the document's own row, because the blocks with
// that revision are deleted.
func (d *change) touch() error {
	return d.exec("UPDATE documents SET revision = ?, changed_at = ? WHERE owner = ? AND id = ?", d.next(), d.now, d.owner, d.row.ID)
}

// grow counts added blocks and bytes, and refuses what exceeds a limit.
func (d *change) grow(blocks int, bytes int64) error {
	d.blocks, d.size = d.blocks+blocks, d.size+bytes
	switch {
	case blocks > 0 && d.blocks > maxBlocks:
		return errManyBlocks
	case bytes > 0 && d.size > MaxDocumentSize:
		return errLargeWhole
	}
	return d.owned.Take(d.tx, d.owner, bytes, blocks)
}
