package endtoend

import (
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chattray/chattray/agents/modeltest/upstream"
	"github.com/chattray/chattray/app"
	"github.com/chattray/chattray/app/apptest"
)

// A question that is edited while it waits for its turn is not asked any more: the model sees
// only its newest version, and the reader of the old one sees that it has ended. The same
// request again, of a client that lost its connection and has no key, is such an edit.
func TestQuestionEditedInTheQueue(t *testing.T) {
	for _, d := range apptest.Databases() {
		t.Run(d.Name, func(t *testing.T) {
			up := upstream.NewMemory()
			c := apptest.ServeOn(t, d, app.Options{Models: up.Transport()}, apptest.Scripted())
			asked, gate := make(chan struct{}, 1), make(chan struct{})
			up.On(upstream.LastUser("Busy?"), upstream.Open(upstream.Signal(asked), upstream.Wait(gate), upstream.Say("Not now."), upstream.Finish("stop"), upstream.Done()))
			up.On(upstream.Any, upstream.Text("Done."))
			type object = map[string]any
			again := object{"id": "one", "trigger": "regenerate-message", "messageId": "q1", "messages": []object{
				{"id": "q1", "role": "user", "parts": []object{{"type": "text", "text": "Which ones?"}}},
			}}
			c.Must(http.MethodPost, "/api/ui", object{"id": "one", "messages": again["messages"]})
			open := func(path string, body object) *http.Response { // returns when the run is stored
				answer := c.Open(http.MethodPost, path, body)
				t.Cleanup(func() { answer.Body.Close() })
				return answer
			}
			ask := func(body object) *http.Response {
				body["chat_id"], body["if_busy"] = "one", "queue"
				return open("/api/chat/stream", body)
			}
			ask(object{"message": "Busy?"})
			<-asked
			streams := []*http.Response{
				open("/api/ui?if_busy=queue", again),
				open("/api/ui?if_busy=queue", again),
				ask(object{"message": "Order 2.", "message_id": "order"}),
				ask(object{"message": "Order 3.", "edit_message_id": "order"}),
			}
			close(gate)
			for i, want := range []string{`"type":"abort"`, `"type":"finish"`, `"type":"cancelled"`, `"type":"complete"`} {
				body, err := io.ReadAll(streams[i].Body)
				if err != nil || !strings.Contains(string(body), want) {
					t.Errorf("stream %d (%v) has no %s:\n%s", i, err, want, body)
				}
			}
			var questions []string
			for _, r := range up.Requests() {
				questions = append(questions, r.Last("user").Text())
			}
			if want := []string{"Which ones?", "Busy?", "Which ones?", "Order 3."}; !slices.Equal(questions, want) {
				t.Errorf("the model was asked %q, want %q", questions, want)
			}
		})
	}
}

// A question that cancels what is under way cancels the questions that wait as well: the
// model is not asked them in between. Those whose answers go to one block also wait for it.
func TestQuestionInsteadOfTheQueue(t *testing.T) {
	for i := range 20 { // it depends on who is first
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			page := map[string]any{}
			if i%2 == 1 {
				page = map[string]any{"document_id": "d", "block_ids": "b", "mode": "chat"}
			}
			up := upstream.NewMemory()
			c := apptest.ServeOn(t, apptest.Databases()[0], app.Options{Models: up.Transport()}, apptest.Scripted())
			asked := make(chan struct{})
			up.Push(upstream.Open(upstream.Signal(asked), upstream.Hang()))
			up.On(upstream.Any, upstream.Text("Done."))
			ask := func(message, ifBusy string) *http.Response { // returns when the run is stored
				answer := c.Open(http.MethodPost, "/api/chat/stream", map[string]any{"chat_id": "one", "message": message, "if_busy": ifBusy, "context": page})
				t.Cleanup(func() { answer.Body.Close() })
				return answer
			}
			streams := []*http.Response{ask("Busy?", "queue")}
			<-asked
			streams = append(streams, ask("Order 2.", "queue"), ask("Order 3.", "queue"), ask("Order 4.", "cancel"))
			for i, want := range []string{`"type":"cancelled"`, `"type":"cancelled"`, `"type":"cancelled"`, `"type":"complete"`} {
				if body, err := io.ReadAll(streams[i].Body); err != nil || !strings.Contains(string(body), want) {
					t.Errorf("stream %d (%v) has no %s:\n%s", i, err, want, body)
				}
			}
			if r := up.Requests()[1]; !strings.HasSuffix(r.Last("user").Text(), "Order 4.") {
				t.Errorf("the model was asked %q before the last question", r.Last("user").Text())
			}
		})
	}
}
