package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"time"
)

// lockWait is how long a lock is waited for: two starts at the same instant hold back each
// other for a moment.
const lockWait = time.Second

// errServed means that another service has the file.
var errServed = errors.New("another process serves this database; stop it first, one process may serve an SQLite file")

// sqliteLock keeps other services from a database file. The lock is on a file beside it,
// which stays empty and is never deleted: the lock ends when the process ends, however that
// happens.
type sqliteLock struct {
	db *sql.DB
	tx *sql.Tx
}

// lockSQLite locks the existing file at path, or returns errServed. The lock is SQLite's own,
// which every system has: an open transaction that excludes all others, of a second database.
func lockSQLite(path string) (*sqliteLock, error) {
	path, err := filepath.EvalSymlinks(path) // all names of the file have the same lock
	if err != nil {
		return nil, err
	}
	path += "-lock"
	db, err := sql.Open("sqlite", sqliteFileURL(path)+fmt.Sprintf("?_txlock=exclusive&_pragma=busy_timeout(%d)&_pragma=journal_mode(MEMORY)", lockWait.Milliseconds()))
	if err != nil {
		return nil, err
	}
	tx, err := db.BeginTx(context.Background(), nil)
	if locked(err) {
		err = fmt.Errorf("%w (%s is locked)", errServed, path)
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &sqliteLock{db: db, tx: tx}, nil
}

// release is called once the database is closed. A nil lock is none.
func (l *sqliteLock) release() error {
	if l == nil {
		return nil
	}
	return errors.Join(l.tx.Rollback(), l.db.Close())
}
