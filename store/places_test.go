package store_test

import (
	"encoding/base64"
	"testing"

	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/store"
	"github.com/chattray/chattray/store/storetest"
)

// testStoredPlaces reads messages of an older release, which have no turn, also on from its
// cursors.
func testStoredPlaces(t *testing.T, url string) {
	s, err := store.Open(t.Context(), url, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if err := s.Fill(
		`INSERT INTO chats (owner, key, title, created_at, updated_at) VALUES ('x', 'x', '', 0, 0)`,
		`INSERT INTO blocks (seq, owner, id, chat_id, role, type, current, created_at, status) SELECT column1, 'x', column2, (SELECT MAX(id) FROM chats), column3, 'md', column2, 1, 'complete'
			FROM (VALUES (1, 'q1', 'user'), (2, 'a1', 'assistant'), (3, 'q2', 'user'), (4, 'q3', 'user')) v`,
	); err != nil {
		t.Fatal(err)
	}
	for cursor, want := range map[string]string{"": "q1 a1 q2 q3 ", "m.3": "q1 a1 ", "m.2": "q1 "} {
		q := record.MessageQuery{Cursor: base64.RawURLEncoding.EncodeToString([]byte(cursor))}
		list, next, err := s.Messages(t.Context(), "x", 1, q)
		got := ""
		for i := range list {
			got += list[i].Content + " "
		}
		if err != nil || got != want || next != "" {
			t.Errorf("got %s, %q, %v before %q, want %s", got, next, err, cursor, want)
		}
	}
}

func TestSQLiteStoredPlaces(t *testing.T) { testStoredPlaces(t, storetest.FreshSQLite(t)) }

func TestPostgresStoredPlaces(t *testing.T) {
	postgresURL(t)
	testStoredPlaces(t, freshPostgres(t))
}
