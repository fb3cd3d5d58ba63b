package documents_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/store/documents"
	"github.com/chattray/chattray/store/sqldb"
)

// An edit with a revision that has passed, as one that is repeated, is not called stale because
// the database fails while the edit is compared with what is stored: it may be stored already.
func TestEditThatCannotBeCompared(t *testing.T) {
	db, err := sqldb.Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "test.db"), sqldb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Upkeep().Close() }()
	tables := documents.New(db, 0, false)
	if _, err := tables.CreateDocument(t.Context(), "u", record.NewDocument{ID: "d", Title: "Gold", CreatedAt: time.Now()}); err != nil {
		t.Fatal(err)
	}
	text := "text"
	b, err := tables.AddBlock(t.Context(), "u", "d", record.NewBlock{ID: "b", Type: "md", Content: text}, nil)
	if err != nil {
		t.Fatal(err)
	}
	fault := errors.New("the connection has ended")
	err = db.Write(t.Context(), func(tx *gorm.DB) error {
		return tx.Callback().Row().Before("gorm:row").Register("fault", func(tx *gorm.DB) {
			if strings.Contains(tx.Statement.SQL.String(), "current = ?") {
				_ = tx.AddError(fault)
			}
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, match := range []record.Match{nil, {b.Revision}, {b.Revision - 1}} {
		if _, err := tables.PatchBlock(t.Context(), "u", "b", schemas.BlockPatch{Content: &text}, match); !errors.Is(err, fault) {
			t.Errorf("with the revision %v the edit ends with %v, want %v", match, err, fault)
		}
	}
}
