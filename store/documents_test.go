package store_test

import (
	"testing"

	"github.com/chattray/chattray/store/storetest"
)

func BenchmarkDocumentSQLite(b *testing.B) { storetest.BenchmarkDocument(b, storetest.FreshSQLite) }

func BenchmarkDocumentPostgres(b *testing.B) {
	postgresURL(b)
	storetest.BenchmarkDocument(b, freshPostgres)
}
