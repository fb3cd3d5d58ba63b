package endtoend

import (
	"database/sql"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/chattray/chattray/agents/modeltest/upstream"
	"github.com/chattray/chattray/app"
	"github.com/chattray/chattray/app/apptest"
)

// A chat that is deleted between the end of its answer and the storing of that end, as by
// another process, leaves nobody without an end: neither the reader of the answer nor that
// of the question which waits for it.
func TestChatDeletedUnderItsAnswer(t *testing.T) {
	for _, d := range apptest.Databases() {
		t.Run(d.Name, func(t *testing.T) {
			up, url := upstream.NewMemory(), d.Fresh(t)
			fixed := apptest.Database{Name: d.Name, Fresh: func(testing.TB) string { return url }}
			c := apptest.ServeOn(t, fixed, app.Options{Models: up.Transport()}, apptest.Scripted())
			db, asked, gate := apptest.Open(t, url), make(chan struct{}, 1), make(chan struct{})
			up.Push(upstream.Open(upstream.Say("Half an "), upstream.Signal(asked), upstream.Wait(gate), upstream.Say("answer"), upstream.Finish("stop"), upstream.Done()))
			ask := func(text string) *http.Response { // returns when the answer is being read
				answer := c.Open(http.MethodPost, "/api/chat/stream", map[string]any{"message": text, "chat_id": "one", "if_busy": "queue"})
				t.Cleanup(func() { answer.Body.Close() })
				return answer
			}
			streams := []*http.Response{ask("first?"), ask("second?")}
			<-asked
			count := func(statement string) (n int) {
				if err := db.QueryRowContext(t.Context(), statement).Scan(&n); err != nil {
					t.Fatal(err)
				}
				return n
			}
			apptest.Eventually(t, "the second question waits", func() bool { return count("SELECT COUNT(*) FROM runs WHERE state = 'queued'") == 1 })
			deleteChats(t, db)
			close(gate)
			for _, stream := range streams {
				body, err := io.ReadAll(stream.Body)
				if err != nil {
					t.Error(err)
				}
				if got := string(body); strings.Count(got, `"type":"cancelled"`) != 1 || strings.Contains(got, "interrupted") {
					t.Errorf("the stream is\n%s\nwant that it ends as cancelled", got)
				}
			}
		})
	}
}

// A chat is deleted under a question that begins in it at this moment, as by another process, and
// whose answer then only waits for the user or the page. Its reader is not left waiting with it.
func TestChatDeletedUnderAWaitingCall(t *testing.T) {
	for _, d := range apptest.Databases() {
		t.Run(d.Name, func(t *testing.T) {
			up, url := upstream.NewMemory(), d.Fresh(t)
			fixed := apptest.Database{Name: d.Name, Fresh: func(testing.TB) string { return url }}
			c := apptest.ServeOn(t, fixed, app.Options{Models: up.Transport()}, apptest.Scripted())
			db := apptest.Open(t, url)
			up.Push(upstream.Stream(upstream.Call(0, "call_1", "measure", `{}`), upstream.Finish("tool_calls")))
			tool := map[string]any{"name": "measure", "description": "Measures the page.", "input_schema": map[string]any{"type": "object"}}
			stream := c.Open(http.MethodPost, "/api/chat/stream", map[string]any{"message": "How long?", "client_tools": []any{tool}})
			defer stream.Body.Close()
			apptest.Eventually(t, "the call waits", func() bool {
				n := 0
				if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM waits").Scan(&n); err != nil {
					t.Fatal(err)
				}
				return n == 1
			})
			deleteChats(t, db)
			body, err := io.ReadAll(stream.Body)
			if got := string(body); err != nil || strings.Count(got, `"type":"cancelled"`) != 1 {
				t.Errorf("the stream is\n%s\n%v, want that it ends as cancelled", got, err)
			}
		})
	}
}

// deleteChats deletes all chats, as another process does.
func deleteChats(t *testing.T, db *sql.DB) {
	t.Helper()
	for _, statement := range []string{"DELETE FROM blocks", "DELETE FROM runs", "DELETE FROM chats"} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
}
