package documents

import (
	"context"
	"time"

	"gorm.io/gorm"

	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/store/sqldb"
	"github.com/chattray/chattray/store/values"
)

// maxRemoved is how many ids of an owner's removed blocks and documents are stored at
// least, the newest ones. One change may remove as many again.
const maxRemoved = 10_000

// The statements of removed blocks.
const (
	// An answer in a chat has no revisions of its own, so each one counts as later
	// than what had the id before.
	noteRemoved = `INSERT INTO removed_blocks (owner, id, revision, removed_at) SELECT owner, id, revision, CAST(? AS BIGINT) FROM blocks WHERE owner = ? AND `
	noteAgain   = ` ON CONFLICT (owner, id) DO UPDATE SET removed_at = excluded.removed_at,
		revision = CASE WHEN excluded.revision > removed_blocks.revision THEN excluded.revision ELSE removed_blocks.revision + 1 END`
	dropRemoved = `DELETE FROM removed_blocks WHERE owner = ? AND removed_at <
		(SELECT removed_at FROM removed_blocks WHERE owner = ? ORDER BY removed_at DESC LIMIT 1 OFFSET ?)`
)

// remove removes the document's blocks in scope, and notes that their ids were in
// use; gone reports whether there were any.
func (d *change) remove(scope string, args ...any) (gone bool, err error) {
	scope, args = "document_id = ?"+scope, append([]any{d.row.ID}, args...)
	if err := note(d.tx, d.owner, d.now, scope, args...); err != nil {
		return false, err
	}
	done := d.tx.Exec("DELETE FROM blocks WHERE owner = ? AND "+scope, append([]any{d.owner}, args...)...)
	return done.RowsAffected > 0, done.Error
}

// removed returns which of the blocks the owner had that were removed.
func (d *change) removed(blocks []record.NewBlock) (map[string]bool, error) {
	ids := make([]string, len(blocks))
	for i := range blocks {
		ids[i] = blocks[i].ID
	}
	var found []string
	err := d.tx.Raw("SELECT id FROM removed_blocks WHERE owner = ? AND id IN ?", d.owner, ids).Scan(&found).Error
	removed := make(map[string]bool, len(found))
	for _, id := range found {
		removed[id] = true
	}
	return removed, err
}

// RemoveMessages removes the owner's messages in scope, and notes that the ids of the answers
// among them were in use.
func RemoveMessages(tx *gorm.DB, owner, scope string, args ...any) error {
	if err := note(tx, owner, values.Micros(time.Now()), "role = 'assistant' AND "+scope, args...); err != nil {
		return err
	}
	return tx.Exec("DELETE FROM blocks WHERE owner = ? AND "+scope, append([]any{owner}, args...)...).Error
}

func note(tx *gorm.DB, owner string, now int64, scope string, args ...any) error {
	noted := tx.Exec(noteRemoved+scope+noteAgain, append([]any{now, owner}, args...)...)
	if noted.Error != nil || noted.RowsAffected == 0 {
		return noted.Error
	}
	return tx.Exec(dropRemoved, owner, owner, maxRemoved).Error
}

// follow gives added blocks in scope, and with them the change, a greater revision
// than any removed block with one of their ids.
func (d *change) follow(scope string, args ...any) error {
	args = append([]any{d.owner, d.row.ID}, args...)
	var revision int64
	err := sqldb.ScanRow(d.tx.Raw("SELECT COALESCE(MAX(revision), 0) FROM removed_blocks WHERE owner = ? AND id IN"+
		" (SELECT id FROM blocks WHERE owner = ? AND document_id = ?"+scope+")", append([]any{d.owner}, args...)...), &revision)
	if err != nil || revision < d.revision {
		return err
	}
	d.revision, d.changed = revision+1, true
	return d.exec("UPDATE blocks SET revision = ? WHERE owner = ? AND document_id = ?"+scope, append([]any{d.revision}, args...)...)
}

// removedDocument is the id under which the last revision of a deleted document is stored
// beside those of blocks, whose ids have no slash.
func removedDocument(id string) string { return "/" + id }

// noteDocument notes the revision of a document that is about to be deleted.
func (d *change) noteDocument() error {
	if err := d.exec("INSERT INTO removed_blocks (owner, id, revision, removed_at) VALUES (?, ?, ?, ?)"+noteAgain,
		d.owner, removedDocument(d.row.ID), d.revision, d.now); err != nil {
		return err
	}
	return d.exec(dropRemoved, d.owner, d.owner, maxRemoved)
}

// followDocument gives a new document a greater revision than any deleted one with its id,
// and returns it. It reads in a statement after the one that has added the document, so
// that it sees a deletion for which that one has waited.
func followDocument(tx *gorm.DB, owner, id string) (revision int64, err error) {
	err = sqldb.ScanRow(tx.Raw("SELECT COALESCE(MAX(revision), 0) + 1 FROM removed_blocks WHERE owner = ? AND id = ?", owner, removedDocument(id)), &revision)
	if err != nil || revision == 1 {
		return revision, err
	}
	return revision, tx.Exec("UPDATE documents SET revision = ? WHERE owner = ? AND id = ?", revision, owner, id).Error
}

// Removed returns which of these ids blocks of the owner had that were removed, each
// with a number that is not smaller than the revision of any of them.
func (t *Tables) Removed(ctx context.Context, owner string, ids []string) (map[string]int64, error) {
	var rows []struct {
		ID       string
		Revision int64
	}
	err := t.db.Read(ctx).Raw("SELECT id, revision FROM removed_blocks WHERE owner = ? AND id IN ?", owner, ids).Scan(&rows).Error
	removed := make(map[string]int64, len(rows))
	for _, r := range rows {
		removed[r.ID] = r.Revision
	}
	return removed, t.db.Fault("removed blocks", err)
}
