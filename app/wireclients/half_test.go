//go:build wireclients

package wireclients

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chattray/chattray/agents/modeltest/upstream"
	"github.com/chattray/chattray/app/apptest"
)

// TestHalfReply ends a run while the model writes a call of the page's tool: by a model's
// server that breaks off, and by a stop. The client shows that the call has failed, does not
// run the tool, and asks the next question.
func TestHalfReply(t *testing.T) {
	clients := map[string][]string{"ai 5": {"ui.mjs", "5"}, "ai 6": {"ui.mjs", "6"}, "ai 7": {"ui.mjs", "7"}}
	maps.Copy(clients, drivers)
	for client, driver := range clients {
		for name, end := range map[string]upstream.Part{"halfError": upstream.Abort(), "halfStop": upstream.Hang()} {
			t.Run(client+"/"+name, func(t *testing.T) {
				t.Parallel()
				s := apptest.NewSystem(t, apptest.SQLite.Fresh(t))
				start(t, s)
				asks := func(question string) upstream.Match {
					return func(r upstream.Request) bool { return strings.HasSuffix(r.Last("user").Text(), question) }
				}
				s.Model.On(asks(name), upstream.Open(upstream.Say("look"), upstream.Call(0, "c", "where", "{}"), end))
				s.Model.On(asks("next"), upstream.Text("fine"))
				shown, stored := hostOf(t, driver[0]).run(t, driver[1], s.URL(t), name, "", func(string) {})
				want := []string{"user: " + name, "assistant: look <where failed>", "user: next", "assistant: fine"}
				if diff := cmp.Diff(want, trimmed(shown)); diff != "" {
					t.Errorf("the client shows (-want +got):\n%s", diff)
				}
				want[1] = "assistant: look"
				if diff := cmp.Diff(want, trimmed(stored)); diff != "" {
					t.Errorf("the chat has (-want +got):\n%s", diff)
				}
			})
		}
	}
}
