package store_test

import (
	"path/filepath"
	"testing"

	"github.com/chattray/chattray/store/storetest"
)

func freshSQLite(t testing.TB) string {
	return "sqlite:" + filepath.Join(t.TempDir(), "a new folder", "with ? and % and #.db")
}

func TestSQLite(t *testing.T) { storetest.Run(t, freshSQLite) }

func BenchmarkCommitSQLite(b *testing.B) { storetest.BenchmarkCommit(b, freshSQLite) }
