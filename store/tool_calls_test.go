package store_test

import (
	"testing"

	"github.com/chattray/chattray/store"
)

// Two calls of 3 kB share a page of 8 KiB.
func TestSQLiteCallsShareAPage(t *testing.T) {
	s := fillChats(t, 100, 2)
	before := pages(t, s)
	if err := s.Fill(`INSERT INTO tool_calls (run_id, idx, tool_use_id, name, state, attempt, input, output, is_error, started_at, duration_us)
		SELECT id, 0, 'call', 'search', 'finished', 1, X'00', zeroblob(3000), 0, 1, 1 FROM runs ORDER BY place`); err != nil {
		t.Fatal(err)
	}
	if added := pages(t, s) - before; added > 55 {
		t.Errorf("100 calls take %d pages, want 50 and a few for their index", added)
	}
}

// pages returns how many pages the database has.
func pages(t *testing.T, s *store.Store) int64 {
	t.Helper()
	rows, err := s.Plan("", "PRAGMA page_count")
	if err != nil {
		t.Fatal(err)
	}
	return rows[0]["page_count"].(int64)
}
