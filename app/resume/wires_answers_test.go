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

// answering is how a client of each wire asks a question and answers the call of the run
// that it began, with another question.
var answering = map[string]struct {
	path   string
	ask    func() object
	answer func(run string) object
}{
	"agui": {"/api/agui", func() object { return aguiBody("first", nil, object{"id": "q1", "role": "user", "content": "first"}) }, func(run string) object {
		return aguiBody("second", []object{{"interruptId": run + "-0", "status": "resolved", "payload": "Basel"}}, object{"id": "q1", "role": "user", "content": "first"},
			object{"id": "q2", "role": "user", "content": "second"})
	}},
	"responses, previous": {"/v1/responses", responsesQuestion, func(run string) object {
		body := responsesAnswer(run)
		body["previous_response_id"] = responseOf(schemas.Run{RunID: run})
		return body
	}},
	"responses, conversation": {"/v1/responses", responsesQuestion, func(run string) object {
		body := responsesAnswer(run)
		body["conversation"] = "conv_key"
		return body
	}},
}

func aguiBody(run string, resume []object, messages ...object) object {
	return object{
		"threadId": "key", "runId": run, "messages": messages, "resume": resume, "protocolVersion": "1.0", "context": []object{}, "state": object{},
		"tools": []object{{"name": "where", "description": "where", "parameters": object{"type": "object"}}},
	}
}

func responsesQuestion() object {
	return object{"model": "chattray/lab", "stream": true, "input": "first", "conversation": "conv_key", "tools": []object{{"type": "function", "name": "where", "parameters": object{"type": "object"}}}}
}

func responsesAnswer(run string) object {
	return object{"model": "chattray/lab", "stream": true, "input": []object{{"type": "function_call_output", "call_id": run + "-0", "output": "Basel"}, {"role": "user", "content": "second"}}}
}

// TestAnswersAndAQuestionSentTwice answers a call and asks a question in one request, and
// sends it again while the run that goes on with the answer is written: both requests follow
// the run of the question, and the chat has both questions and answers once.
func TestAnswersAndAQuestionSentTwice(t *testing.T) {
	t.Parallel()
	for name, wire := range answering {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := apptest.NewSystem(t, apptest.SQLite.Fresh(t))
			s.Start()
			gate, next := make(chan struct{}), make(chan struct{})
			s.Model.On(upstream.LastUser("first"), upstream.Open(upstream.Call(0, "c", "where", "{}"), upstream.Finish("tool_calls"), upstream.Usage(10, 2), upstream.Done()),
				upstream.Open(upstream.Say("the "), upstream.Wait(gate), upstream.Say("answer"), upstream.Finish("stop"), upstream.Usage(10, 2), upstream.Done()))
			s.Model.On(upstream.LastUser("second"), upstream.Open(upstream.Say("the "), upstream.Wait(next), upstream.Say("next"), upstream.Finish("stop"), upstream.Usage(10, 2), upstream.Done()))
			end := endOfWire[strings.Split(name, ",")[0]]
			asked := s.Send(t, http.MethodPost, wire.path, wire.ask())
			readLines(t, asked.Body, end)
			first := asked.Header.Get("X-Run-Id")

			both := make([]*http.Response, 2)
			var group sync.WaitGroup
			for i := range both {
				group.Go(func() { both[i] = s.Send(t, http.MethodPost, wire.path, wire.answer(first)) })
				apptest.Eventually(t, "the request is answered or waits for its turn", func() bool {
					return len(textsOf(t, s)) > 1 && resourcesOf(s, t).streams > i
				})
			}
			close(gate)
			group.Wait() // sent again after its end, the question would be asked again
			close(next)
			for i, resp := range both {
				if got, want := resp.Header.Get("X-Run-Id"), both[0].Header.Get("X-Run-Id"); resp.StatusCode != http.StatusOK || got != want || got == first {
					t.Errorf("request %d is answered with %d by the run %q, want %q, not %q", i+1, resp.StatusCode, got, want, first)
					continue
				}
				readLines(t, resp.Body, end)
			}
			if got, want := strings.Join(textsOf(t, s), " | "), "first | [[tool:0]]\n\nthe answer | second | the next"; got != want {
				t.Errorf("the chat has %q, want %q", got, want)
			}
		})
	}
}
