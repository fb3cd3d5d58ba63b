package storetest

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/store"
)

func init() { //nolint:gochecknoinits // the list of the suite, continued beside what it lists
	ownTests["rows written"] = testRowsWritten
	ownTests["closed documents"] = testClosedDocuments
	ownTests["deletion of a document with large versions"] = testDeleteLargeVersions
}

// largeDocument is the number of blocks of a large document. One of openTries
// must open it within openWithin.
const (
	largeDocument = 2000
	openWithin    = 100 * time.Millisecond
	openTries     = 100
)

// fill makes a document of many blocks.
func fill(t testing.TB, s *store.Store, owner string, n int) string {
	t.Helper()
	id := newID()
	p := record.Plan{Create: &record.NewDocument{ID: id, Title: "Large", CreatedAt: start}}
	for range n {
		p.Blocks = append(p.Blocks, record.NewBlock{ID: newID(), Type: "md", Content: long("A paragraph of text. ", 400)})
	}
	if _, err := s.PlanDocument(t.Context(), owner, id, p); err != nil {
		t.Fatal(err)
	}
	if _, err := s.SettleDocument(t.Context(), owner, id, record.Accept, nil); err != nil {
		t.Fatal(err)
	}
	return id
}

// countRows makes the database count the rows that are written to documents and
// blocks, and returns a function that returns the count since its last call.
func countRows(t *testing.T, url string) func() int {
	t.Helper()
	db := openRaw(t, url)
	db.exec("CREATE TABLE written (n INTEGER)")
	for _, table := range []string{"documents", "blocks"} {
		for _, event := range []string{"INSERT", "UPDATE", "DELETE"} {
			db.after(event, table, "INSERT INTO written VALUES (1)")
		}
	}
	return func() int {
		var n int
		must(t, db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM written").Scan(&n))
		db.exec("DELETE FROM written")
		return n
	}
}

// rawDatabase is a database without the store.
type rawDatabase struct {
	*sql.DB
	t      *testing.T
	sqlite bool
}

func openRaw(t *testing.T, url string) rawDatabase {
	t.Helper()
	path, sqlite := strings.CutPrefix(url, "sqlite:")
	driver, name := "pgx", url
	if sqlite {
		driver, name = "sqlite", "file:"+strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(path)
	}
	db, err := sql.Open(driver, name)
	must(t, err)
	t.Cleanup(func() { must(t, db.Close()) })
	return rawDatabase{db, t, sqlite}
}

func (db rawDatabase) exec(statement string) {
	db.t.Helper()
	_, err := db.ExecContext(db.t.Context(), statement)
	must(db.t, err)
}

// after makes the database do what a statement says for each row that the event changes.
func (db rawDatabase) after(event, table, does string) {
	db.t.Helper()
	if name := event + "_" + table; db.sqlite {
		db.exec("CREATE TRIGGER after_" + name + " AFTER " + event + " ON " + table + " BEGIN " + does + "; END")
	} else {
		db.exec("CREATE FUNCTION does_" + name + "() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN " + does + "; RETURN NULL; END $$")
		db.exec("CREATE TRIGGER after_" + name + " AFTER " + event + " ON " + table + " FOR EACH ROW EXECUTE FUNCTION does_" + name + "()")
	}
}

// A document that is changed while its versions are deleted is deleted with them.
func testDeleteLargeVersions(t *testing.T, url string) {
	s, db := open(t, url), openRaw(t, url)
	const owner = "ann"
	id := fill(t, s, owner, 1)
	for revision := range 3 {
		db.exec(fmt.Sprintf(`INSERT INTO document_versions (owner, document_id, revision, title, reason, blocks, content, size, created_at)
			VALUES ('%s', '%s', %d, 'Large', 'edited', 0, '[]', %d, 1)`, owner, id, 1000+revision, 15<<20))
	}
	db.after("DELETE", "document_versions", "UPDATE documents SET revision = revision + 1000 WHERE id = OLD.document_id")
	d, err := s.Document(t.Context(), owner, id)
	must(t, err)
	must(t, s.DeleteDocument(t.Context(), owner, id, record.Match{d.Revision}))
	if _, err := s.Document(t.Context(), owner, id); !errors.Is(err, schemas.ErrNotFound) {
		t.Errorf("the deleted document is %v, want not found", err)
	}
}

func testRowsWritten(t *testing.T, url string) {
	s := open(t, url)
	const owner = "ann"
	id := fill(t, s, owner, largeDocument)
	var d schemas.Document
	took := time.Hour
	for range openTries { // the machine may be busy
		began := time.Now()
		var err error
		d, err = s.Document(t.Context(), owner, id)
		took = min(took, time.Since(began))
		must(t, err)
		if took <= openWithin*raceFactor {
			break
		}
	}
	equal(t, "blocks", len(d.Blocks), largeDocument)
	t.Logf("a document of %d blocks opens in %s", largeDocument, took)
	if took > openWithin*raceFactor {
		t.Errorf("a document of %d blocks opens in %s, want %s", largeDocument, took, openWithin*raceFactor)
	}
	rows := countRows(t, url)
	last, middle := d.Blocks[largeDocument-1].ID, d.Blocks[largeDocument/2].ID
	text := "text"
	for _, tt := range []struct {
		name string
		want int
		do   func() error
	}{
		{"move to the front", 1, func() error {
			_, err := s.PatchBlock(t.Context(), owner, last, schemas.BlockPatch{AfterBlockID: &front}, nil)
			return err
		}},
		{"move to the middle", 1, func() error {
			_, err := s.PatchBlock(t.Context(), owner, last, schemas.BlockPatch{AfterBlockID: &middle}, nil)
			return err
		}},
		{"the same again", 0, func() error {
			_, err := s.PatchBlock(t.Context(), owner, last, schemas.BlockPatch{AfterBlockID: &middle}, nil)
			return err
		}},
		{"proposed move", 1, func() error { _, err := s.ProposeMove(t.Context(), owner, id, last, &front); return err }},
		{"accept", 1, func() error { _, err := s.SettleBlock(t.Context(), owner, last, record.Accept, nil); return err }},
		{"accept of nothing", 0, func() error { _, err := s.SettleDocument(t.Context(), owner, id, record.Accept, nil); return err }},
		{"insert at the front", 1, func() error {
			_, err := s.AddBlock(t.Context(), owner, id, record.NewBlock{ID: newID(), Type: "md", After: &front}, nil)
			return err
		}},
		{"insert in the middle", 1, func() error {
			_, err := s.AddBlock(t.Context(), owner, id, record.NewBlock{ID: newID(), Type: "md", After: &middle}, nil)
			return err
		}},
		{"edit", 1, func() error {
			_, err := s.PatchBlock(t.Context(), owner, middle, schemas.BlockPatch{Content: &text}, nil)
			return err
		}},
		{"piece", 2, func() error { // and the block's previous new content
			_, err := s.WriteBlock(t.Context(), owner, id, record.BlockWrite{NewBlock: record.NewBlock{ID: middle}})
			must(t, err)
			return s.AppendBlock(t.Context(), owner, id, middle, "p")
		}},
		{"delete", 2, func() error { return s.DeleteBlock(t.Context(), owner, last, nil) }},
	} {
		if err := tt.do(); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		equal(t, "rows written: "+tt.name, rows(), tt.want)
	}
}

// testClosedDocuments asks for documents of a store that is closed.
func testClosedDocuments(t *testing.T, url string) {
	s, err := store.Open(t.Context(), url, store.Options{})
	must(t, err)
	scene := newFixture(t, s).scene("pending_edit")
	must(t, s.Close())
	for name, do := range blockOperations {
		fails(t, name, do(scene, scene.owner, nil), record.ErrUnavailable)
	}
	_, err = s.Document(t.Context(), scene.owner, scene.doc)
	fails(t, "document", err, record.ErrUnavailable)
	_, err = s.Documents(t.Context(), scene.owner, record.DocumentQuery{})
	fails(t, "documents", err, record.ErrUnavailable)
	_, err = s.CreateDocument(t.Context(), scene.owner, record.NewDocument{ID: newID()})
	fails(t, "create", err, record.ErrUnavailable)
	_, err = s.PlanDocument(t.Context(), scene.owner, scene.doc, record.Plan{})
	fails(t, "plan", err, record.ErrUnavailable)
}

// BenchmarkDocument opens and changes a document of many blocks.
func BenchmarkDocument(b *testing.B, fresh func(t testing.TB) string) {
	s := open(b, fresh(b))
	const owner = "ann"
	id := fill(b, s, owner, largeDocument)
	d, err := s.Document(b.Context(), owner, id)
	must(b, err)
	b.Run("open", func(b *testing.B) {
		for b.Loop() {
			_, err := s.Document(b.Context(), owner, id)
			must(b, err)
		}
	})
	b.Run("move", func(b *testing.B) {
		n := 0
		for b.Loop() {
			n++
			_, err := s.PatchBlock(b.Context(), owner, d.Blocks[n%1000].ID, schemas.BlockPatch{AfterBlockID: &d.Blocks[1000+n%997].ID}, nil)
			must(b, err)
		}
	})
}
