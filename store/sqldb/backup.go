package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// ErrNoFile is the error of Backup for a database that is not a file.
var ErrNoFile = errors.New("store: the database is not an SQLite file")

// Backup writes a copy of the SQLite database under url to the file path, and returns
// its size in bytes. The copy has everything that was committed before the call, and
// each later transaction as a whole or not at all. The database may be in use
// meanwhile; its write-ahead log grows until the copy is complete, because the copy
// reads it. The database itself is neither changed nor migrated. The copy's search indexes
// have nothing of text that was deleted.
//
// The file appears under its name once it is complete, checked and on disk. A file that
// exists is not overwritten: the error is fs.ErrExist.
func Backup(ctx context.Context, url, path string) (size int64, err error) {
	scheme, source, _ := strings.Cut(url, ":")
	if scheme != "sqlite" {
		return 0, ErrNoFile
	}
	if size, err = backup(ctx, source, path); err != nil {
		return 0, fmt.Errorf("store: backup: %w", err)
	}
	return size, nil
}

func backup(ctx context.Context, source, path string) (size int64, err error) {
	source, sourceErr := filepath.Abs(source)
	path, pathErr := filepath.Abs(path)
	if err := errors.Join(sourceErr, pathErr); err != nil {
		return 0, err
	}
	if err := existing(ctx, source); err != nil {
		return 0, Translate(err) // the disk of the database may be full too
	}
	if err := unused(path); err != nil {
		return 0, err
	}
	// In the same folder, so that the finished copy only needs its name. SQLite writes
	// into an empty file: only its owner can read it.
	empty, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.part")
	if err != nil {
		if cause, ok := errors.AsType[*fs.PathError](err); ok {
			err = &fs.PathError{Op: "create", Path: path, Err: cause.Err} // who asked does not know the other name
		}
		return 0, err
	}
	part := empty.Name()
	defer func() {
		for _, of := range []string{"", "-journal", "-wal", "-shm"} { // SQLite leaves them after some errors
			if gone := os.Remove(part + of); !errors.Is(gone, fs.ErrNotExist) {
				err = errors.Join(err, gone)
			}
		}
	}()
	if err := empty.Close(); err != nil {
		return 0, err
	}
	if err := sqliteCopy(ctx, source, part); err != nil {
		return 0, noRoom(err, source, part, path)
	}
	if size, err = syncFile(part); err != nil {
		return 0, err
	}
	return size, giveName(part, path)
}

// noRoom adds to the error of a copy that it does not fit into part, of which SQLite's
// error says only that it could not write.
func noRoom(err error, source, part, path string) error {
	lite, ok := errors.AsType[*sqlite.Error](err)
	if !ok || lite.Code()&0xff != sqlite3.SQLITE_IOERR && lite.Code()&0xff != sqlite3.SQLITE_FULL {
		return err
	}
	cause := err
	if info, statErr := os.Stat(source); statErr == nil {
		limit, large := errors.AsType[*fs.PathError](os.Truncate(part, info.Size()))
		free, known := freeSpace(filepath.Dir(path))
		switch {
		case large:
			cause = fmt.Errorf("%w: %w", limit.Err, err) // also a limit of the process
		case known && free < uint64(info.Size()): //nolint:gosec // a size is not negative
			cause = fmt.Errorf("%w: %w", syscall.ENOSPC, err)
		}
	}
	return &fs.PathError{Op: "write", Path: path, Err: cause}
}

// noSecondCopies makes SQLite overwrite with zeros what it moves to another page while it
// writes a copy: what is deleted from the copy later would stay there.
const noSecondCopies = "&_pragma=secure_delete(1)"

// sqliteCopy copies the database into an empty file and checks the copy.
func sqliteCopy(ctx context.Context, source, path string) error {
	db, err := sql.Open("sqlite", sqliteReadURL(source)+noSecondCopies)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, "VACUUM INTO ?", path)
	if err := errors.Join(err, db.Close()); err != nil {
		return err
	}
	// Nothing else uses the copy, and one that is not complete is deleted.
	if db, err = sql.Open("sqlite", sqliteFileURL(path)+"?_pragma=journal_mode(OFF)&_pragma=synchronous(OFF)"+noSecondCopies); err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	if err := errors.Join(forgetAll(ctx, db), db.Close()); err != nil {
		return err
	}
	made, err := sql.Open("sqlite", sqliteFileURL(path)+"?mode=ro&immutable=1")
	if err != nil {
		return err
	}
	var found string
	err = made.QueryRowContext(ctx, "PRAGMA integrity_check(1)").Scan(&found)
	if err == nil && found != "ok" {
		err = fmt.Errorf("the copy is damaged: %s", found)
	}
	return errors.Join(err, made.Close())
}

// syncFile waits until the file is on disk, which SQLite does not do for a copy, and
// returns its size.
func syncFile(path string) (size int64, err error) {
	file, err := os.OpenFile(path, os.O_RDWR, 0) //nolint:gosec // the operator names the file
	if err != nil {
		return 0, err
	}
	err = file.Sync()
	info, statErr := file.Stat()
	if err := errors.Join(err, statErr, file.Close()); err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// giveName gives the file its name durably, unless another file has it.
func giveName(part, path string) error {
	// A link fails if the name is taken. Where there are no links the name may be taken
	// between the two steps.
	if err := os.Link(part, path); errors.Is(err, fs.ErrExist) {
		return err
	} else if err != nil {
		if err := unused(path); err != nil {
			return err
		}
		if err := os.Rename(part, path); err != nil {
			return err
		}
	}
	return syncFolder(filepath.Dir(path))
}

// unused returns an error if something has the name.
func unused(path string) error {
	_, err := os.Lstat(path)
	if err == nil {
		return &fs.PathError{Op: "create", Path: path, Err: fs.ErrExist}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// syncFolder makes the names in a folder durable. Windows knows no such call.
func syncFolder(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	folder, err := os.Open(path) //nolint:gosec // the operator names the file
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
