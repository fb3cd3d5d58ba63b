package sqldb

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// sqliteRoom is the least free space on the disk of a database file, in bytes.
const sqliteRoom = 1 << 20

// sqliteFile is the identity of a database's files. A check never opens them:
// closing a file would release the process's locks on it.
type sqliteFile struct {
	opened fs.FileInfo

	mu sync.Mutex
	// log is the write-ahead log, once it exists.
	log fs.FileInfo
	// size and logSize are the largest sizes seen: the file does not shrink while it is
	// open, and the log only if it is emptied.
	size, logSize int64
}

// linked returns the path of the file that a symbolic link names: SQLite writes beside that.
func linked(path string) string {
	if to, err := filepath.EvalSymlinks(path); err == nil {
		return to
	}
	return path // which does not exist, or cannot be reached, as an error will say
}

// frozen reports whether the file is taken for one that does not change: this process may
// not write to its folder, and no write-ahead log says that another one has it open. SQLite,
// which writes beside a file that it reads, can read it only if it is told so.
func frozen(path string) bool {
	path = linked(path)
	if mayWrite(filepath.Dir(path)) == nil {
		return false
	}
	_, err := os.Stat(path + "-wal")
	return errors.Is(err, fs.ErrNotExist)
}

// logUnread reports whether the file's write-ahead log cannot be read: SQLite makes an index
// beside it, in a folder to which this process may not write.
func logUnread(path string) bool {
	path = linked(path)
	_, log := os.Stat(path + "-wal")
	_, index := os.Stat(path + "-shm")
	return log == nil && errors.Is(index, fs.ErrNotExist) && mayWrite(filepath.Dir(path)) != nil
}

// named adds the file to SQLite's error, which names none, and why its folder cannot be
// written to if the file cannot be opened for that reason.
func named(path string, err error) error {
	lite, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return err
	}
	if cause := mayWrite(filepath.Dir(linked(path))); cause != nil && lite.Code()&0xff == sqlite3.SQLITE_CANTOPEN {
		return fmt.Errorf("%s: its folder cannot be written to: %w: %w", path, cause, err)
	}
	return fmt.Errorf("%s: %w", path, err)
}

// writable returns an error unless this process may write to the file, to its folder and to
// what SQLite has there. SQLite opens a file that it may not write to, and its error of the
// first write names none.
func writable(path string) error {
	for _, p := range []string{filepath.Dir(path), path, path + "-wal", path + "-shm", path + "-lock"} {
		if err := mayWrite(p); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s cannot be written to: %w", p, err)
		}
	}
	return nil
}

// sqliteReadURL returns an existing file as an SQLite URI for reading.
func sqliteReadURL(path string) string {
	if frozen(path) {
		return sqliteFileURL(path) + "?mode=ro&immutable=1"
	}
	return sqliteFileURL(path) + "?mode=rw"
}

// forgetLog is called when the last connection may have been closed, which
// deletes the write-ahead log.
func (f *sqliteFile) forgetLog() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.log, f.logSize = nil, 0
}

// check returns an error if the database's files were deleted, replaced or
// truncated: data written to a deleted file is lost.
func (d *sqliteDB) check() error {
	if err := d.inPlace(); err != nil {
		return err
	}
	switch err := mayWrite(d.path); {
	case errors.Is(err, syscall.EROFS):
		return unwell(readOnlyDatabase, err)
	case err != nil:
		return unwell("the database file is read-only", err)
	}
	if free, known := freeSpace(filepath.Dir(d.path)); known && free < sqliteRoom {
		return unwell("the disk of the database is full", errors.New("there is no room"))
	}
	return nil
}

// inPlace returns an error unless the files at the paths are the open ones, and
// none has shrunk. Each transaction calls it, because data committed to a
// deleted file is lost with the process.
func (d *sqliteDB) inPlace() error {
	f := &d.file
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := same(d.path, f.opened, &f.size, "the database file"); err != nil {
		return err
	}
	if f.log == nil {
		f.log, _ = os.Stat(d.path + "-wal") // the log exists from the first write on
		return nil
	}
	if now, err := os.Stat(d.path + "-wal"); err == nil && now.Size() < f.logSize && !d.shortened(now.Size()) {
		f.logSize = now.Size()
	}
	return same(d.path+"-wal", f.log, &f.logSize, "the write-ahead log of the database")
}

// same returns an error unless path still names the opened file, and the file
// is no smaller than size, which same updates.
func same(path string, opened fs.FileInfo, size *int64, name string) error {
	now, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return unwell(name+" was deleted while it is in use", err)
	case err != nil:
		return unwell(name+" cannot be reached", err)
	case !os.SameFile(now, opened):
		return unwell(name+" was replaced by another one while it is in use", errors.New("it is another file"))
	case now.Mode().Perm()&0o222 == 0:
		return unwell(name+" is read-only", fs.ErrPermission)
	case now.Size() < *size:
		return unwell(name+" was cut short while it is in use", fmt.Errorf("it has %d bytes and had %d", now.Size(), *size))
	}
	*size = now.Size()
	return nil
}
