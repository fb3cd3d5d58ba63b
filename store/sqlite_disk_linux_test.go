package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/store"
	"github.com/chattray/chattray/store/sqldb"
	"github.com/chattray/chattray/store/storetest"
)

// A full disk is reported before a write fails, and after one has failed.
func TestSQLiteDiskFull(t *testing.T) {
	url, fill := smallDisk(t)
	storetest.RunFullDisk(t, url, fill)
}

// A start on a full disk names the disk, whether there is a database or not.
func TestSQLiteStartsOnFullDisk(t *testing.T) {
	url, fill := smallDisk(t)
	for _, database := range []string{"new", "existing"} {
		if err := fill(0); err != nil {
			t.Fatal(err)
		}
		if _, err := store.Open(t.Context(), url, store.Options{}); !errors.Is(err, schemas.ErrNoRoom) {
			t.Errorf("%s database: got %v; want %v", database, err, schemas.ErrNoRoom)
		}
		if err := fill(4 << 20); err != nil {
			t.Fatal(err)
		}
		s, err := store.Open(t.Context(), url, store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// smallDisk returns the url of a database on a disk of its own, and what leaves so many
// bytes free on it.
func smallDisk(t *testing.T) (url string, fill func(left int64) error) {
	t.Helper()
	folder := t.TempDir()
	if err := syscall.Mount("tmpfs", folder, "tmpfs", 0, "size=8m"); err != nil {
		t.Skipf("a small disk cannot be mounted: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(folder, 0); err != nil {
			t.Error(err)
		}
	})
	return "sqlite:" + filepath.Join(folder, "data.db"), func(left int64) error {
		ballast := filepath.Join(folder, "ballast")
		if err := os.RemoveAll(ballast); err != nil {
			return err
		}
		var disk syscall.Statfs_t
		if err := syscall.Statfs(folder, &disk); err != nil {
			return err
		}
		return os.WriteFile(ballast, make([]byte, int64(disk.Bavail)*disk.Bsize-left), 0o600)
	}
}

// What only reads works in a folder that is read-only: a database that was closed is backed
// up and looked at there. A service does not start.
func TestSQLiteReadOnlyFolder(t *testing.T) {
	url, _ := smallDisk(t)
	path := strings.TrimPrefix(url, "sqlite:")
	s, err := store.Open(t.Context(), url, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Import(t.Context(), strings.NewReader(`{"kind": "stream", "stream_id": 1, "name": "Gold"}`)); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", filepath.Dir(path), "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	if s, err = store.Open(t.Context(), url, store.Options{Database: sqldb.Options{NoMigrate: true, Existing: true}}); err != nil {
		t.Fatal(err)
	}
	if err := s.Current(t.Context()); err != nil {
		t.Errorf("the migrations: %v", err)
	}
	if stream, err := s.Stream(t.Context(), 1); err != nil || stream.Name != "Gold" {
		t.Errorf("the stream is %+v, %v; want Gold", stream, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := sqldb.Backup(t.Context(), url, filepath.Join(t.TempDir(), "copy.db")); err != nil {
		t.Errorf("a backup: %v", err)
	}
	if s, err := store.Open(t.Context(), url, store.Options{}); err == nil {
		t.Errorf("a service starts, want an error")
		_ = s.Close()
	}
}

// A database that is in use may have another name, a symbolic link in a folder that is
// read-only. What reads it there reads its write-ahead log, too, which is beside the file.
func TestSQLiteLinkInAReadOnlyFolder(t *testing.T) {
	link, _ := smallDisk(t)
	url, folder := storetest.FreshSQLite(t), filepath.Dir(strings.TrimPrefix(link, "sqlite:"))
	if err := os.Symlink(strings.TrimPrefix(url, "sqlite:"), strings.TrimPrefix(link, "sqlite:")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", folder, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	service, err := store.Open(t.Context(), url, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = service.Close() }()
	if _, err := service.Import(t.Context(), strings.NewReader(`{"kind": "stream", "stream_id": 1, "name": "Gold"}`)); err != nil {
		t.Fatal(err)
	}
	backup := filepath.Join(t.TempDir(), "copy.db")
	if _, err := sqldb.Backup(t.Context(), link, backup); err != nil {
		t.Fatal(err)
	}
	for _, url := range []string{link, "sqlite:" + backup} {
		s, err := store.Open(t.Context(), url, store.Options{Database: sqldb.Options{NoMigrate: true, Existing: true}})
		if err != nil {
			t.Fatal(err)
		}
		if stream, err := s.Stream(t.Context(), 1); err != nil || stream.Name != "Gold" {
			t.Errorf("%s: the stream is %+v, %v; want Gold", url, stream, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A backup of a database on a full disk names the disk.
func TestSQLiteBackupOnFullDisk(t *testing.T) {
	url, fill := smallDisk(t)
	s, err := store.Open(t.Context(), url, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := fill(0); err != nil {
		t.Fatal(err)
	}
	if _, err := sqldb.Backup(t.Context(), url, filepath.Join(t.TempDir(), "copy.db")); !errors.Is(err, schemas.ErrNoRoom) {
		t.Errorf("got %v, want %v", err, schemas.ErrNoRoom)
	}
}

// A database that was not closed has a write-ahead log, which SQLite cannot read in a
// read-only folder unless the index is there. The error says what to do.
func TestSQLiteLogInAReadOnlyFolder(t *testing.T) {
	url, _ := smallDisk(t)
	path := strings.TrimPrefix(url, "sqlite:")
	s, err := store.Open(t.Context(), url, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range []string{"", "-wal"} { // as a crash leaves them
		raw, err := os.ReadFile(path + of)
		if err == nil {
			err = os.WriteFile(path+".left"+of, raw, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", filepath.Dir(path), "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	s, opened := store.Open(t.Context(), url+".left", store.Options{Database: sqldb.Options{NoMigrate: true, Existing: true}})
	if opened == nil {
		_ = s.Close()
	}
	_, copied := sqldb.Backup(t.Context(), url+".left", filepath.Join(t.TempDir(), "copy.db"))
	for name, err := range map[string]error{"opening": opened, "a backup": copied} {
		if err == nil || !strings.Contains(err.Error(), "copy both files") {
			t.Errorf("%s: %v, want an error that says what to do", name, err)
		}
	}
}
