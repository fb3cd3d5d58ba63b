package sqldb_test

import (
	"os"
	"path/filepath"
	"strings"
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

// The error of what is no database names the file, which the driver does not.
func TestSQLiteFileThatIsNone(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "notes.txt")
	if err := os.WriteFile(text, []byte("No database, but a text."), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{text, dir} {
		db, err := sqldb.Open(t.Context(), "sqlite:"+path, sqldb.Options{})
		if err == nil {
			_ = db.Upkeep().Close()
		}
		if err == nil || !strings.Contains(err.Error(), path+": ") {
			t.Errorf("%s: got %v, want an error that names it", path, err)
		}
	}
}
