package sqldb

import (
	"context"
	"database/sql"

	"gorm.io/gorm"
)

// forgetPages is about how many pages of 4 KiB of a search index one step of Forget rewrites.
const forgetPages = "50"

// EmptyLog does nothing: the server writes over its log by itself.
func (*postgresDB) EmptyLog(context.Context) error { return nil }

// Forget does nothing.
func (*postgresDB) Forget(context.Context) (bool, error) { return false, nil }

// Forget merges the segments of an index into one, which has no terms of what was deleted
// before the first step. The last step empties the write-ahead log.
func (d *sqliteDB) Forget(ctx context.Context) (more bool, err error) {
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
	return false, d.EmptyLog(ctx)
}

func (d *sqliteDB) forgetIn(tx *gorm.DB, index string) (more bool, err error) {
	counted, err := Number(tx, "SELECT at FROM sweeps WHERE kind = ?", index)
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
	before, err := Number(tx, "SELECT total_changes()")
	if err != nil {
		return false, err
	}
	if err := tx.Exec("INSERT INTO " + index + " (" + index + ", rank) VALUES ('merge', " + pages + ")").Error; err != nil {
		return false, err
	}
	after, err := Number(tx, "SELECT total_changes()")
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
