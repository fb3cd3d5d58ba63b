package sqldb

import (
	"context"
	"time"

	"gorm.io/gorm"

	"github.com/chattray/chattray/schemas/concurrent"
)

// Limits of an import.
const (
	// importPages is about how many pages of 4 KiB of the search index one transaction
	// rewrites.
	importPages = "500"
	// importPause is longer than the longest time between two tries of SQLite for a lock
	// that another process holds, 25 ms with sqliteLook.
	importPause = 50 * time.Millisecond
)

// GiveWay lets other processes write that wait for the lock of the file: they only see
// that it is free when they try again. Those of this process take turns anyway.
func (*sqliteDB) GiveWay(ctx context.Context) error {
	return concurrent.Pause(ctx, importPause)
}

// GiveWay does nothing: others write at the same time.
func (*postgresDB) GiveWay(context.Context) error { return nil }

// Imported merges the segments of the search index: a search has to read every
// segment, and an import adds some.
func (d *sqliteDB) Imported(ctx context.Context) error {
	for pages := "-" + importPages; ; pages = importPages { // a negative number begins a merge of all segments
		more := false
		err := d.write(ctx, func(tx *gorm.DB) (err error) {
			more, err = mergeIndex(tx, "articles_search", pages)
			return err
		})
		if err != nil || !more {
			return err
		}
		if err := d.GiveWay(ctx); err != nil {
			return err
		}
	}
}

// Imported does nothing.
func (*postgresDB) Imported(context.Context) error { return nil }
