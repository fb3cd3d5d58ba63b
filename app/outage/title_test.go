package outage

import (
	"net/http"
	"strings"
	"testing"

	"github.com/chattray/chattray/agents/modeltest/upstream"
	"github.com/chattray/chattray/app"
	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/services/runs"
)

// The database is away for long during the first answer of a chat, which a later attempt ends:
// the model names the chat.
func TestOutageDuringTheFirstAnswer(t *testing.T) {
	for _, d := range apptest.Databases() {
		t.Run(d.Name, func(t *testing.T) {
			t.Parallel()
			url, o := breakable(t, d)
			system := apptest.NewSystem(t, url)
			system.Settings = append(system.Settings, "TITLES=model")
			names := upstream.Match(func(r upstream.Request) bool { return strings.Contains(r.Last("user").Text(), "Assistant: ") })
			system.Model.On(names, upstream.Text("Its name"))
			system.ServeHere(app.Options{Runs: func(r *runs.Options) {
				r.Hold = shortHold
				o.options(r)
			}})
			c := system.NewConversation("chat", "reject")
			c.Patient, c.Steady = true, true
			system.OnPhase("the model ends", o.begin)
			done := c.Start(t)
			untilGivenUp(t, c, done)
			o.end()
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			apptest.Eventually(t, "the model has named the chat", func() bool {
				var list schemas.ChatList
				status, err := system.Call(t.Context(), http.MethodGet, "/api/chats", &list)
				return err == nil && status == http.StatusOK && len(list.Items) == 1 && list.Items[0].Title == "Its name"
			})
		})
	}
}
