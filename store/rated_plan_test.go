package store_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/store"
	"github.com/chattray/chattray/store/storetest"
)

// testRatedPlan checks that an export of a few ratings does not read all messages.
func testRatedPlan(t *testing.T, url, explain string) {
	s, err := store.Open(t.Context(), url, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	numbers := "generate_series(1, 5000) AS s(i)"
	if strings.HasPrefix(url, "sqlite:") {
		numbers = "(WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < 5000) SELECT i FROM s)"
	}
	if err := s.Fill(
		`INSERT INTO chats (owner, key, title, created_at, updated_at) VALUES ('x', 'x', '', 0, 0)`,
		`INSERT INTO blocks (seq, owner, id, chat_id, role, type, current, created_at, feedback) SELECT i, 'x', 'm' || CAST(i AS TEXT), (SELECT MAX(id) FROM chats),
			'assistant', 'md', 'text', i, CASE WHEN i % 500 = 0 THEN '{"rating":"up"}' END FROM `+numbers,
		"ANALYZE",
	); err != nil {
		t.Fatal(err)
	}
	var statements []string
	if err := s.OnRead(func(statement string) { statements = append(statements, statement) }); err != nil {
		t.Fatal(err)
	}
	list, err := s.RatedAnswers(t.Context(), record.RatedQuery{After: 600})
	if err != nil || len(list) != 9 || len(statements) != 1 {
		t.Fatalf("got %d answers with the statements %q, %v, want 9 with one", len(list), statements, err)
	}
	plan, err := s.Plan(explain, statements[0])
	if err != nil || !strings.Contains(fmt.Sprint(plan), "blocks_rated") {
		t.Errorf("got the plan %v, %v, want it along the index of ratings", plan, err)
	}
}

func TestSQLiteRatedPlan(t *testing.T) {
	testRatedPlan(t, storetest.FreshSQLite(t), "EXPLAIN QUERY PLAN ")
}

func TestPostgresRatedPlan(t *testing.T) {
	postgresURL(t)
	testRatedPlan(t, freshPostgres(t), "EXPLAIN ")
}
