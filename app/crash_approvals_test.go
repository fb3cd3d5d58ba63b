package app

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/services"
)

// waitingRun is a run of the test that waits for an answer.
type waitingRun struct {
	w        *world
	question string
	key      string // of the tool's call
	beside   bool   // other calls are beside it
	id       string
	cursor   int64
	asked    waitingEvent
}

// waitingEvent is an approval_request or a client_tool_call.
type waitingEvent struct {
	Type       string
	ApprovalID string `json:"approval_id"`
	ToolUseID  string `json:"tool_use_id"`
	ExpiresAt  string `json:"expires_at"`
	Attempt    int
}

// A run that waits for its user when the program is killed waits for the same
// answer after the next start; an answer that was acknowledged counts whatever
// comes after it.
func TestKilledWhileWaiting(t *testing.T) {
	for _, d := range apptest.Databases() {
		t.Run(d.Name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), talkLimit)
			defer cancel()
			w := newWorld(t, d.Fresh(t))
			w.start()
			yes, no, quick, page := w.ask(ctx, "order"), w.ask(ctx, "order"), w.ask(ctx, "order"), w.ask(ctx, "pick")
			for range services.MaxAttempts + 1 { // attempts that only waited do not count
				w.restart()
				for _, r := range []*waitingRun{yes, no, quick, page} {
					r.again(ctx)
				}
			}
			// Acknowledged, then killed: the answer stands.
			quick.answer(ctx, http.StatusOK, schemas.ApprovalAnswer{Approved: true})
			no.answer(ctx, http.StatusOK, schemas.ApprovalAnswer{})
			page.result(ctx, "the third row")
			yes.answer(ctx, http.StatusOK, schemas.ApprovalAnswer{Approved: true})
			for _, r := range []*waitingRun{yes, no, quick} {
				r.end(ctx)
			}
			if told := page.end(ctx); told != "the third row" {
				t.Errorf("the model was told %q of the page's tool", told)
			}
			for r, want := range map[*waitingRun]int{yes: 1, no: 0, quick: 1} {
				if got := len(w.hitsOf(r.key)); got != want {
					t.Errorf("%s: the tool ran %d times, want %d", r.question, got, want)
				}
			}
			yes.answer(ctx, http.StatusOK, schemas.ApprovalAnswer{Approved: true})
			yes.answer(ctx, http.StatusConflict, schemas.ApprovalAnswer{})
		})
	}
}

// An answer that was acknowledged counts although the program is killed right
// behind it, before or while the tool runs: the tool never runs twice, and
// nobody is asked again.
func TestKilledBehindAnAnswer(t *testing.T) {
	for _, d := range apptest.Databases() {
		t.Run(d.Name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), talkLimit)
			defer cancel()
			w := newWorld(t, d.Fresh(t))
			w.start()
			yes, no, page := w.ask(ctx, "order"), w.ask(ctx, "order"), w.ask(ctx, "pick")
			no.answer(ctx, http.StatusOK, schemas.ApprovalAnswer{})
			page.result(ctx, "the third row")
			yes.answer(ctx, http.StatusOK, schemas.ApprovalAnswer{Approved: true})
			w.restart()
			told := yes.end(ctx)
			if hits := len(w.hitsOf(yes.key)); hits > 1 || hits == 1 && told == "" {
				t.Errorf("the tool ran %d times, and the model was told %q", hits, told)
			}
			if told := no.end(ctx); len(w.hitsOf(no.key)) > 0 || !strings.Contains(told, "denied") {
				t.Errorf("a denied tool ran %d times, and the model was told %q", len(w.hitsOf(no.key)), told)
			}
			if told := page.end(ctx); told != "the third row" {
				t.Errorf("the model was told %q of the page's tool", told)
			}
		})
	}
}

// Runs that only wait do not hold up a stop: the next process waits for the same
// answers, also for one that was given while none was there to take it, and to
// the same end. What else such a run is at has the drain time to finish.
func TestStopWhileWaiting(t *testing.T) {
	for _, d := range apptest.Databases() {
		t.Run(d.Name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), talkLimit)
			defer cancel()
			w := newWorld(t, d.Fresh(t))
			w.settings = append(w.settings, "DRAIN=1h")
			w.start()
			yes, page := w.ask(ctx, "order"), w.ask(ctx, "pick")
			for range services.MaxAttempts + 1 {
				w.stop()
				w.start()
				yes.again(ctx)
				page.again(ctx)
			}
			gate := make(chan struct{})
			w.when("a tool is called", func() { <-gate })
			busy := w.ask(ctx, "order", "book") // booking while the other call waits
			eventually(t, "the tool is called", func() bool { return len(w.hitsOf(busy.key)) > 0 })
			p := w.now
			p.signal(syscall.SIGTERM)
			w.stopping(t)
			eventually(t, "the others are left", func() bool {
				var run schemas.Run
				_, err := w.call(ctx, http.MethodGet, "/api/chat/runs/"+busy.id, &run)
				return err == nil && run.State == schemas.RunWaiting
			})
			yes.answer(ctx, http.StatusOK, schemas.ApprovalAnswer{Approved: true}) // nobody runs it now
			yes.answer(ctx, http.StatusConflict, schemas.ApprovalAnswer{})
			w.leave()
			close(gate)
			if end := p.wait(); end.ExitCode() != 0 {
				t.Errorf("the program ended with %v", end)
			}
			w.start()
			busy.again(ctx)
			busy.answer(ctx, http.StatusOK, schemas.ApprovalAnswer{})
			page.again(ctx)
			page.result(ctx, "the third row")
			yes.end(ctx)
			page.end(ctx)
			told := busy.end(ctx)
			for r, want := range map[*waitingRun]int{yes: 1, busy: 1} {
				if got := len(w.hitsOf(r.key)); got != want {
					t.Errorf("%s: the tool ran %d times, want %d", r.question, got, want)
				}
			}
			if !strings.Contains(told, "denied") {
				t.Errorf("the model was told %q of the denied call", told)
			}
		})
	}
}

// An approval ends at its time whoever is there: a process that starts after it
// denies the call.
func TestKilledPastTheEndOfAnApproval(t *testing.T) {
	for _, d := range apptest.Databases() {
		t.Run(d.Name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), talkLimit)
			defer cancel()
			w := newWorld(t, d.Fresh(t))
			w.settings = append(w.settings, "APPROVAL_TIMEOUT=2s")
			w.start()
			r := w.ask(ctx, "order")
			end, err := time.Parse(time.RFC3339, r.asked.ExpiresAt)
			if err != nil {
				t.Fatal(err)
			}
			p := w.now
			w.leave()
			p.kill()
			<-time.After(time.Until(end))
			w.start()
			told := r.end(ctx)
			if len(w.hitsOf(r.key)) > 0 || !strings.Contains(told, "did not approve this call in time") {
				t.Errorf("the tool ran %d times, and the model was told %q", len(w.hitsOf(r.key)), told)
			}
			r.answer(ctx, http.StatusConflict, schemas.ApprovalAnswer{Approved: true})
		})
	}
}

// stop stops the program as SIGTERM does.
func (w *world) stop() {
	w.t.Helper()
	p := w.now
	w.leave()
	p.signal(syscall.SIGTERM)
	if end := p.wait(); end.ExitCode() != 0 {
		w.t.Errorf("the program ended with %v", end)
	}
}

// restart kills the program and starts it again.
func (w *world) restart() {
	w.mu.Lock()
	p := w.now
	w.now = nil
	w.mu.Unlock()
	p.kill()
	w.start()
}

// ask starts a run whose model calls the tool, and others beside it, and reads
// until it waits.
func (w *world) ask(ctx context.Context, tool string, beside ...string) *waitingRun {
	w.t.Helper()
	name := strconv.Itoa(w.note())
	r := &waitingRun{w: w, question: "question " + name, key: tool + "-" + name, beside: len(beside) > 0}
	calls := []planned{{tool, r.key}}
	for _, b := range beside {
		calls = append(calls, planned{b, r.key})
	}
	w.script(r.question, []modelTurn{{text: "I ask.", calls: calls}, {text: "That is all."}}, nil)
	body := map[string]any{
		"message": r.question, "context": map[string]any{"current_page": "lab"},
		"client_tools": []any{map[string]any{"name": "pick", "description": "Pick a row.", "input_schema": map[string]any{"type": "object"}}},
	}
	resp := r.send(ctx, http.MethodPost, "/api/chat/stream", body)
	r.id = resp.Header.Get("X-Run-Id")
	r.asked = r.read(resp)
	return r
}

// again comes back after a restart: the run waits for what it waited for.
func (r *waitingRun) again(ctx context.Context) {
	r.w.t.Helper()
	before := r.asked
	r.asked = r.read(r.send(ctx, http.MethodGet, "/api/chat/runs/"+r.id+"/stream?after="+strconv.FormatInt(r.cursor, 10), nil))
	if r.asked != before {
		r.w.t.Errorf("%s waits for %+v, and waited for %+v", r.question, r.asked, before)
	}
	var run schemas.Run
	if _, err := r.w.call(ctx, http.MethodGet, "/api/chat/runs/"+r.id, &run); err != nil || run.State != schemas.RunWaiting {
		r.w.t.Errorf("%s is %s (%v), want waiting", r.question, run.State, err)
	}
}

// send makes a request of the program as it is now.
func (r *waitingRun) send(ctx context.Context, method, path string, body any) *http.Response {
	r.w.t.Helper()
	p, err := r.w.current(ctx)
	if err != nil {
		r.w.t.Fatal(err)
	}
	req, err := request(ctx, method, p.url+path, body)
	if err != nil {
		r.w.t.Fatal(err)
	}
	resp, err := r.w.client.Do(req)
	if err != nil {
		r.w.t.Fatal(err)
	}
	return resp
}

// read reads a stream until the run waits.
func (r *waitingRun) read(resp *http.Response) waitingEvent {
	r.w.t.Helper()
	defer resp.Body.Close()
	for stream := newStreamReader(resp.Body); ; {
		f, err := stream.next()
		if err != nil {
			r.w.t.Fatalf("%s: the stream ends with %v before it waits", r.question, err)
		}
		r.cursor = f.id
		var e waitingEvent
		if err := json.Unmarshal([]byte(f.data), &e); err != nil {
			r.w.t.Fatal(err)
		}
		if e.Type == schemas.TypeApprovalRequest || e.Type == schemas.TypeClientToolCall {
			return e
		}
	}
}

func (r *waitingRun) answer(ctx context.Context, want int, a schemas.ApprovalAnswer) {
	r.w.t.Helper()
	resp := r.send(ctx, http.MethodPost, "/api/chat/runs/"+r.id+"/approvals/"+r.asked.ApprovalID, a)
	defer resp.Body.Close()
	if resp.StatusCode != want {
		r.w.t.Errorf("%s: the answer gets %d, want %d", r.question, resp.StatusCode, want)
	}
}

func (r *waitingRun) result(ctx context.Context, output string) {
	r.w.t.Helper()
	resp := r.send(ctx, http.MethodPost, "/api/chat/runs/"+r.id+"/tool_results", schemas.ClientToolResult{
		ToolUseID: r.asked.ToolUseID, Output: json.RawMessage(toJSON(output)),
	})
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		r.w.t.Errorf("%s: the result gets %d", r.question, resp.StatusCode)
	}
}

// end reads to the end and returns what the model was told of the call.
func (r *waitingRun) end(ctx context.Context) string {
	r.w.t.Helper()
	log, err := newStreamReader(r.send(ctx, http.MethodGet, "/api/chat/runs/"+r.id+"/stream", nil).Body).rest()
	if err != nil {
		r.w.t.Fatalf("%s: %v", r.question, err)
	}
	counts := unvoided(log)
	last := counts[len(counts)-1].event
	if last.Payload == nil || len(last.Payload.ToolHistory) == 0 {
		r.w.t.Fatalf("%s ends with %+v", r.question, last)
	}
	asked := 0
	for _, f := range counts {
		if f.event.Type == schemas.TypeApprovalRequest || f.event.Type == schemas.TypeClientToolCall {
			asked++
		}
	}
	// Not at all when the call had ended before the log showed it; again when the
	// outcome of a call beside it is kept, and with it what was asked before.
	if asked > 1 && !r.beside {
		r.w.t.Errorf("%s: what counts of the log asks %d times", r.question, asked)
	}
	for _, a := range r.w.asksOf(r.question) {
		if len(a.told) > 0 {
			return a.told[0]
		}
	}
	r.w.t.Errorf("%s: the model was told nothing of the call", r.question)
	return ""
}
