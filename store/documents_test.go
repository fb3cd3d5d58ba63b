package store_test

import (
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/store"
	"github.com/chattray/chattray/store/storetest"
)

func BenchmarkDocumentSQLite(b *testing.B) { storetest.BenchmarkDocument(b, storetest.FreshSQLite) }

func BenchmarkDocumentPostgres(b *testing.B) {
	postgresURL(b)
	storetest.BenchmarkDocument(b, freshPostgres)
}

// A document whose last version is of a time to come, because a clock was set back, has a
// version before the next change.
func TestVersionAfterAClockWasSetBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data.db")
	data, err := store.Open(t.Context(), "sqlite:"+path, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer data.Close()
	if _, err := data.CreateDocument(t.Context(), "u", record.NewDocument{ID: "d", Title: "Gold", CreatedAt: time.Now()}); err != nil {
		t.Fatal(err)
	}
	if _, err := data.AddBlock(t.Context(), "u", "d", record.NewBlock{ID: "b", Type: "md", Content: "first"}, nil); err != nil {
		t.Fatal(err)
	}
	changed := func(content string, want int) {
		t.Helper()
		if _, err := data.PatchBlock(t.Context(), "u", "b", schemas.BlockPatch{Content: &content}, nil); err != nil {
			t.Fatal(err)
		}
		if list, err := data.DocumentVersions(t.Context(), "u", "d"); err != nil || len(list.Items) != want {
			t.Errorf("after %q there are %d versions, %v; want %d", content, len(list.Items), err, want)
		}
	}
	changed("second", 1)
	changed("third", 1)
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), "UPDATE document_versions SET created_at = created_at + ?", time.Hour.Microseconds()); err != nil {
		t.Fatal(err)
	}
	changed("fourth", 2)
	changed("fifth", 2)
}
