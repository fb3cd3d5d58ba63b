package store_test

import (
	"path/filepath"
	"testing"

	"github.com/chattray/chattray/store"
	"github.com/chattray/chattray/store/storetest"
)

func freshSQLite(t testing.TB) string {
	return "sqlite:" + filepath.Join(t.TempDir(), "a new folder", "with ? and % and #.db")
}

func TestSQLite(t *testing.T) { storetest.Run(t, freshSQLite) }

// A statement of each length of a list does not stay in memory forever.
func TestSQLiteStatements(t *testing.T) {
	s, err := store.Open(t.Context(), freshSQLite(t), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ids := make([]string, 2*store.MostStatements)
	for n := range ids {
		if _, err := s.Withdrawn(t.Context(), ids[:n+1]); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.Statements(); got == 0 || got > store.MostStatements {
		t.Errorf("%d statements are prepared, want at most %d", got, store.MostStatements)
	}
}

func BenchmarkCommitSQLite(b *testing.B) { storetest.BenchmarkCommit(b, freshSQLite) }
