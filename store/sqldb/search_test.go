package sqldb_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/store/sqldb"
)

// Chats and messages that are older than the search index are found through it.
func TestSearchOfOlderMessages(t *testing.T) {
	db, s := openAt(t, "sqlite:"+t.TempDir()+"/old.db")
	const beforeSearch = 22
	downTo(t, db, beforeSearch)
	err := db.Write(t.Context(), func(tx *gorm.DB) error {
		for _, statement := range []string{
			"INSERT INTO chats (id, owner, key, title, created_at, updated_at) VALUES (1, 'ann', 'a', 'Old Title', 1, 1), (2, 'ann', 'b', '', 1, 2)",
			"INSERT INTO blocks (seq, owner, id, chat_id, role, type, current, status, created_at) VALUES (1, 'ann', 'm', 2, 'user', 'md', 'an old MESSAGE', 'complete', 1)",
		} {
			if err := tx.Exec(statement).Error; err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]int64{"old title": 1, "message": 2} {
		list, err := s.Chats(t.Context(), "ann", record.ChatQuery{Text: text})
		if err != nil || len(list.Items) != 1 || list.Items[0].ConversationID != want {
			t.Errorf("%q finds %v, %v; want chat %d", text, list.Items, err, want)
		}
	}
}

// downTo takes migrations back.
func downTo(t *testing.T, db *sqldb.DB, version int64) {
	t.Helper()
	if err := db.DownTo(t.Context(), version); err != nil {
		t.Fatal(err)
	}
}

// A backup has no terms of titles and messages that were deleted or changed before it, and
// after Forget the index has none, also if they were deleted by a program without Forget.
func TestDeletedTextIsForgotten(t *testing.T) {
	const beforeForgotten = 26
	for _, older := range []bool{false, true} {
		name := map[bool]string{false: "current", true: "older"}[older]
		t.Run(name, func(t *testing.T) {
			url := "sqlite:" + filepath.Join(t.TempDir(), "a.db")
			db, s := openAt(t, url)
			if older {
				downTo(t, db, beforeForgotten)
			}
			// Each is a transaction, and so a segment of the index.
			terms := []string{"ⰀⰁⰂ", "ႠႡႢ", "ꙀꙂꙄ"}
			run(t, db, "INSERT INTO chats (id, owner, key, title, created_at, updated_at) VALUES (1, 'ann', 'a', 'ⰀⰁⰂ', 1, 1), (2, 'ann', 'b', 'kept', 1, 2)")
			run(t, db, "INSERT INTO blocks (seq, owner, id, chat_id, role, type, current, status, created_at) VALUES (1, 'ann', 'm', 1, 'user', 'md', 'ႠႡႢ', 'complete', 1)")
			run(t, db, "INSERT INTO blocks (seq, owner, id, chat_id, role, type, current, status, created_at) VALUES (2, 'ann', 'n', 2, 'user', 'md', 'ꙀꙂꙄ', 'complete', 1)")
			if !older {
				db.IndexFrom(1)
				if err := s.Tend(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			for _, term := range terms {
				if !inBackup(t, url, term) {
					t.Errorf("a backup has no %s before it is deleted", term)
				}
			}
			run(t, db, "DELETE FROM blocks WHERE seq = 1")
			run(t, db, "UPDATE blocks SET current = 'changed' WHERE seq = 2")
			run(t, db, "DELETE FROM chats WHERE id = 1")
			if older {
				if err := s.Migrate(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			for _, term := range terms {
				if inBackup(t, url, term) {
					t.Errorf("a backup has %s after it was deleted", term)
				}
			}
			more, steps := true, 0
			for ; more && steps < 100; steps++ {
				var err error
				if more, err = s.Forget(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if left, err := sqldb.Number(db.Read(t.Context()), "SELECT SUM(at) FROM sweeps WHERE kind IN ('chats_search', 'blocks_search')"); err != nil || left != 0 || more {
				t.Errorf("after %d steps %d deletions are left, %v; want none", steps, left, err)
			}
			for _, term := range terms {
				var n int64
				for _, index := range []string{"chats_search", "blocks_search"} {
					found, err := sqldb.Number(db.Read(t.Context()), "SELECT COUNT(*) FROM "+index+"_data WHERE instr(block, CAST(? AS BLOB)) > 0", strings.ToLower(term))
					if err != nil {
						t.Fatal(err)
					}
					n += found
				}
				if n > 0 {
					t.Errorf("the index still has %s", term)
				}
			}
			list, err := s.Chats(t.Context(), "ann", record.ChatQuery{Text: "chang"})
			if err != nil || len(list.Items) != 1 {
				t.Errorf("the changed message is found in %v, %v; want one chat", list.Items, err)
			}
		})
	}
}

// The first step of Forget fails, as on a disk that is full. What comes later forgets all the
// same: a step that is not stored has not begun.
func TestDeletedTextIsForgottenAfterAStepThatFails(t *testing.T) {
	db, s := openAt(t, "sqlite:"+filepath.Join(t.TempDir(), "a.db"))
	db.IndexFrom(1)
	for _, title := range []string{"ⰀⰁⰂ", "kept"} { // each is a segment of the index
		run(t, db, "INSERT INTO chats (owner, key, title, created_at, updated_at) VALUES ('ann', '"+title+"', '"+title+"', 1, 1)")
		if err := s.Tend(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	run(t, db, "DELETE FROM chats WHERE title = 'ⰀⰁⰂ'")
	run(t, db, "CREATE TRIGGER full BEFORE INSERT ON chats_search_data BEGIN SELECT RAISE(ABORT, 'the disk is full'); END")
	if _, err := s.Forget(t.Context()); err == nil {
		t.Fatal("the step does not fail")
	}
	run(t, db, "DROP TRIGGER full")
	for more := true; more; {
		var err error
		if more, err = s.Forget(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	left, err := sqldb.Number(db.Read(t.Context()), "SELECT COUNT(*) FROM chats_search_data WHERE instr(block, CAST(? AS BLOB)) > 0", strings.ToLower("ⰀⰁⰂ"))
	if err != nil || left > 0 {
		t.Errorf("the index still has the deleted title, %v", err)
	}
}

// run runs a statement in a transaction of its own.
func run(t *testing.T, db *sqldb.DB, statement string) {
	t.Helper()
	if err := db.Write(t.Context(), func(tx *gorm.DB) error { return tx.Exec(statement).Error }); err != nil {
		t.Fatal(err)
	}
}

// inBackup reports whether a new backup has the text in lower case, as indexes have it.
func inBackup(t *testing.T, url, text string) bool {
	t.Helper()
	path := filepath.Join(t.TempDir(), "backup.db")
	if _, err := sqldb.Backup(t.Context(), url, path); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Contains(content, []byte(strings.ToLower(text)))
}

// A file that a newer release has migrated is refused, and left as it is.
func TestNewerDatabase(t *testing.T) {
	url := "sqlite:" + filepath.Join(t.TempDir(), "a.db")
	db, _ := openAt(t, url)
	run(t, db, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (1000, 1)")
	if newer, err := sqldb.Open(t.Context(), url, sqldb.Options{}); err == nil {
		_ = newer.Upkeep().Close()
		t.Error("the database was opened")
	} else if !strings.Contains(err.Error(), sqldb.ErrNewer.Error()) {
		t.Errorf("got %v; want %v", err, sqldb.ErrNewer)
	}
}
