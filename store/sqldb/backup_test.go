package sqldb_test

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chattray/chattray/store"
	"github.com/chattray/chattray/store/sqldb"
	"github.com/chattray/chattray/store/storetest"
)

func TestBackup(t *testing.T) {
	url := storetest.FreshSQLite(t)
	data, err := store.Open(t.Context(), url, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer data.Close()
	stream := `{"kind": "stream", "stream_id": 1, "name": "Gold"}`
	if _, err := data.Import(t.Context(), strings.NewReader(stream)); err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	path := filepath.Join(folder, "with ? and # and '.db")
	size, err := sqldb.Backup(t.Context(), url, path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() != size || size == 0 || info.Mode().Perm() != 0o600 {
		t.Errorf("the copy has %d bytes and mode %v, want %d and only its owner's", info.Size(), info.Mode(), size)
	}
	db, err := sql.Open("sqlite", "file:"+strings.NewReplacer("?", "%3f", "#", "%23").Replace(path))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var checked string
	var pageSize, streams int
	if err := db.QueryRowContext(t.Context(), "SELECT * FROM pragma_integrity_check, pragma_page_size, (SELECT COUNT(*) FROM streams)").Scan(&checked, &pageSize, &streams); err != nil {
		t.Fatal(err)
	}
	if checked != "ok" || pageSize != 8192 || streams != 1 {
		t.Errorf("the copy is %q with pages of %d bytes and %d streams, want ok, 8192 and 1", checked, pageSize, streams)
	}
	if list, err := os.ReadDir(folder); err != nil || len(list) != 1 {
		t.Errorf("the folder has %v, %v, want the copy alone", list, err)
	}
}

func TestBackupRefuses(t *testing.T) {
	url := storetest.FreshSQLite(t)
	data, err := store.Open(t.Context(), url, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer data.Close()
	folder := t.TempDir()
	taken := filepath.Join(folder, "taken")
	if err := os.WriteFile(taken, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	damaged := filepath.Join(t.TempDir(), "damaged.db")
	if err := os.WriteFile(damaged, []byte(strings.Repeat("no database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	empty, foreign := filepath.Join(t.TempDir(), "empty.db"), filepath.Join(t.TempDir(), "foreign.db")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	other, err := sql.Open("sqlite", foreign)
	if err == nil {
		_, err = other.ExecContext(t.Context(), "CREATE TABLE theirs (a)")
	}
	if err = errors.Join(err, other.Close()); err != nil {
		t.Fatal(err)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	tests := []struct {
		name      string
		ctx       func() context.Context
		url, path string
		want      error // nil means any
	}{
		{"a file that exists", t.Context, url, taken, fs.ErrExist},
		{"the database itself", t.Context, url, strings.TrimPrefix(url, "sqlite:"), fs.ErrExist},
		{"no database", t.Context, "sqlite:" + filepath.Join(folder, "no", "such.db"), filepath.Join(folder, "new"), fs.ErrNotExist},
		{"no folder", t.Context, url, filepath.Join(folder, "no", "new"), fs.ErrNotExist},
		{"no file", t.Context, "postgres://user:secret@host/db", filepath.Join(folder, "new"), sqldb.ErrNoFile},
		{"a damaged database", t.Context, "sqlite:" + damaged, filepath.Join(folder, "new"), nil},
		{"stopped", func() context.Context { return stopped }, url, filepath.Join(folder, "new"), context.Canceled},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := sqldb.Backup(tt.ctx(), tt.url, tt.path); err == nil || tt.want != nil && !errors.Is(err, tt.want) {
				t.Errorf("the error is %v, want %v", err, tt.want)
			}
		})
	}
	for path, want := range map[string]string{empty: "the database is empty", foreign: "not a chattray database"} {
		if _, err := sqldb.Backup(t.Context(), "sqlite:"+path, filepath.Join(folder, "new")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want one with %q", err, want)
		}
	}
	missing := filepath.Join(folder, "no", "new")
	if _, err := sqldb.Backup(t.Context(), url, missing); err == nil || !strings.HasSuffix(err.Error(), "create "+missing+": no such file or directory") {
		t.Errorf("the error is %v, want one with the path %s", err, missing)
	}
	if content, err := os.ReadFile(taken); err != nil || string(content) != "mine" {
		t.Errorf("the file that existed has %q, %v, want it unchanged", content, err)
	}
	if list, err := os.ReadDir(folder); err != nil || len(list) != 1 {
		t.Errorf("the folder has %v, %v, want nothing new", list, err)
	}
}
