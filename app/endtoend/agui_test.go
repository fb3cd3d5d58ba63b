package endtoend

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/chattray/chattray/agents/modeltest/upstream"
	"github.com/chattray/chattray/app/apptest"
)

// What an AG-UI client gives as its context and its state is in the context that the model
// reads; what it cannot put into its body is in the URL, and the body comes before it.
func TestAGUIContext(t *testing.T) {
	s := apptest.NewSystem(t, apptest.SQLite.Fresh(t))
	s.Start()
	gate := make(chan struct{})
	prompts := make(chan string, 1)
	s.Model.On(func(r upstream.Request) bool {
		var prompt strings.Builder
		for _, m := range r.Messages {
			prompt.WriteString(m.Text() + "\n")
		}
		prompts <- prompt.String()
		return true
	}, upstream.Reply{upstream.Wait(gate)}.Then(upstream.Text("Yes.")...))
	body := func(run, text string, forwarded map[string]any) map[string]any {
		return map[string]any{
			"threadId": "thread", "runId": run, "messages": []any{map[string]any{"id": run, "role": "user", "content": text}},
			"tools": []any{}, "context": []any{map[string]any{"description": "the open file", "value": "budget.xlsx"}},
			"state": map[string]any{"selected": "row 17"}, "forwardedProps": forwarded,
		}
	}
	first := s.Send(t, http.MethodPost, "/api/agui?page=lab&tab=files", body("the-first-run-of-it", "What is open?", nil))
	if res := s.Send(t, http.MethodPost, "/api/agui?if_busy=reject", body("the-second-run", "And now?", nil)); res.StatusCode != http.StatusConflict {
		t.Errorf("a question to a busy chat with if_busy=reject gets %d, want 409", res.StatusCode)
	}
	if res := s.Send(t, http.MethodPost, "/api/agui?if_busy=queue", body("the-third-run", "And now?", map[string]any{"if_busy": "reject"})); res.StatusCode != http.StatusConflict {
		t.Errorf("a question with another if_busy in its body gets %d, want 409", res.StatusCode)
	}
	close(gate)
	if stream, err := io.ReadAll(first.Body); err != nil || !strings.Contains(string(stream), "RUN_FINISHED") {
		t.Errorf("the answer is %s (%v), want its end", stream, err)
	}
	prompt := <-prompts
	for _, want := range []string{"the open file", "budget.xlsx", "row 17", "lab", "files"} {
		if !strings.Contains(prompt, want) {
			t.Errorf("the model reads %q, want %q in it", prompt, want)
		}
	}
}
