package store

import (
	"context"
	"database/sql"

	"gorm.io/gorm"
)

// forgetPages is about how many pages of 4 KiB of a search index one step of Forget rewrites.
const forgetPages = "50"

// Forget removes the terms of deleted titles and messages from the search indexes, a step
// at a time; more says that there are more steps. The steps of all deletions together
// rewrite an index once. On Postgres there are no terms to remove. It also deletes what
// ForgetUser has left for the end of the day. It is not safe for concurrent use.
func (s *Store) Forget(ctx context.Context) (more bool, err error) {
	if err := s.forgetUsage(ctx); err != nil {
		return false, s.fault("forget what was used", err)
	}
	more, err = s.db.forget(ctx)
	return more, s.fault("forget", err)
}

// emptyLog does nothing: the server writes over its log by itself.
func (*postgresDB) emptyLog(context.Context) error { return nil }

// forget does nothing.
func (*postgresDB) forget(context.Context) (bool, error) { return false, nil }

// forget merges the segments of an index into one, which has no terms of what was deleted
// before the first step. The last step empties the write-ahead log.
func (d *sqliteDB) forget(ctx context.Context) (more bool, err error) {
	for i := range searchIndexes {
		index := searchIndexes[i].name
		err = d.write(ctx, func(tx *gorm.DB) error {
			more, err = d.forgetIn(tx, index)
			return err
		})
		if err != nil || more {
			return more, err
		}
	}
	return false, d.emptyLog(ctx)
}

func (d *sqliteDB) forgetIn(tx *gorm.DB, index string) (more bool, err error) {
	counted, err := number(tx, "SELECT at FROM sweeps WHERE kind = ?", index)
	if err != nil || counted == 0 {
		return false, err
	}
	pages := forgetPages
	if d.forgetting[index] == 0 {
		d.forgetting[index], pages = counted, "-"+forgetPages // a negative number begins a merge of all segments
	}
	if more, err = mergeIndex(tx, index, pages); err != nil || more {
		return more, err
	}
	done := d.forgetting[index]
	delete(d.forgetting, index)
	return false, tx.Exec("UPDATE sweeps SET at = at - ? WHERE kind = ?", done, index).Error
}

// mergeIndex continues the merge of the segments of an index, about so many pages far, or
// begins one of all segments if the number of pages is negative. More says that the merge is
// not complete.
func mergeIndex(tx *gorm.DB, index, pages string) (more bool, err error) {
	before, err := number(tx, "SELECT total_changes()")
	if err != nil {
		return false, err
	}
	if err := tx.Exec("INSERT INTO " + index + " (" + index + ", rank) VALUES ('merge', " + pages + ")").Error; err != nil {
		return false, err
	}
	after, err := number(tx, "SELECT total_changes()")
	return err == nil && after-before > 1, err // the statement itself counts as one
}

// forgetAll removes the terms of deleted titles and messages from a database that nothing
// else uses, such as a copy, and makes the file small again.
func forgetAll(ctx context.Context, db *sql.DB) error {
	vacuum := false
	for i := range searchIndexes {
		index := searchIndexes[i].name
		left, err := toForget(ctx, db, index)
		if err != nil {
			return err
		}
		if !left {
			continue
		}
		vacuum = true
		for _, statement := range []string{
			"INSERT INTO " + index + " (" + index + ") VALUES ('optimize')",
			"UPDATE sweeps SET at = 0 WHERE kind = '" + index + "'",
		} {
			if _, err := db.ExecContext(ctx, statement); err != nil {
				return err
			}
		}
	}
	if !vacuum {
		return nil
	}
	_, err := db.ExecContext(ctx, "VACUUM")
	return err
}

// toForget reports whether an index may have terms of deleted text. The database may be
// one of an older program, which has no index, or does not count.
func toForget(ctx context.Context, db *sql.DB, index string) (left bool, err error) {
	err = db.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE name = ?)", index).Scan(&left)
	if err != nil || !left {
		return false, err
	}
	err = db.QueryRowContext(ctx, "SELECT COALESCE(MAX(at), 1) > 0 FROM sweeps WHERE kind = ?", index).Scan(&left)
	return left, err
}
