package store_test

import (
	"testing"

	"github.com/chattray/chattray/store"
	"github.com/chattray/chattray/store/storetest"
)

// A process takes no run of a newer release that has written what it cannot read.
func TestTakeOfANewerRelease(t *testing.T) {
	s, err := store.Open(t.Context(), storetest.FreshSQLite(t), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	err = s.Fill(
		`INSERT INTO chats (id, owner, key, title, created_at, updated_at) VALUES (1, 'u', 'one', '', 0, 0)`,
		`INSERT INTO runs (id, chat_id, owner, owner_name, owner_roles, state, attempt, request, user_message_id, message_id, created_at, place, replica, format)
			VALUES ('ours', 1, 'u', '', '[]', 'running', 1, X'', 'q', 'a', 1, 1, 'gone', 1), ('newer', 1, 'u', '', '[]', 'running', 1, X'', 'q', 'a', 1, 2, 'gone', 2)`,
	)
	if err != nil {
		t.Fatal(err)
	}
	for _, from := range [][]string{{"gone"}, nil} {
		taken, err := s.Take(t.Context(), from, "here")
		if err != nil {
			t.Fatal(err)
		}
		for _, run := range taken {
			if run.ID != "ours" {
				t.Errorf("the run %s was taken from %v", run.ID, from)
			}
		}
		if from != nil && len(taken) != 1 {
			t.Errorf("%d runs were taken, want ours", len(taken))
		}
	}
}
