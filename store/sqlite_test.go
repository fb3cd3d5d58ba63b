package store_test

import (
	"testing"

	"github.com/chattray/chattray/store/storetest"
)

func TestSQLite(t *testing.T) { storetest.Run(t, storetest.FreshSQLite, storetest.MadeSQLite) }

func BenchmarkCommitSQLite(b *testing.B) { storetest.BenchmarkCommit(b, storetest.FreshSQLite) }
