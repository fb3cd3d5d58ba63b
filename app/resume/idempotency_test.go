package resume

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/chattray/chattray/app"
	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/schemas"
)

// atOnce is how many simultaneous requests have one key.
const atOnce = 16

// Simultaneous requests with one Idempotency-Key start one run, also if the
// user may have only one.
func TestConcurrentRequestsWithOneKey(t *testing.T) {
	apptest.OnDatabases(t, func(t *testing.T, system *apptest.System) {
		at := slices.Index(system.Settings, "MAX_RUNS_PER_USER=0")
		system.Settings[at] = "MAX_RUNS_PER_USER=1"
		system.ServeHere(app.Options{})
		c := system.NewConversation("chat", "reject")
		system.Script(c.Question, c.Turns, nil)
		var answers [atOnce]schemas.ChatResponsePayload
		var group sync.WaitGroup
		for i := range answers {
			group.Go(func() {
				resp, err := system.Request(t.Context(), http.MethodPost, "/api/chat", c.Body, "Idempotency-Key", c.Key)
				if err != nil {
					t.Error(err)
					return
				}
				defer resp.Body.Close()
				if err := json.NewDecoder(resp.Body).Decode(&answers[i]); err != nil || resp.StatusCode != http.StatusOK {
					t.Errorf("status %d, %v, want 200", resp.StatusCode, err)
				}
			})
		}
		group.Wait()
		for _, a := range answers {
			if a.RunID == "" || a.RunID != answers[0].RunID {
				t.Errorf("run %q, want %q", a.RunID, answers[0].RunID)
			}
		}
	})
}

// A client that sends a request again whose message has an id finds its run, also if another
// request would be refused: the message that it edits is replaced, the user has as many runs as
// are allowed, or its run writes into the block.
func TestARequestWithAMessageIDSentAgain(t *testing.T) {
	apptest.OnDatabases(t, func(t *testing.T, system *apptest.System) {
		at := slices.Index(system.Settings, "MAX_RUNS_PER_USER=0")
		system.Settings[at] = "MAX_RUNS_PER_USER=1"
		system.ServeHere(app.Options{})
		write := map[string]any{"current_page": "document", "document_id": "doc", "block_ids": "block", "mode": "chat"}
		placed := map[string]any{"current_page": "document", "block_ids": "block"} // the service finds the document
		for _, tt := range []struct {
			name string
			body map[string]any
		}{
			{"edited", map[string]any{}},
			{"edit", map[string]any{"edit_message_id": "edited"}},
			{"written", map[string]any{"context": write}},
			{"instead", map[string]any{"context": write, "if_busy": "cancel"}},
			{"placed", map[string]any{"context": placed}},
			{"placed_instead", map[string]any{"context": placed, "if_busy": "cancel"}},
		} {
			gate := make(chan struct{})
			c := system.Gated("chat", "reject", gate)
			c.Key, c.Body["message_id"] = "", tt.name
			maps.Copy(c.Body, tt.body)
			done := c.Start(t)
			apptest.Eventually(t, "the question is accepted", c.Accepted.Load)
			again := func(when string) {
				resp := system.Send(t, http.MethodPost, "/api/chat/stream", c.Body)
				if resp.StatusCode != http.StatusOK {
					t.Errorf("%s, sent again %s: status %d, %s, want 200", tt.name, when, resp.StatusCode, apptest.JSON(apptest.ReadProblem(t, resp)))
				} else if id := resp.Header.Get("X-Run-Id"); id != c.RunID {
					t.Errorf("%s, sent again %s: run %s, want %s", tt.name, when, id, c.RunID)
				}
			}
			again("during its run")
			close(gate)
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			again("afterwards")
			if last := c.Frames[len(c.Frames)-1].Event.Type; last != schemas.TypeComplete {
				t.Errorf("%s ends with %s, want complete", tt.name, last)
			}
		}
	})
}
