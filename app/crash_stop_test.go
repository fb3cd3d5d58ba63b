package app

import (
	"context"
	"encoding/json"
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/chattray/chattray/agents/modeltest/upstream"
	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/schemas"
)

// gated is a question that is answered once the gate is open.
func (w *world) gated(chat, ifBusy string, gate <-chan struct{}) *talk {
	k := w.newTalk(chat, ifBusy)
	k.plan(nil)
	k.patient = true
	k.gate = gate
	return k
}

// going runs the talk to its end; the outcome comes over the channel.
func (k *talk) going(t *testing.T) <-chan error {
	done := make(chan error, 1)
	ctx, cancel := context.WithTimeout(t.Context(), talkLimit)
	t.Cleanup(cancel)
	go func() { done <- k.run(ctx) }()
	return done
}

// writing waits until the model has been asked.
func (w *world) writing(t *testing.T, k *talk) {
	t.Helper()
	eventually(t, "the model is asked", func() bool { return len(w.asksOf(k.question)) > 0 && k.answered.Load() })
}

// stopping waits until the program says that it takes no more.
func (w *world) stopping(t *testing.T) {
	t.Helper()
	eventually(t, "readiness fails", func() bool {
		status, err := w.call(t.Context(), http.MethodGet, "/readyz", nil)
		return err == nil && status == http.StatusServiceUnavailable
	})
}

// holds checks runs that are over.
func holds(t *testing.T, talks ...*talk) {
	t.Helper()
	for _, k := range talks {
		for _, err := range k.check(t.Context()) {
			t.Errorf("%s: %v", k.question, err)
		}
	}
}

// After SIGTERM readiness fails and new runs are refused; a run that ends within
// the drain time ends as ever, and the program with status 0.
func TestStopLetsRunsFinish(t *testing.T) {
	t.Parallel()
	w := newWorld(t, apptest.SQLite.Fresh(t))
	w.settings = append(w.settings, "DRAIN=20s")
	w.start()
	p := w.now
	gate := make(chan struct{})
	k := w.gated("chat", "reject", gate)
	k.patient = false
	done := k.going(t)
	w.writing(t, k)
	p.signal(syscall.SIGTERM)
	w.stopping(t)

	req, err := request(t.Context(), http.MethodPost, p.url+"/api/chat/stream", map[string]any{"message": "one more"})
	if err != nil {
		t.Fatal(err)
	}
	resp, err := w.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var problem schemas.Problem
	if err := json.NewDecoder(resp.Body).Decode(&problem); err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" || problem.Code != schemas.CodeShuttingDown {
		t.Errorf("a new run gets status %d, %v, %+v", resp.StatusCode, resp.Header, problem)
	}

	close(gate)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if end := p.wait(); end.ExitCode() != 0 {
		t.Errorf("the program ended with %v", end)
	}
	w.start()
	holds(t, k)
	if last := k.got[len(k.got)-1]; last.event.Type != schemas.TypeComplete || last.id > 1_000_000 {
		t.Errorf("the run ended with event %d, %s", last.id, last.event.Type)
	}
}

// Runs that do not end within the drain time, and those that wait for their
// turn, are taken up by the next start; their streams end with a hint.
func TestStopInterruptsTheRest(t *testing.T) {
	t.Parallel()
	w := newWorld(t, apptest.SQLite.Fresh(t))
	w.settings = append(w.settings, "DRAIN=100ms")
	w.start()
	p := w.now
	gate := make(chan struct{})
	first, second := w.gated("chat", "queue", gate), w.gated("chat", "queue", gate)
	firstDone := first.going(t)
	w.writing(t, first)
	secondDone := second.going(t)
	eventually(t, "the second waits", second.answered.Load)
	w.leave()
	p.signal(syscall.SIGTERM)
	if end := p.wait(); end.ExitCode() != 0 {
		t.Errorf("the program ended with %v", end)
	}
	w.start()
	close(gate)
	for k, done := range map[*talk]<-chan error{first: firstDone, second: secondDone} {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if k.hints.Load() != 1 {
			t.Errorf("%s: the stream ended with %d hints", k.question, k.hints.Load())
		}
		if last := k.got[len(k.got)-1]; last.event.Type != schemas.TypeComplete {
			t.Errorf("%s ended with %s", k.question, last.event.Type)
		}
	}
	holds(t, first, second)
	if n := len(w.asksOf(first.question)); n != 2 {
		t.Errorf("the interrupted call of the model was made %d times", n)
	}
}

// A second SIGTERM ends the program at once.
func TestStopAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, apptest.SQLite.Fresh(t))
	w.settings = append(w.settings, "DRAIN=1h")
	w.start()
	p := w.now
	gate := make(chan struct{})
	k := w.gated("chat", "reject", gate)
	done := k.going(t)
	w.writing(t, k)
	p.signal(syscall.SIGTERM)
	w.stopping(t)
	w.leave()
	began := time.Now()
	p.signal(syscall.SIGTERM)
	end := p.wait()
	if status, ok := end.Sys().(syscall.WaitStatus); !ok || !status.Signaled() || status.Signal() != syscall.SIGTERM {
		t.Errorf("the program ended with %v", end)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
	w.start()
	close(gate)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	holds(t, k)
}

// gatedPart waits for the gate, if there is one.
func gatedPart(gate <-chan struct{}) upstream.Part {
	if gate == nil {
		return func(http.ResponseWriter, *http.Request) bool { return true }
	}
	return upstream.Wait(gate)
}
