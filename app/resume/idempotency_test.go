package resume

import (
	"encoding/json"
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
