package sqldb

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// A new file has pages in which most answers fit twice; an existing file keeps its own.
func TestSQLitePageSize(t *testing.T) {
	old := filepath.Join(t.TempDir(), "old.db")
	db, err := sql.Open("sqlite", old)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), "PRAGMA user_version = 7"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int64{old: 4096, filepath.Join(t.TempDir(), "new.db"): 8192} {
		s, err := Open(t.Context(), "sqlite:"+path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := Number(s.Read(t.Context()), "PRAGMA page_size")
		if err := errors.Join(err, s.Upkeep().Close()); err != nil || got != want {
			t.Errorf("%s: pages of %d bytes, %v; want %d", filepath.Base(path), got, err, want)
		}
	}
}

// Only its owner can read a new database, and what SQLite keeps beside it, wherever it is.
func TestSQLiteFileIsPrivate(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "link.db")
	if err := os.Symlink(filepath.Join(dir, "new.db"), link); err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), "sqlite:"+link, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Upkeep().Close()
	if _, err := Number(s.Read(t.Context()), "SELECT count(*) FROM sqlite_schema"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"new.db", "new.db-wal", "new.db-shm"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if mode := info.Mode().Perm(); mode != 0o600 {
			t.Errorf("%s has the mode %o, want 600", name, mode)
		}
	}
}
