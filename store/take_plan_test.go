package store_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chattray/chattray/store"
	"github.com/chattray/chattray/store/storetest"
)

// A start reads the runs that have not ended, not all that there were.
func TestTakeReadsOpenRuns(t *testing.T) {
	s, err := store.Open(t.Context(), storetest.FreshSQLite(t), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	sqlite := strings.NewReplacer("{among}", "IN ('a', 'b')", "{not_gone}", "1", "{left}", "false", "{skip}", "", "?", "'1'")
	for _, statement := range []string{store.TakeRuns, store.TakeAllRuns} {
		plan, err := s.Plan("EXPLAIN QUERY PLAN ", sqlite.Replace(statement))
		lines := fmt.Sprint(plan)
		if err != nil || strings.Contains(lines, "runs_place") || !strings.Contains(lines, "runs_open") && !strings.Contains(lines, "runs_held") {
			t.Errorf("got the plan %v, %v, want that it goes along an index of unfinished runs", lines, err)
		}
	}
}
