package store_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chattray/chattray/store"
	"github.com/chattray/chattray/store/storetest"
)

// A list of a document's versions does not read their contents.
func TestSQLiteVersionsPlan(t *testing.T) {
	s, err := store.Open(t.Context(), storetest.FreshSQLite(t), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if err := s.Fill("INSERT INTO documents (owner, id, title, created_at) VALUES ('u', 'd', '', 0)"); err != nil {
		t.Fatal(err)
	}
	var statements []string
	if err := s.OnRead(func(statement string) { statements = append(statements, statement) }); err != nil {
		t.Fatal(err)
	}
	if _, err := s.DocumentVersions(t.Context(), "u", "d"); err != nil || len(statements) != 2 {
		t.Fatalf("got the statements %q, %v, want two", statements, err)
	}
	plan, err := s.Plan("EXPLAIN QUERY PLAN ", statements[1])
	if err != nil || !strings.Contains(fmt.Sprint(plan), "USING COVERING INDEX document_versions_list") {
		t.Errorf("got the plan %v, %v, want it along the index of versions", plan, err)
	}
}
