package crash

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/schemas"
)

// One reply of the model waits for several answers when the program is killed: two
// approvals and a tool of the page. All of them still wait after each start, also beside
// one that was answered before the kill, and each call has its effect once.
func TestKilledWithSeveralWaits(t *testing.T) {
	apptest.OnDatabases(t, func(t *testing.T, system *apptest.System) {
		system.Start()
		system.Script("all three", []apptest.Turn{
			{Text: "I ask.", Calls: []apptest.ToolCall{{Tool: "order", Key: "one"}, {Tool: "order", Key: "two"}, {Tool: "pick", Key: "three"}}},
			{Text: "That is all."},
		}, nil)
		run := system.Send(t, http.MethodPost, "/api/chat/stream", map[string]any{
			"message": "all three", "context": map[string]any{"current_page": "lab"},
			"client_tools": []any{map[string]any{"name": "pick", "description": "Pick a row.", "input_schema": map[string]any{"type": "object"}}},
		}).Header.Get("X-Run-Id")
		path := "/api/chat/runs/" + run

		open := awaitWaits(t, system, run, 3)
		system.Restart()
		if again := awaitWaits(t, system, run, 3); !slices.Equal(names(again), names(open)) {
			t.Errorf("after the kill %q wait, want %q", names(again), names(open))
		}
		answer := func(method, path string, body any) {
			t.Helper()
			if resp := system.Send(t, method, path, body); resp.StatusCode != http.StatusOK {
				t.Errorf("%s %s: status %d, want 200", method, path, resp.StatusCode)
			}
		}
		answer(http.MethodPost, path+"/tool_results", schemas.ClientToolResult{ToolUseID: open[2].ToolUseID, Output: json.RawMessage(`"the third row"`)})
		system.Restart()
		open = awaitWaits(t, system, run, 2)
		for _, w := range open {
			answer(http.MethodPost, path+"/approvals/"+w.ApprovalID, schemas.ApprovalAnswer{Approved: true})
		}

		log, err := apptest.NewStreamReader(system.Send(t, http.MethodGet, path+"/stream", nil).Body).Rest()
		if err != nil {
			t.Fatal(err)
		}
		last := log[len(log)-1].Event
		if last.Payload == nil || len(last.Payload.ToolHistory) != 3 || !strings.Contains(last.Payload.Message, "That is all.") {
			t.Errorf("the run ends with %+v, want the answer with its three calls", last)
		}
		for _, key := range []string{"one", "two"} {
			if got := len(system.ToolCalls(key)); got != 1 {
				t.Errorf("the tool ran %d times for %s, want once", got, key)
			}
		}
		told := system.ModelCalls("all three")[1].Told
		if len(told) != 3 || !strings.Contains(told[0], "book of one") || !strings.Contains(told[1], "book of two") || told[2] != "the third row" {
			t.Errorf("the model was told %q, want the outcome of each call", told)
		}
	})
}

// awaitWaits returns the calls of a run that wait and have no answer, once there are so many.
func awaitWaits(t *testing.T, system *apptest.System, run string, count int) (open []schemas.Wait) {
	t.Helper()
	apptest.Eventually(t, "the calls wait", func() bool {
		var list struct{ Items []schemas.Wait }
		if _, err := system.Call(t.Context(), http.MethodGet, "/api/chat/runs/"+run+"/waits", &list); err != nil {
			return false
		}
		open = slices.DeleteFunc(list.Items, func(w schemas.Wait) bool { return w.AnsweredAt != nil })
		return len(open) == count
	})
	return open
}

func names(waits []schemas.Wait) (list []string) {
	for _, w := range waits {
		list = append(list, w.ApprovalID+w.ToolUseID)
	}
	return list
}
