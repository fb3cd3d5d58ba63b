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
		var begun int64
		err = d.write(ctx, func(tx *gorm.DB) error {
			begun, err = forgetIn(tx, index, d.forgetting[index])
			return err
		})
		if err != nil {
			return false, err
		}
		if d.forgetting[index] = begun; begun > 0 { // only now is the step stored
			return true, nil
		}
	}
	return false, d.EmptyLog(ctx)
}

// forgetIn does a step in an index that had counted so many deletions when it began to forget
// them, 0 if it has not. It returns that number while there is more.
func forgetIn(tx *gorm.DB, index string, begun int64) (int64, error) {
	counted, err := Number(tx, "SELECT at FROM sweeps WHERE kind = ?", index)
	if err != nil || counted == 0 {
		return 0, err
	}
	pages := forgetPages
	if begun == 0 {
		begun, pages = counted, "-"+forgetPages // a negative number begins a merge of all segments
	}
	if more, err := mergeIndex(tx, index, pages); err != nil || more {
		return begun, err
	}
	return 0, tx.Exec("UPDATE sweeps SET at = at - ? WHERE kind = ?", begun, index).Error
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
