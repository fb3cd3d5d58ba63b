package resume

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/chattray/chattray/agents/modeltest/upstream"
	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/schemas"
)

// fiveWords is an answer whose fourth word waits for a gate.
const fiveWords = "one two three four five"

// TestResponsesAgainAfterAKill kills the program in the middle of an answer in a chat that
// has earlier ones. A client of the Responses API that has seen no id of the answer sends
// its request again, and gets the answer of the run that continues.
func TestResponsesAgainAfterAKill(t *testing.T) {
	t.Parallel()
	said := func(role, id, text string) object { return object{"role": role, "id": id, "content": text} }
	for _, tt := range []struct {
		name string
		ask  func(first, second schemas.Run) object // the request
		want []string                               // what the chat has at the end
	}{
		{"next", func(_, second schemas.Run) object {
			return object{"input": []object{said("user", "", "first"), said("user", "", "second"), said("assistant", itemOf(second), "answer"), said("user", "", "last")}}
		}, []string{"first", "answer", "second", "answer", "last", fiveWords}},
		{"edit", func(first, _ schemas.Run) object {
			return object{"input": []object{said("user", "", "first"), said("assistant", itemOf(first), "answer"), said("user", "", "last")}}
		}, []string{"first", "answer", "last", fiveWords}},
		{"regenerate", func(first, _ schemas.Run) object {
			return object{"input": []object{said("user", "", "first"), said("assistant", itemOf(first), "answer"), said("user", "", "second")}}
		}, []string{"first", "answer", "second", fiveWords}},
		{"previous_response_id", func(first, _ schemas.Run) object {
			return object{"input": "last", "previous_response_id": responseOf(first)}
		}, []string{"first", "answer", "last", fiveWords}},
		{"chat_id", func(schemas.Run, schemas.Run) object {
			return object{"input": "last", "metadata": object{"chat_id": "key"}}
		}, []string{"first", "answer", "second", "answer", "last", fiveWords}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := apptest.NewSystem(t, apptest.SQLite.Fresh(t))
			s.Start()
			gate := make(chan struct{})
			words := strings.SplitAfter(fiveWords, " ")
			gated := upstream.Open(upstream.Say(words[:3]...), upstream.Wait(gate), upstream.Say(words[3:]...), upstream.Finish("stop"), upstream.Usage(10, 2), upstream.Done())
			s.Model.On(upstream.LastUser("first"), upstream.Text("answer"))
			s.Model.On(upstream.LastUser("second"), upstream.Text("answer"), gated)
			s.Model.On(upstream.LastUser("last"), gated)

			post := func(body object) *http.Response {
				resp := s.Send(t, http.MethodPost, "/v1/responses", body)
				if resp.StatusCode != http.StatusOK {
					text, _ := io.ReadAll(resp.Body)
					t.Fatalf("the request is answered with %d %s", resp.StatusCode, text)
				}
				return resp
			}
			answered := func(body object) schemas.Run {
				resp := post(body)
				_, _ = io.Copy(io.Discard, resp.Body)
				return schemas.Run{RunID: resp.Header.Get("X-Run-Id")}
			}
			first := answered(object{"model": "chattray/lab", "input": "first", "metadata": object{"chat_id": "key"}})
			second := answered(object{"model": "chattray/lab", "input": "second", "previous_response_id": responseOf(first)})

			body := tt.ask(first, second)
			body["model"], body["stream"] = "chattray/lab", true
			before := post(body)
			readLines(t, before.Body, "three")
			s.Restart()
			again := post(body)
			if got, want := again.Header.Get("X-Run-Id"), before.Header.Get("X-Run-Id"); got != want {
				t.Errorf("the request sent again is answered by the run %s, want %s", got, want)
			}
			close(gate)
			readLines(t, again.Body, `"type":"response.completed"`)
			if got := strings.Join(textsOf(t, s), " | "); got != strings.Join(tt.want, " | ") {
				t.Errorf("the chat has %q, want %q", got, tt.want)
			}
		})
	}
}

// responseOf is the id of the response that is a whole run.
func responseOf(r schemas.Run) string { return "resp_" + strings.ReplaceAll(r.RunID, "-", "") + "_0" }

// itemOf is the id of an item of a run.
func itemOf(r schemas.Run) string { return "msg_" + strings.ReplaceAll(r.RunID, "-", "") + "_1" }

// readLines reads a stream up to a line that has the text.
func readLines(t *testing.T, body io.Reader, text string) {
	t.Helper()
	for r := bufio.NewReader(body); ; {
		line, err := r.ReadString('\n')
		if strings.Contains(line, text) {
			return
		}
		if err != nil {
			t.Fatalf("the stream ends with %v, want %s", err, text)
		}
	}
}

// textsOf returns the texts of the only chat.
func textsOf(t *testing.T, s *apptest.System) (list []string) {
	t.Helper()
	var chat schemas.Chat
	if _, err := s.Call(t.Context(), http.MethodGet, "/api/chats/1", &chat); err != nil {
		t.Fatal(err)
	}
	for _, m := range chat.Messages {
		list = append(list, m.Content)
	}
	return list
}
