package store_test

import (
	"encoding/base64"
	"testing"
	"time"

	"github.com/chattray/chattray/schemas"
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

// testMovedPlaces goes on with a queue of which an older release has begun the first run: its
// question was moved after those that wait.
func testMovedPlaces(t *testing.T, url string) {
	s, err := store.Open(t.Context(), url, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	commit := func(writes ...*record.Write) {
		t.Helper()
		if err := s.Commit(t.Context(), writes); err != nil {
			t.Fatal(err)
		}
		for _, w := range writes {
			if w.Err != nil {
				t.Fatal(w.Err)
			}
		}
	}
	answer := func(n string) {
		t.Helper()
		now := time.Now()
		commit(&record.Write{RunID: "r" + n, Attempt: 1, Finish: &record.Finish{State: schemas.RunCompleted, EndedAt: now, Message: &schemas.Message{
			ID: "a" + n, Role: "assistant", Content: "a" + n, Status: schemas.MessageComplete, CreatedAt: now, RunID: "r" + n,
		}}})
	}
	begin := func(n string) {
		t.Helper()
		if err := s.BeginAttempt(t.Context(), "r"+n, 1, ""); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range []string{"1", "2", "3", "4"} {
		now := time.Now()
		commit(&record.Write{RunID: "r" + n, Attempt: 1, Begin: &record.Begin{
			ChatKey: "x", Queue: true,
			Run:         record.Run{ID: "r" + n, Owner: schemas.User{ID: "x"}, Request: []byte("{}"), UserMessageID: "q" + n, MessageID: "a" + n, CreatedAt: now},
			UserMessage: &record.UserMessage{Message: schemas.Message{ID: "q" + n, Role: "user", Content: "q" + n, Status: schemas.MessageComplete, CreatedAt: now}},
		}})
	}
	answer("1")
	begin("2")
	if err := s.Fill(
		"UPDATE blocks SET seq = -4 WHERE id = 'q1'", "UPDATE blocks SET seq = -3 WHERE id = 'q3'", "UPDATE blocks SET seq = -2 WHERE id = 'q4'",
		"UPDATE blocks SET seq = -1, turn = NULL WHERE id = 'a1'",
	); err != nil {
		t.Fatal(err)
	}
	answer("2")
	begin("3")
	answer("3")
	begin("4")
	answer("4")
	list, _, err := s.Messages(t.Context(), "x", 1, record.MessageQuery{})
	got := ""
	for i := range list {
		got += list[i].Content + " "
	}
	if want := "q1 a1 q2 a2 q3 a3 q4 a4 "; err != nil || got != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}

func TestSQLiteMovedPlaces(t *testing.T) { testMovedPlaces(t, storetest.FreshSQLite(t)) }

func TestPostgresMovedPlaces(t *testing.T) {
	postgresURL(t)
	testMovedPlaces(t, freshPostgres(t))
}

func TestSQLiteStoredPlaces(t *testing.T) { testStoredPlaces(t, storetest.FreshSQLite(t)) }

func TestPostgresStoredPlaces(t *testing.T) {
	postgresURL(t)
	testStoredPlaces(t, freshPostgres(t))
}
