package documents

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"gorm.io/gorm"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/text"
	"github.com/chattray/chattray/store/sqldb"
	"github.com/chattray/chattray/store/values"
)

// Limits of the versions of documents. In addition, an owner's versions of all
// documents take at most as many bytes as the owner's quota, without counting
// for it.
const (
	// maxDocumentVersions is how many versions of a document are stored, the
	// newest ones.
	maxDocumentVersions = 50
	// maxVersionSize is in bytes; a larger document becomes a version only before another
	// one is restored, when nothing else has its content.
	maxVersionSize = 16 << 20
	// forgottenBytes is how many bytes of versions one transaction deletes with their document,
	// and one version more.
	forgottenBytes = 16 << 20
	// versionSpan is the time within which changes for the same reason share one
	// version, the document before them. What an acceptance replaces and a
	// deletion removes is in a version all the same.
	versionSpan = 10 * time.Minute
)

// errWaiting is for a restore that would lose pending changes.
var errWaiting = schemas.NewError(schemas.CodeConflict, "the document has pending changes; accept or revert them first")

// versionBlock is a block of a version in its stored form.
type versionBlock struct {
	ID       string          `json:"id"`
	Type     string          `json:"type"`
	Content  string          `json:"content"`
	Meta     json.RawMessage `json:"meta,omitempty"`
	Position string          `json:"position"`
}

// accepted returns the accepted content of the document's blocks, in order.
func (d *change) accepted() ([]versionBlock, error) {
	rows, err := d.tx.Raw("SELECT id, type, current, meta, position FROM blocks WHERE owner = ? AND document_id = ? AND current IS NOT NULL ORDER BY position, id",
		d.owner, d.row.ID).Rows()
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }() // Err reports the error
	var blocks []versionBlock
	for rows.Next() {
		var b versionBlock
		var meta *string
		if err := rows.Scan(&b.ID, &b.Type, &b.Content, &meta, &b.Position); err != nil {
			return nil, err
		}
		if meta != nil {
			b.Meta = json.RawMessage(*meta)
		}
		blocks = append(blocks, b)
	}
	return blocks, rows.Err()
}

// keepOften stores a version unless the last one has the same reason, is younger than versionSpan
// and has the accepted state of the block that the change replaces or removes, nil for none. The
// last one may have a time to come: clocks differ, and are set.
func (d *change) keepOften(reason schemas.VersionReason, loses *head) error {
	var last struct {
		Reason              schemas.VersionReason
		CreatedAt, Revision int64
	}
	err := sqldb.ScanRow(d.tx.Raw("SELECT reason, created_at, revision FROM document_versions WHERE owner = ? AND document_id = ? ORDER BY revision DESC LIMIT 1",
		d.owner, d.row.ID), &last.Reason, &last.CreatedAt, &last.Revision)
	if err != nil && !isMissing(err) {
		return err
	}
	span := versionSpan.Microseconds()
	if last.Reason == reason && last.CreatedAt > d.now-span && last.CreatedAt < d.now+span {
		if has, err := d.versionHas(last.Revision, loses); has || err != nil {
			return err
		}
	}
	return d.keep(reason)
}

// versionHas reports whether the accepted state of the block is in the version, or there is none.
func (d *change) versionHas(revision int64, h *head) (bool, error) {
	if h == nil || h.CurrentSize == nil || revision >= h.Revision {
		return true, nil
	}
	_, blocks, _, err := oneVersion(d.tx, d.owner, d.row.ID, revision)
	at := slices.IndexFunc(blocks, func(b versionBlock) bool { return b.ID == h.ID })
	if err != nil || at < 0 {
		return false, err
	}
	b := &blocks[at]
	if b.Type != h.Type || b.Position != h.Position || !sameText(metaText(b.Meta), h.Meta) {
		return false, nil
	}
	return d.holds(h.ID, "current", b.Content)
}

// keep stores the accepted state as a version, before the transaction changes
// it. It stores none for an empty document. If the last version equals it, that one becomes
// the version before this change.
func (d *change) keep(reason schemas.VersionReason) error {
	whole := reason == schemas.VersionRestored
	if d.size > 2*maxVersionSize && !whole {
		return nil
	}
	blocks, err := d.accepted()
	if err != nil || len(blocks) == 0 {
		return err
	}
	content, err := text.Encode(blocks)
	if err != nil || len(content) > maxVersionSize && !whole {
		return err
	}
	var revision int64
	var title, newest string
	err = sqldb.ScanRow(d.tx.Raw("SELECT revision, title, content FROM document_versions WHERE owner = ? AND document_id = ? ORDER BY revision DESC LIMIT 1",
		d.owner, d.row.ID), &revision, &title, &newest)
	switch {
	case err != nil && !isMissing(err):
		return err
	case err == nil && title == d.row.Title && newest == string(content):
		return d.exec("UPDATE document_versions SET reason = ?, created_at = ? WHERE owner = ? AND document_id = ? AND revision = ?", reason, d.now, d.owner, d.row.ID, revision)
	}
	if err := d.exec(`INSERT INTO document_versions (owner, document_id, revision, title, reason, blocks, content, size, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (owner, document_id, revision) DO NOTHING`,
		d.owner, d.row.ID, d.revision, d.row.Title, reason, len(blocks), string(content), len(content), d.now); err != nil {
		return err
	}
	return d.dropVersions()
}

// dropVersions deletes the oldest versions that exceed a limit, but never the newest one of
// the owner: nothing else has what is about to be replaced.
func (d *change) dropVersions() error {
	err := d.exec(`DELETE FROM document_versions WHERE owner = ? AND document_id = ? AND revision <= (SELECT revision FROM document_versions
		WHERE owner = ? AND document_id = ? ORDER BY revision DESC LIMIT 1 OFFSET ?)`, d.owner, d.row.ID, d.owner, d.row.ID, maxDocumentVersions)
	if err != nil || d.owned.Quota == 0 {
		return err
	}
	return d.exec(`DELETE FROM document_versions WHERE owner = ? AND seq IN (SELECT seq FROM (SELECT seq, size + 1024 AS own, SUM(size + 1024) OVER (ORDER BY seq DESC) AS room
		FROM document_versions WHERE owner = ?) AS v WHERE room > ? AND room > own)`, d.owner, d.owner, d.owned.Quota)
}

// forgetVersions deletes some versions of the document, and reports whether there are more.
func (d *change) forgetVersions() (more bool, err error) {
	err = d.exec(`DELETE FROM document_versions WHERE owner = ? AND document_id = ? AND revision IN (SELECT revision FROM (SELECT revision,
		SUM(size) OVER (ORDER BY revision) - size AS earlier FROM document_versions WHERE owner = ? AND document_id = ?) AS v WHERE earlier < ?)`,
		d.owner, d.row.ID, d.owner, d.row.ID, forgottenBytes)
	if err != nil {
		return false, err
	}
	left := 0
	err = sqldb.ScanRow(d.tx.Raw("SELECT COUNT(*) FROM document_versions WHERE owner = ? AND document_id = ?", d.owner, d.row.ID), &left)
	return left > 0, err
}

// DocumentVersions returns the versions of a document, the newest first.
func (t *Tables) DocumentVersions(ctx context.Context, owner, id string) (schemas.DocumentVersionList, error) {
	list := schemas.DocumentVersionList{Items: []schemas.DocumentVersion{}}
	err := t.readDocument(ctx, owner, id, func(tx *gorm.DB, _ *documentRow) error {
		var rows []struct {
			Revision  int64
			Title     string
			Reason    schemas.VersionReason
			Blocks    int
			CreatedAt int64
		}
		err := tx.Raw("SELECT revision, title, reason, blocks, created_at FROM document_versions WHERE owner = ? AND document_id = ? ORDER BY revision DESC",
			owner, id).Scan(&rows).Error
		for _, r := range rows {
			list.Items = append(list.Items, schemas.DocumentVersion{Revision: r.Revision, Title: r.Title, Reason: r.Reason, Blocks: r.Blocks, CreatedAt: values.Moment(r.CreatedAt)})
		}
		return err
	})
	return list, t.db.Fault("document versions", err)
}

// DocumentVersion returns the accepted state of the document at a version.
func (t *Tables) DocumentVersion(ctx context.Context, owner, id string, revision int64) (schemas.Document, error) {
	var found schemas.Document
	err := t.readDocument(ctx, owner, id, func(tx *gorm.DB, row *documentRow) error {
		title, blocks, created, err := oneVersion(tx, owner, id, revision)
		if err != nil {
			return err
		}
		found = schemas.Document{ID: id, Title: title, Owner: owner, Revision: revision, CreatedAt: values.Moment(row.CreatedAt), UpdatedAt: values.Moment(created)}
		found.Blocks = make([]schemas.Block, len(blocks))
		for i, b := range blocks {
			found.Blocks[i] = schemas.Block{ID: b.ID, DocumentID: id, Type: b.Type, Current: &blocks[i].Content, Meta: b.Meta, State: schemas.BlockClean, Position: b.Position, Revision: revision}
		}
		return nil
	})
	return found, t.db.Fault("document version", err)
}

// readDocument calls fn with the row of an owner's document.
func (t *Tables) readDocument(ctx context.Context, owner, id string, fn func(tx *gorm.DB, row *documentRow) error) error {
	tx, row := t.db.Read(ctx), documentRow{}
	if err := tx.Where("owner = ? AND id = ?", owner, id).Take(&row).Error; err != nil {
		return err
	}
	return fn(t.db.Read(ctx), &row)
}

func oneVersion(tx *gorm.DB, owner, id string, revision int64) (title string, blocks []versionBlock, created int64, err error) {
	var content []byte
	err = sqldb.ScanRow(tx.Raw("SELECT title, content, created_at FROM document_versions WHERE owner = ? AND document_id = ? AND revision = ?", owner, id, revision),
		&title, &content, &created)
	if err == nil {
		err = json.NewDecoder(bytes.NewReader(content)).Decode(&blocks)
	}
	return title, blocks, created, err
}

// RestoreDocument makes a version the accepted state of the document, as a new
// revision; the state before it becomes a version too. A document with pending
// changes is schemas.CodeConflict, because they would be lost. It returns the
// document with its blocks. One that is like the version already is returned as it is if
// the match does not hold: the client repeats a request whose answer it has lost.
func (t *Tables) RestoreDocument(ctx context.Context, owner, id string, revision int64, match record.Match) (schemas.Document, error) {
	var restored schemas.Document
	err := t.changeDocument(ctx, owner, id, nil, func(d *change) error {
		title, blocks, _, err := oneVersion(d.tx, owner, id, revision)
		known := match.Holds(d.revision)
		if !known && isMissing(err) {
			return schemas.ErrStale
		}
		if err != nil {
			return err
		}
		waiting, err := d.waiting()
		switch {
		case err != nil:
			return err
		case !known:
			if same, err := d.equals(title, blocks); err != nil || !same || waiting {
				return cmp.Or(err, error(schemas.ErrStale))
			}
			restored, err = wholeDocument(d.tx, owner, id)
			return err
		case waiting:
			return errWaiting
		}
		if err := d.keep(schemas.VersionRestored); err != nil {
			return err
		}
		if err := t.withdrawBlocks(ctx, d); err != nil {
			return err
		}
		if err := d.replace(title, blocks); err != nil {
			return err
		}
		restored, err = wholeDocument(d.tx, owner, id)
		return err
	})
	return restored, t.db.Fault("restore document", err)
}

// equals reports whether the document has the title and the accepted blocks of a version, and
// no planned blocks beside them.
func (d *change) equals(title string, blocks []versionBlock) (bool, error) {
	if d.row.Title != title || d.blocks != len(blocks) {
		return false, nil
	}
	now, err := d.accepted()
	return err == nil && slices.EqualFunc(now, blocks, func(a, b versionBlock) bool {
		return a.ID == b.ID && a.Type == b.Type && a.Content == b.Content && a.Position == b.Position && bytes.Equal(a.Meta, b.Meta)
	}), err
}

// waiting reports whether the document has pending changes. What is only planned is none.
func (d *change) waiting() (bool, error) {
	var n int
	err := sqldb.ScanRow(d.tx.Raw("SELECT COUNT(*) FROM blocks WHERE owner = ? AND document_id = ? AND state <> 'clean' AND NOT ("+unwritten+")", d.owner, d.row.ID), &n)
	return n > 0 || d.row.NewTitle != nil, err
}

// replace replaces the document's title and all its blocks.
func (d *change) replace(title string, blocks []versionBlock) error {
	size := int64(0)
	for _, b := range blocks {
		size += int64(len(b.Content) + len(b.Meta))
	}
	if err := d.grow(len(blocks)-d.blocks, size-d.size); err != nil {
		return err
	}
	if _, err := d.remove(""); err != nil {
		return err
	}
	for _, b := range blocks {
		done := d.tx.Exec(`INSERT INTO blocks (owner, id, document_id, type, current, meta, state, position, revision, changed_at, size, created_at)
			VALUES (?, ?, ?, ?, ?, ?, 'clean', ?, ?, ?, ?, ?) ON CONFLICT (owner, id) DO NOTHING`,
			d.owner, b.ID, d.row.ID, b.Type, b.Content, metaText(b.Meta), b.Position, d.next(), d.now, len(b.Content)+len(b.Meta), d.row.CreatedAt)
		if done.Error == nil && done.RowsAffected == 0 {
			return schemas.ErrTaken
		}
		if done.Error != nil {
			return done.Error
		}
	}
	if err := d.follow(""); err != nil {
		return err
	}
	return d.exec("UPDATE documents SET title = ?, revision = ?, changed_at = ? WHERE owner = ? AND id = ?", title, d.next(), d.now, d.owner, d.row.ID)
}
