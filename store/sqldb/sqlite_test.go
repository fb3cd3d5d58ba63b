package sqldb_test

import (
	"path/filepath"
	"testing"

	"github.com/chattray/chattray/store/sqldb"
)

// A statement of each length of a list does not stay in memory forever.
func TestSQLiteStatements(t *testing.T) {
	db, s := openAt(t, "sqlite:"+filepath.Join(t.TempDir(), "a.db"))
	ids := make([]string, 2*sqldb.MostStatements)
	for n := range ids {
		if _, err := s.Withdrawn(t.Context(), ids[:n+1]); err != nil {
			t.Fatal(err)
		}
	}
	if got := db.Statements(); got == 0 || got > sqldb.MostStatements {
		t.Errorf("%d statements are prepared, want at most %d", got, sqldb.MostStatements)
	}
}
