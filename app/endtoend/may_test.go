package endtoend

import (
	"net/http"
	"testing"

	"github.com/chattray/chattray/agents/modeltest/upstream"
	"github.com/chattray/chattray/app"
	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/schemas"
)

// Who may see diagnostics depends on the setting. GET /api/me says it, answers have
// diagnostics for those alone, and so does the run.
func TestWhoSeesDiagnostics(t *testing.T) {
	for _, tt := range []struct {
		setting string
		may     map[string]bool
	}{
		{"off", map[string]bool{"ada": false, "ann": false}},
		{"admin", map[string]bool{"ada": true, "ann": false}},
		{"all", map[string]bool{"ada": true, "ann": true}},
	} {
		for _, d := range apptest.Databases() {
			t.Run(tt.setting+"/"+d.Name, func(t *testing.T) {
				up := upstream.NewMemory()
				up.On(upstream.Any, upstream.Text("Hello."))
				c := apptest.ServeOn(t, d, app.Options{Models: up.Transport()}, apptest.Scripted("CHATTRAY_DIAGNOSTICS="+tt.setting))
				for user, want := range tt.may {
					if me := apptest.Decode[schemas.Me](t, c.Ask(user, http.MethodGet, "/api/me", "", nil)); me.May.Diagnostics != want {
						t.Errorf("GET /api/me tells %s %t, want %t", user, me.May.Diagnostics, want)
					}
					answer := apptest.Decode[schemas.ChatResponsePayload](t, c.Ask(user, http.MethodPost, "/api/chat", "", map[string]any{"message": "Hi"}))
					if got := answer.Diagnostics != nil; got != want {
						t.Errorf("the answer for %s has diagnostics: %t, want %t", user, got, want)
					}
					status := http.StatusForbidden
					if want {
						status = http.StatusOK
					}
					if got := c.Ask(user, http.MethodGet, "/api/chat/runs/"+answer.RunID+"/diagnostics", "", nil); got.Status != status {
						t.Errorf("the diagnostics of the run of %s: status %d, want %d", user, got.Status, status)
					}
				}
			})
		}
	}
}
