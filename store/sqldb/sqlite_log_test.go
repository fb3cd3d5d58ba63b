package sqldb_test

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/store"
	"github.com/chattray/chattray/store/sqldb"
)

// inFiles reports whether the database's files have the text.
func inFiles(t *testing.T, path, text string) bool {
	t.Helper()
	for _, of := range []string{"", "-wal", "-journal"} {
		content, err := os.ReadFile(path + of)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		if bytes.Contains(content, []byte(text)) {
			return true
		}
	}
	return false
}

// idle returns a connection of another program, which reads nothing.
func idle(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", sqldb.SQLiteFileURL(path)+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	db.SetMaxOpenConns(1)
	var chats int
	if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM chats").Scan(&chats); err != nil {
		t.Fatal(err)
	}
	return db
}

// Text that was deleted is in no file of the database: after a user was deleted, after a
// sweep, and after the store was closed, also if another program has the database open.
func TestDeletedTextIsInNoFile(t *testing.T) {
	const secret = "a secret of ann"
	for _, tt := range []struct {
		name string
		end  func(s *store.Store) error
	}{
		{"user deleted", func(s *store.Store) error { return s.ForgetUser(t.Context(), "ann", "2026-01-01") }},
		{"swept", func(s *store.Store) error {
			forget(t, s)
			return nil
		}},
		{"closed", (*store.Store).Close},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.db")
			db, s := openAt(t, "sqlite:"+path)
			idle(t, path)
			run(t, db, "INSERT INTO chats (id, owner, key, summary, created_at, updated_at) VALUES (1, 'ann', 'a', '"+secret+"', 1, 1), (2, 'ann', 'b', '"+
				strings.Repeat("x", 10*8192)+secret+"', 1, 1), (3, 'bob', 'b', 'kept', 1, 1)") // in a page, and in pages of its own
			if !inFiles(t, path, secret) {
				t.Error("no file has the text before it is deleted")
			}
			for _, chat := range []int64{1, 2} {
				if err := s.DeleteChat(t.Context(), "ann", chat); err != nil {
					t.Fatal(err)
				}
			}
			if err := tt.end(s); err != nil {
				t.Fatal(err)
			}
			if inFiles(t, path, secret) {
				t.Error("a file has the deleted text")
			}
		})
	}
}

// A backup has no second copy of what is deleted after it was restored, whether or not its
// indexes are merged while it is made.
func TestDeletedTextIsInNoRestoredFile(t *testing.T) {
	const secret = "a secret of ann"
	url := "sqlite:" + filepath.Join(t.TempDir(), "a.db")
	db, s := openAt(t, url)
	for id := range 100 { // more than one page of the table, and of the index of its keys
		run(t, db, fmt.Sprintf("INSERT INTO chats (id, owner, key, title, created_at, updated_at) VALUES (%d, 'ann', '%d%s', '%s', 1, 1)",
			id+1, id, strings.Repeat(secret, 10), strings.Repeat(secret, 10)))
	}
	check := func(t *testing.T) {
		t.Helper()
		path := filepath.Join(t.TempDir(), "b.db")
		if _, err := sqldb.Backup(t.Context(), url, path); err != nil {
			t.Fatal(err)
		}
		copied, restored := openAt(t, "sqlite:"+path)
		if !inFiles(t, path, secret) {
			t.Error("the copy has not the text before it is deleted")
		}
		run(t, copied, "DELETE FROM chats")
		if err := restored.ForgetUser(t.Context(), "ann", "2026-01-01"); err != nil {
			t.Fatal(err)
		}
		if inFiles(t, path, secret) {
			t.Error("a file has the deleted text")
		}
	}
	t.Run("not merged", func(t *testing.T) {
		forget(t, s)
		check(t)
	})
	t.Run("merged", func(t *testing.T) {
		run(t, db, "UPDATE sweeps SET at = 1 WHERE kind = 'chats_search'")
		check(t)
	})
}

// forget removes all that the indexes have of deleted text.
func forget(t *testing.T, s *store.Store) {
	t.Helper()
	for more := true; more; {
		var err error
		if more, err = s.Forget(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// Another program may empty the write-ahead log.
func TestLogIsEmptiedByOthers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	db, s := openAt(t, "sqlite:"+path)
	run(t, db, "INSERT INTO chats (id, owner, key, title, created_at, updated_at) VALUES (1, 'ann', 'a', 'first', 1, 1)")
	run(t, db, "UPDATE chats SET title = 'second'")
	other, err := sql.Open("sqlite", sqldb.SQLiteFileURL(path)+"?_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	var busy, frames, moved int
	if err := other.QueryRowContext(t.Context(), "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &frames, &moved); err != nil || busy != 0 {
		t.Fatalf("%v, busy %d", err, busy)
	}
	if err := s.Ping(t.Context()); err != nil {
		t.Errorf("the empty log is a fault: %v", err)
	}
	run(t, db, "UPDATE chats SET title = 'third'")
	list, err := s.Chats(t.Context(), "ann", record.ChatQuery{})
	if err != nil || len(list.Items) != 1 || list.Items[0].Title != "third" {
		t.Errorf("got %+v, %v, want the newest title", list.Items, err)
	}
}
