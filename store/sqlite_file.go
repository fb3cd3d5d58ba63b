package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
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
}

// forgetLog is called when the last connection may have been closed, which
// deletes the write-ahead log.
func (f *sqliteFile) forgetLog() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.log = nil
}

// check returns an error if the database's files were deleted or replaced: what
// is written to a deleted file is lost.
func (d *sqliteDB) check() error {
	if err := d.inPlace(); err != nil {
		return err
	}
	if err := mayWrite(d.path); err != nil {
		return unwell("the database file is read-only", err)
	}
	if free, known := freeSpace(filepath.Dir(d.path)); known && free < sqliteRoom {
		return unwell("the disk of the database is full", errors.New("there is no room"))
	}
	return nil
}

// inPlace returns an error unless the files at the paths are those that are
// open. Each transaction calls it, because what is committed to a deleted file
// is lost with the process.
func (d *sqliteDB) inPlace() error {
	if err := same(d.path, d.file.opened, "the database file"); err != nil {
		return err
	}
	f := &d.file
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.log == nil {
		f.log, _ = os.Stat(d.path + "-wal") // it exists from the first write on
		return nil
	}
	return same(d.path+"-wal", f.log, "the write-ahead log of the database")
}

// same returns an error unless path still names the opened file.
func same(path string, opened fs.FileInfo, name string) error {
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
	}
	return nil
}
