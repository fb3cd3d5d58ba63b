package sqldb

import (
	"context"
	"errors"
	"time"
)

const (
	// logTries is how often the write-ahead log is tried to be emptied while readers use it;
	// each try waits for them for sqliteLook.
	logTries = 5
	// logHead and frameHead are the bytes before the log's first frame, and before the
	// page of each frame.
	logHead, frameHead = 32, 24
	// logLook bounds the question how long the log must be.
	logLook = time.Second
)

// EmptyLog moves the write-ahead log into the database file and empties it: until then both
// may have text of deleted rows. It does nothing while other connections read the log.
func (d *sqliteDB) EmptyLog(ctx context.Context) error {
	for range logTries {
		if err := d.await(ctx); err != nil {
			return err
		}
		busy, err := d.tryEmptyLog(ctx)
		d.pass()
		if err != nil || !busy {
			return err
		}
	}
	return nil
}

// tryEmptyLog needs the turn.
func (d *sqliteDB) tryEmptyLog(ctx context.Context) (busy bool, err error) {
	if d.writer == nil {
		if err := d.connect(ctx); err != nil {
			return false, err
		}
	}
	if err := d.inPlace(); err != nil {
		return false, err
	}
	var frames, moved int64
	err = d.writer.conn.QueryRowContext(context.WithoutCancel(ctx), "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &frames, &moved)
	if locked(err) {
		return true, nil
	}
	return busy, err
}

// shortened reports whether a write-ahead log of this size lacks something. Another
// connection, also one of another process, may have emptied it: then SQLite says that there
// are no more frames than the log has room for.
func (d *sqliteDB) shortened(size int64) bool {
	ctx, cancel := context.WithTimeout(context.Background(), logLook)
	defer cancel()
	var page, busy, frames, moved int64
	err := d.readers.QueryRowContext(ctx, "PRAGMA page_size").Scan(&page)
	if err == nil {
		// This moves frames into the file, after it has read them, if nobody else does.
		err = d.readers.QueryRowContext(ctx, "PRAGMA wal_checkpoint(PASSIVE)").Scan(&busy, &frames, &moved)
	}
	if errors.Is(err, context.DeadlineExceeded) || locked(err) || busy != 0 {
		return false // the next look tells
	}
	return err != nil || frames > 0 && size < logHead+frames*(page+frameHead)
}
