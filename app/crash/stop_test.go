package crash

import (
	"encoding/json"
	"net/http"
	"syscall"
	"testing"

	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/schemas"
)

// After SIGTERM readiness fails and new runs are refused; a run that ends within
// the drain time ends as ever, and the program with status 0.
func TestStopLetsRunsFinish(t *testing.T) {
	t.Parallel()
	w := apptest.NewSystem(t, apptest.SQLite.Fresh(t))
	w.Settings = append(w.Settings, "DRAIN=20s")
	w.Start()
	p := w.Process()
	gate := make(chan struct{})
	k := w.Gated("chat", "reject", gate)
	k.Patient = false
	done := k.Start(t)
	w.AwaitModel(t, k)
	p.Signal(syscall.SIGTERM)
	w.AwaitStop(t)

	req, err := apptest.NewRequest(t.Context(), http.MethodPost, p.URL+"/api/chat/stream", map[string]any{"message": "one more"})
	if err != nil {
		t.Fatal(err)
	}
	resp, err := w.Client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var problem schemas.Problem
	if err := json.NewDecoder(resp.Body).Decode(&problem); err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" || problem.Code != schemas.CodeShuttingDown {
		t.Errorf("a new run gets status %d, %v, %+v; want 503 shutting_down with Retry-After", resp.StatusCode, resp.Header, problem)
	}

	close(gate)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if end := p.Wait(); end.ExitCode() != 0 {
		t.Errorf("the program ended with %v, want exit status 0", end)
	}
	w.Start()
	apptest.CheckAll(t, k)
	if last := k.Frames[len(k.Frames)-1]; last.Event.Type != schemas.TypeComplete || last.ID > 1_000_000 {
		t.Errorf("the run ended with event %d, %s; want complete in the first attempt", last.ID, last.Event.Type)
	}
}

// Runs that do not end within the drain time, and those that wait for their
// turn, are taken up by the next start; their streams end with a hint.
func TestStopInterruptsTheRest(t *testing.T) {
	t.Parallel()
	w := apptest.NewSystem(t, apptest.SQLite.Fresh(t))
	w.Settings = append(w.Settings, "DRAIN=100ms")
	w.Start()
	p := w.Process()
	gate := make(chan struct{})
	first, second := w.Gated("chat", "queue", gate), w.Gated("chat", "queue", gate)
	firstDone := first.Start(t)
	w.AwaitModel(t, first)
	secondDone := second.Start(t)
	apptest.Eventually(t, "the second waits", second.Accepted.Load)
	w.ExpectEnd()
	p.Signal(syscall.SIGTERM)
	if end := p.Wait(); end.ExitCode() != 0 {
		t.Errorf("the program ended with %v, want exit status 0", end)
	}
	w.Start()
	close(gate)
	for k, done := range map[*apptest.Conversation]<-chan error{first: firstDone, second: secondDone} {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if k.Hints.Load() != 1 {
			t.Errorf("%s: the stream ended with %d hints, want 1", k.Question, k.Hints.Load())
		}
		if last := k.Frames[len(k.Frames)-1]; last.Event.Type != schemas.TypeComplete {
			t.Errorf("%s ended with %s, want complete", k.Question, last.Event.Type)
		}
	}
	apptest.CheckAll(t, first, second)
	if n := len(w.ModelCalls(first.Question)); n != 2 {
		t.Errorf("the interrupted call of the model was made %d times, want 2", n)
	}
}

// A second SIGTERM ends the program at once.
func TestStopAtOnce(t *testing.T) {
	t.Parallel()
	w := apptest.NewSystem(t, apptest.SQLite.Fresh(t))
	w.Settings = append(w.Settings, "DRAIN=1h")
	w.Start()
	p := w.Process()
	gate := make(chan struct{})
	k := w.Gated("chat", "reject", gate)
	done := k.Start(t)
	w.AwaitModel(t, k)
	p.Signal(syscall.SIGTERM)
	w.AwaitStop(t)
	w.ExpectEnd()
	p.Signal(syscall.SIGTERM)
	end := p.Wait()
	if status, ok := end.Sys().(syscall.WaitStatus); !ok || !status.Signaled() || status.Signal() != syscall.SIGTERM {
		t.Errorf("the program ended with %v, want by SIGTERM", end)
	}
	w.Start()
	close(gate)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	apptest.CheckAll(t, k)
}
