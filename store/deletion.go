package store

import (
	"context"

	"gorm.io/gorm"

	"github.com/chattray/chattray/store/documents"
	"github.com/chattray/chattray/store/sqldb"
	"github.com/chattray/chattray/store/tables"
)

// Limits of one step of a deletion: rows of each kind, and the bytes in them. A row is
// deleted however large it is.
const (
	deletedRows  = 100
	deletedBytes = 4 << 20
)

// What a chat has much of, some rows with their bytes. Unfinished runs stay until the chat
// is deleted.
const (
	messagesOf = `SELECT id, COALESCE(octet_length(current), 0) + COALESCE((SELECT SUM(octet_length(content)) FROM attachments a
		WHERE a.owner = blocks.owner AND a.block_id = blocks.id), 0) AS bytes FROM blocks WHERE chat_id = ? LIMIT ?`
	payloadsIn  = "SELECT payload_id AS id, octet_length(data) AS bytes FROM payloads WHERE chat_id = ? LIMIT ?"
	endedRunsOf = `SELECT id, octet_length(request) + COALESCE((SELECT SUM(octet_length(data)) FROM segments WHERE run_id = runs.id), 0)
		+ COALESCE((SELECT SUM(octet_length(data)) FROM traces WHERE run_id = runs.id), 0)
		+ COALESCE((SELECT SUM(octet_length(input) + octet_length(output)) FROM tool_calls WHERE run_id = runs.id), 0) AS bytes
		FROM runs WHERE chat_id = ? AND NOT ` + tables.OpenStates + ` LIMIT ?`
)

// DeleteChat deletes the owner's chat and everything that belongs to it, a long one in
// steps, between which others write. If a step fails, the next call continues. Later writes of
// its runs are fenced.
func (s *Store) DeleteChat(ctx context.Context, owner string, id int64) error {
	err := s.deleteInSteps(ctx, owner, id, func(*gorm.DB, *chatRow) error { return nil })
	return s.db.Fault("delete chat", err)
}

// deleteInSteps deletes the owner's chat unless the check, which is made before each step,
// fails. It goes on when ctx ends.
func (s *Store) deleteInSteps(ctx context.Context, owner string, id int64, check func(*gorm.DB, *chatRow) error) (err error) {
	ctx = context.WithoutCancel(ctx)
	for more := true; more && err == nil; {
		err = s.db.Write(ctx, func(tx *gorm.DB) (err error) {
			var row chatRow
			if err = tx.Clauses(s.db.RowLock()...).Where("owner = ? AND id = ?", owner, id).Take(&row).Error; err == nil {
				err = check(tx, &row)
			}
			if err == nil {
				more, err = deleteSome(tx, owner, id)
			}
			return err
		})
	}
	s.journal.ripen() // the next commit removes the chat's entries
	return err
}

// deleteSome deletes some of the owner's chat; more says that there is more of it. The last
// step deletes the chat itself.
func deleteSome(tx *gorm.DB, owner string, chat int64) (more bool, err error) {
	for _, part := range []struct {
		of     string
		remove func(ids []string) error
	}{
		{messagesOf, func(ids []string) error { return documents.RemoveMessages(tx, owner, "id IN ?", ids) }},
		{payloadsIn, func(ids []string) error {
			return tx.Exec("DELETE FROM payloads WHERE chat_id = ? AND payload_id IN ?", chat, ids).Error
		}},
		{endedRunsOf, func(ids []string) error {
			if err := documents.RemoveMessages(tx, owner, tables.Reserved+" AND run_id IN ?", ids); err != nil {
				return err
			}
			return tx.Exec("DELETE FROM runs WHERE id IN ?", ids).Error
		}},
	} {
		ids, more, err := fewOf(tx, part.of, chat)
		if err == nil && len(ids) > 0 {
			err = part.remove(ids)
		}
		if more || err != nil {
			return more, err
		}
	}
	if err := documents.RemoveMessages(tx, owner, tables.Reserved+" AND run_id IN (SELECT id FROM runs WHERE chat_id = ?)", chat); err != nil {
		return false, err
	}
	return false, sqldb.Found(tx.Exec("DELETE FROM chats WHERE owner = ? AND id = ?", owner, chat))
}

// fewOf returns the ids of as many rows of the chat as one step deletes, and whether there
// may be more.
func fewOf(tx *gorm.DB, query string, chat int64) (ids []string, more bool, err error) {
	var rows []struct {
		ID    string
		Bytes int64
	}
	if err := tx.Raw(query, chat, deletedRows).Scan(&rows).Error; err != nil {
		return nil, false, err
	}
	for bytes := int64(0); len(ids) < len(rows) && bytes < deletedBytes; {
		bytes += rows[len(ids)].Bytes
		ids = append(ids, rows[len(ids)].ID)
	}
	return ids, len(ids) < len(rows) || len(rows) == deletedRows, nil
}
