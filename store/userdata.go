package store

import (
	"context"
	"strings"
	"time"

	"gorm.io/gorm"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/store/sqldb"
	"github.com/chattray/chattray/store/tables"
	"github.com/chattray/chattray/store/values"
)

// ChatsAfter returns the owner's chats of all kinds after an id, in the order of their
// ids and without messages.
func (s *Store) ChatsAfter(ctx context.Context, owner string, id int64, limit int) ([]schemas.Chat, error) {
	var rows []chatRow
	if err := s.db.Read(ctx).Where("owner = ? AND id > ?", owner, id).Order("id").Limit(limit).Find(&rows).Error; err != nil {
		return nil, s.db.Fault("chats after one", err)
	}
	list, err := withActiveRuns(s.db.Read(ctx), rows)
	return list, s.db.Fault("chats after one", err)
}

// RunsOf returns the runs of the owner's chat after a place, in the order of their start.
func (s *Store) RunsOf(ctx context.Context, owner string, conversationID, place int64, limit int) ([]record.PlacedRun, error) {
	var rows []struct {
		Place int64
		Row   runRow `gorm:"embedded"`
	}
	err := runs(s.db.Read(ctx)).Select(runColumns+", runs.place").Where("runs.chat_id = ? AND runs.owner = ? AND runs.place > ?", conversationID, owner, place).Order("runs.place").Limit(limit).
		Scan(&rows).Error
	list := make([]record.PlacedRun, len(rows))
	for i := 0; err == nil && i < len(rows); i++ {
		list[i].Place = rows[i].Place
		list[i].Run, err = rows[i].Row.run()
	}
	if err != nil {
		return nil, s.db.Fault("runs of a chat", err)
	}
	return list, nil
}

// DataSize counts what is stored of an owner.
func (s *Store) DataSize(ctx context.Context, owner string) (schemas.DataSize, error) {
	var size schemas.DataSize
	err := s.db.Read(ctx).Raw(`SELECT (SELECT COUNT(*) FROM chats WHERE owner = ?) AS chats,
		(SELECT COUNT(*) FROM blocks WHERE owner = ? AND chat_id IS NOT NULL) AS messages,
		(SELECT COUNT(*) FROM documents WHERE owner = ?) AS documents`, owner, owner, owner).Scan(&size).Error
	for i := 0; err == nil && i < len(selectSizes); i++ {
		var bytes int64
		bytes, err = sqldb.Number(s.db.Read(ctx), selectSizes[i], owner) // each has the time of a read
		size.Bytes += bytes
	}
	return size, s.db.Fault("size of a user's data", err)
}

// ofOwner are the chats of an owner, and runsOfOwner the runs in them.
const (
	ofOwner     = "chat_id IN (SELECT id FROM chats WHERE owner = ?)"
	runsOfOwner = "run_id IN (SELECT id FROM runs WHERE " + ofOwner + ")"
)

// selectSizes sum the bytes of what is stored of an owner, as it is stored: packed or not,
// without indexes and the columns that have a few bytes.
var selectSizes = []string{
	sizeOf("chats", "owner = ?", "title", "summary"),
	sizeOf("blocks", "owner = ?", "current", "new", "meta", "new_meta", "data", "feedback"),
	sizeOf("attachments", "owner = ?", "content"),
	sizeOf("documents", "owner = ?", "title", "new_title", "plans"),
	sizeOf("document_versions", "owner = ?", "title", "content"),
	sizeOf("payloads", ofOwner, "data", "summary"),
	sizeOf("runs", ofOwner, "request"),
	sizeOf("tool_calls", runsOfOwner, "input", "output", "model_output", "payload"),
	sizeOf("waits", runsOfOwner, "input", "edited", "output"),
	sizeOf("checkpoints", runsOfOwner, "data"),
	sizeOf("segments", runsOfOwner, "data"),
	sizeOf("traces", runsOfOwner, "data"),
}

func sizeOf(table, of string, columns ...string) string {
	for i, column := range columns {
		columns[i] = "COALESCE(octet_length(" + column + "), 0)"
	}
	return "SELECT CAST(COALESCE(SUM(" + strings.Join(columns, " + ") + "), 0) AS BIGINT) FROM " + table + " WHERE " + of
}

// RecentRuns counts the owner's runs that have not ended, or not before a time.
func (s *Store) RecentRuns(ctx context.Context, owner string, since time.Time) (int64, error) {
	n, err := sqldb.Number(s.db.Read(ctx), "SELECT COUNT(*) FROM runs WHERE "+ofOwner+" AND (ended_at >= ? OR "+tables.OpenStates+")", owner, values.Micros(since))
	return n, s.db.Fault("recent runs", err)
}

// BeginDeletion notes that all data of an owner is being deleted. ForgetUser ends the
// deletion.
func (s *Store) BeginDeletion(ctx context.Context, owner string) error {
	return s.db.Fault("begin a deletion", s.db.Write(ctx, func(tx *gorm.DB) error { return noteDeletion(tx, owner, "") }))
}

// noteDeletion notes a step of a deletion. Only the last one has a day: the usage of an
// owner whose deletion has failed midway stays.
func noteDeletion(tx *gorm.DB, owner, day string) error {
	return tx.Exec(`INSERT INTO forgotten (owner, day, deletions) VALUES (?, ?, 1) ON CONFLICT (owner) DO UPDATE
		SET day = CASE WHEN excluded.day = '' THEN forgotten.day ELSE excluded.day END, deletions = forgotten.deletions + 1`, owner, day).Error
}

// Deletions returns a number that changes with each beginning and each end of a deletion of
// all data of an owner, in whichever process.
func (s *Store) Deletions(ctx context.Context, owner string) (int64, error) {
	n, err := sqldb.Number(s.db.Read(ctx), "SELECT COALESCE(MAX(deletions), 0) FROM forgotten WHERE owner = ?", owner)
	return n, s.db.Fault("deletions of a user's data", err)
}

// ForgetUser deletes what remains of an owner without chats and documents: reserved ids,
// the ids of removed blocks, what was withdrawn from runs, usage before a day (YYYY-MM-DD),
// tickets, claims, and what the journals of all replicas have of deleted runs. Forget deletes the usage of
// that day once it is over.
func (s *Store) ForgetUser(ctx context.Context, owner, day string) error {
	if s.replicas != nil {
		if err := s.replicas.Forget(ctx, owner); err != nil {
			return err
		}
	}
	err := s.db.Write(ctx, func(tx *gorm.DB) error {
		if err := tx.Exec("DELETE FROM blocks WHERE owner = ? AND "+tables.Reserved, owner).Error; err != nil {
			return err
		}
		for _, table := range []string{"removed_blocks", "withdrawals"} {
			if err := tx.Exec("DELETE FROM "+table+" WHERE owner = ?", owner).Error; err != nil {
				return err
			}
		}
		if err := tx.Exec("DELETE FROM model_usage WHERE owner = ? AND day < ?", owner, day).Error; err != nil {
			return err
		}
		return noteDeletion(tx, owner, day)
	})
	if err != nil {
		return s.db.Fault("forget a user", err)
	}
	if err := s.Tidy(ctx, nil); err != nil {
		return err
	}
	return s.db.Fault("forget a user", s.db.EmptyLog(ctx))
}

// Forget removes the terms of deleted titles and messages from the search indexes, a step
// at a time; more says that there are more steps. The steps of all deletions together
// rewrite an index once. On Postgres there are no terms to remove. It also deletes what
// ForgetUser has left for the end of the day. It is not safe for concurrent use.
func (s *Store) Forget(ctx context.Context) (more bool, err error) {
	if err := s.forgetUsage(ctx); err != nil {
		return false, s.db.Fault("forget what was used", err)
	}
	more, err = s.db.Forget(ctx)
	return more, s.db.Fault("forget", err)
}

// forgetUsage deletes what forgotten users have used until the end of the day on which they
// were forgotten, once it is over. A deletion that has not ended has no day. Their number of
// deletions stays for another day: an export over midnight would take its end for a deletion.
func (s *Store) forgetUsage(ctx context.Context) error {
	now := time.Now().UTC()
	today, yesterday := now.Format(time.DateOnly), now.AddDate(0, 0, -1).Format(time.DateOnly)
	if n, err := sqldb.Number(s.db.Read(ctx), "SELECT COUNT(*) FROM forgotten WHERE day <> '' AND day < ?", today); err != nil || n == 0 {
		return err
	}
	return s.db.Write(ctx, func(tx *gorm.DB) error {
		err := tx.Exec(`DELETE FROM model_usage WHERE owner IN (SELECT owner FROM forgotten WHERE day <> '' AND day < ?)
			AND day <= (SELECT day FROM forgotten WHERE forgotten.owner = model_usage.owner)`, today).Error
		if err != nil {
			return err
		}
		return tx.Exec("DELETE FROM forgotten WHERE day <> '' AND day < ?", yesterday).Error
	})
}
