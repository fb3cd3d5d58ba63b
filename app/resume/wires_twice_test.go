package resume

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/chattray/chattray/agents/modeltest/upstream"
	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/schemas"
)

type object = map[string]any

// turn is a question with its answer, and the run of the answer.
type turn struct{ question, answer, run string }

// asking is how a client of each wire asks a question after these turns of its chat.
var asking = map[string]func(before []turn, question string) (path string, body object){
	"completions": func(before []turn, question string) (string, object) {
		var list []object
		for _, b := range before {
			list = append(list, object{"role": "user", "content": b.question}, object{"role": "assistant", "content": b.answer})
		}
		return "/v1/chat/completions", object{"model": "chattray/lab", "stream": true, "metadata": object{"chat_id": "key"}, "messages": append(list, object{"role": "user", "content": question})}
	},
	"responses": func(before []turn, question string) (string, object) {
		body := object{"model": "chattray/lab", "stream": true, "input": question}
		if body["metadata"] = (object{"chat_id": "key"}); len(before) > 0 {
			body["previous_response_id"] = responseOf(schemas.Run{RunID: before[len(before)-1].run})
		}
		return "/v1/responses", body
	},
	"ui": func(before []turn, question string) (string, object) {
		message := func(id, role, text string) object {
			return object{"id": id, "role": role, "parts": []object{{"type": "text", "text": text}}}
		}
		var list []object
		for _, b := range before {
			list = append(list, message("u-"+b.question, "user", b.question), message(b.run, "assistant", b.answer))
		}
		return "/api/ui", object{"id": "key", "messages": append(list, message("u-"+question, "user", question))}
	},
	"agui": func(before []turn, question string) (string, object) {
		message := func(id, role, text string) object { return object{"id": id, "role": role, "content": text} }
		var list []object
		for _, b := range before {
			list = append(list, message("u-"+b.question, "user", b.question), message(b.run, "assistant", b.answer))
		}
		return "/api/agui", object{"threadId": "key", "runId": "r", "messages": append(list, message("u-"+question, "user", question)), "tools": []object{}, "context": []object{}, "state": object{}}
	},
}

// TestARequestOfAWireSentTwice sends the same request several times while its answer is
// written: one is streaming when the others come, or all come at once. All follow one run,
// and the chat has the question once.
func TestARequestOfAWireSentTwice(t *testing.T) {
	t.Parallel()
	for wire, ask := range asking {
		for _, tt := range []struct {
			name     string
			before   int    // the turns of the chat
			known    int    // those that come before the question
			question string // that is sent
			chat     string // at the end
		}{
			{"first", 0, 0, "last", "last | one two"},
			{"next", 1, 1, "last", "first | answer | last | one two"},
			{"edit", 2, 1, "last", "first | answer | last | one two"},
			{"regenerate", 2, 1, "second", "first | answer | second | one two"},
		} {
			for _, together := range []bool{false, true} {
				name := wire + "/" + tt.name
				if together {
					name += "/at once"
				}
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					s := apptest.NewSystem(t, apptest.SQLite.Fresh(t))
					s.Start()
					gate := make(chan struct{})
					gated := upstream.Open(upstream.Say("one "), upstream.Wait(gate), upstream.Say("two"), upstream.Finish("stop"), upstream.Usage(10, 2), upstream.Done())
					s.Model.On(upstream.LastUser("first"), upstream.Text("answer"))
					s.Model.On(upstream.LastUser("second"), upstream.Text("answer"), gated)
					s.Model.On(upstream.LastUser("last"), gated)
					var had []turn
					for _, question := range []string{"first", "second"}[:tt.before] {
						path, body := ask(had, question)
						resp := s.Send(t, http.MethodPost, path, body)
						readLines(t, resp.Body, endOfWire[wire])
						had = append(had, turn{question, "answer", resp.Header.Get("X-Run-Id")})
					}
					path, body := ask(had[:tt.known], tt.question)
					body["runId"] = "again" // only AG-UI reads it
					all := make([]*http.Response, 4)
					send := func(i int) { all[i] = s.Send(t, http.MethodPost, path, body) }
					var group sync.WaitGroup
					for i := range all {
						if i == 0 && !together {
							send(i)
							readLines(t, all[i].Body, "one ")
							continue
						}
						group.Go(func() { send(i) })
					}
					group.Wait()
					close(gate)
					for i, resp := range all {
						if got, want := resp.Header.Get("X-Run-Id"), all[0].Header.Get("X-Run-Id"); resp.StatusCode != http.StatusOK || got != want {
							t.Errorf("the request is answered with %d by the run %q, want %q", resp.StatusCode, got, want)
							continue
						}
						readLines(t, all[i].Body, endOfWire[wire])
					}
					if got := strings.Join(textsOf(t, s), " | "); got != tt.chat {
						t.Errorf("the chat has %q, want %q", got, tt.chat)
					}
				})
			}
		}
	}
}

// endOfWire is in the last event of an answer.
var endOfWire = map[string]string{"completions": "[DONE]", "responses": `"type":"response.completed"`, "ui": "[DONE]", "agui": `"type":"RUN_FINISHED"`}
