package sqldb_test

import (
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/chattray/chattray/store/sqldb"
)

// Another program, which does not enforce references, has deleted a run: what it has left does
// not keep the tables from being copied.
func TestMigrationLeavesOutWhatHasNoRun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "old.db")
	db, s := openAt(t, "sqlite:"+path)
	const beforeSegments = 15
	downTo(t, db, beforeSegments)
	other, err := sql.Open("sqlite", sqldb.SQLiteFileURL(path)+"?_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }()
	for _, statement := range []string{
		"INSERT INTO chats (id, owner, key, title, created_at, updated_at) VALUES (1, 'ann', 'a', '', 1, 1)",
		`INSERT INTO runs (id, chat_id, owner, owner_name, owner_roles, state, attempt, request, user_message_id, message_id, created_at)
			SELECT column1, 1, 'ann', '', '[]', 'completed', 1, X'', 'q', 'a', 1 FROM (VALUES ('gone'), ('kept'))`,
		`INSERT INTO tool_calls (run_id, idx, tool_use_id, name, state, attempt, input, output, is_error, started_at, duration_us)
			SELECT id, 0, 'call', 'search', 'finished', 1, X'00', X'00', 0, 1, 1 FROM runs`,
		"INSERT INTO segments (run_id, first_seq, last_seq, attempt, data) SELECT id, 1, 1, 1, X'00' FROM runs",
		"DELETE FROM runs WHERE id = 'gone'",
	} {
		if _, err := other.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"tool_calls", "segments"} {
		if n := numberOf(t, db, "SELECT SUM(CASE WHEN run_id = 'kept' THEN 1 ELSE 10 END) FROM "+table); n != 1 {
			t.Errorf("%s has %d, want the row of the run that is kept", table, n)
		}
	}
}
