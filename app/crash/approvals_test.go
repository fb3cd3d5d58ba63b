package crash

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/services/runs"
)

// waitingRun is a run of the test that waits for an answer.
type waitingRun struct {
	system   *apptest.System
	question string
	key      string // of the tool's call
	beside   bool   // the reply has other calls
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
// answer after the next start; an acknowledged answer counts whatever happens
// later.
func TestKilledWhileWaiting(t *testing.T) {
	apptest.OnDatabases(t, func(t *testing.T, system *apptest.System) {
		system.Start()
		yes, no, quick, page := askAndWait(system, "order"), askAndWait(system, "order"), askAndWait(system, "order"), askAndWait(system, "pick")
		for range runs.MaxAttempts + 1 { // attempts that only waited do not count
			system.Restart()
			for _, r := range []*waitingRun{yes, no, quick, page} {
				r.again()
			}
		}
		// Acknowledged, then killed: the answer counts.
		quick.answer(http.StatusOK, schemas.ApprovalAnswer{Approved: true})
		no.answer(http.StatusOK, schemas.ApprovalAnswer{})
		page.result("the third row")
		yes.answer(http.StatusOK, schemas.ApprovalAnswer{Approved: true})
		for _, r := range []*waitingRun{yes, no, quick} {
			r.end()
		}
		if told := page.end(); told != "the third row" {
			t.Errorf("the model was told %q of the page's tool, want %q", told, "the third row")
		}
		for r, want := range map[*waitingRun]int{yes: 1, no: 0, quick: 1} {
			if got := len(system.ToolCalls(r.key)); got != want {
				t.Errorf("%s: the tool ran %d times, want %d", r.question, got, want)
			}
		}
		yes.answer(http.StatusOK, schemas.ApprovalAnswer{Approved: true})
		yes.answer(http.StatusConflict, schemas.ApprovalAnswer{})
	})
}

// An answer that was acknowledged counts although the program is killed right
// after it, before or while the tool runs: the tool never runs twice, and
// nobody is asked again.
func TestKilledAfterAnAnswer(t *testing.T) {
	apptest.OnDatabases(t, func(t *testing.T, system *apptest.System) {
		system.Start()
		yes, no, page := askAndWait(system, "order"), askAndWait(system, "order"), askAndWait(system, "pick")
		no.answer(http.StatusOK, schemas.ApprovalAnswer{})
		page.result("the third row")
		yes.answer(http.StatusOK, schemas.ApprovalAnswer{Approved: true})
		system.Restart()
		told := yes.end()
		if hits := len(system.ToolCalls(yes.key)); hits > 1 || hits == 1 && told == "" {
			t.Errorf("the tool ran %d times, and the model was told %q; want at most once, and its outcome", hits, told)
		}
		if told := no.end(); len(system.ToolCalls(no.key)) > 0 || !strings.Contains(told, "denied") {
			t.Errorf("a denied tool ran %d times, and the model was told %q; want 0 times, and that it was denied", len(system.ToolCalls(no.key)), told)
		}
		if told := page.end(); told != "the third row" {
			t.Errorf("the model was told %q of the page's tool, want %q", told, "the third row")
		}
	})
}

// Runs that only wait do not delay a stop. The next process waits for the same
// answers, until the same time; an answer that was given in between counts.
// Other calls of such a run have the drain time to finish.
func TestStopWhileWaiting(t *testing.T) {
	t.Parallel()
	apptest.OnDatabases(t, func(t *testing.T, system *apptest.System) {
		system.Settings = append(system.Settings, "DRAIN=1h")
		system.Start()
		yes, page := askAndWait(system, "order"), askAndWait(system, "pick")
		for range runs.MaxAttempts + 1 {
			system.Stop()
			system.Start()
			yes.again()
			page.again()
		}
		gate := make(chan struct{})
		system.OnPhase("a tool is called", func() { <-gate })
		busy := askAndWait(system, "order", "book") // booking while the other call waits
		apptest.Eventually(t, "the tool is called", func() bool { return len(system.ToolCalls(busy.key)) > 0 })
		p := system.Process()
		p.Signal(syscall.SIGTERM)
		system.AwaitStop(t)
		apptest.Eventually(t, "the others are left", func() bool {
			var run schemas.Run
			_, err := system.Call(system.T.Context(), http.MethodGet, "/api/chat/runs/"+busy.id, &run)
			return err == nil && run.State == schemas.RunWaiting
		})
		yes.answer(http.StatusOK, schemas.ApprovalAnswer{Approved: true}) // nobody runs it now
		yes.answer(http.StatusConflict, schemas.ApprovalAnswer{})
		system.ExpectEnd()
		close(gate)
		if end := p.Wait(); end.ExitCode() != 0 {
			t.Errorf("the program ended with %v, want exit status 0", end)
		}
		system.Start()
		busy.again()
		busy.answer(http.StatusOK, schemas.ApprovalAnswer{})
		page.again()
		page.result("the third row")
		yes.end()
		page.end()
		told := busy.end()
		for r, want := range map[*waitingRun]int{yes: 1, busy: 1} {
			if got := len(system.ToolCalls(r.key)); got != want {
				t.Errorf("%s: the tool ran %d times, want %d", r.question, got, want)
			}
		}
		if !strings.Contains(told, "denied") {
			t.Errorf("the model was told %q of the denied call, want that it was denied", told)
		}
	})
}

// An approval expires even if no process runs: a process that starts later
// denies the call.
func TestKilledPastTheEndOfAnApproval(t *testing.T) {
	t.Parallel()
	apptest.OnDatabases(t, func(t *testing.T, system *apptest.System) {
		system.Settings = append(system.Settings, "APPROVAL_TIMEOUT=2s")
		system.Start()
		r := askAndWait(system, "order")
		end, err := time.Parse(time.RFC3339, r.asked.ExpiresAt)
		if err != nil {
			t.Fatal(err)
		}
		p := system.Process()
		system.ExpectEnd()
		p.Kill()
		<-time.After(time.Until(end))
		system.Start()
		told := r.end()
		if len(system.ToolCalls(r.key)) > 0 || !strings.Contains(told, "did not approve this call in time") {
			t.Errorf("the tool ran %d times, and the model was told %q; want 0 times, and that nobody approved in time", len(system.ToolCalls(r.key)), told)
		}
		r.answer(http.StatusConflict, schemas.ApprovalAnswer{Approved: true})
	})
}

// askAndWait starts a run whose model calls the tool, and others beside it, and reads
// until it waits.
func askAndWait(system *apptest.System, tool string, beside ...string) *waitingRun {
	system.T.Helper()
	name := strconv.Itoa(system.Mark())
	r := &waitingRun{system: system, question: "question " + name, key: tool + "-" + name, beside: len(beside) > 0}
	calls := []apptest.ToolCall{{Tool: tool, Key: r.key}}
	for _, b := range beside {
		calls = append(calls, apptest.ToolCall{Tool: b, Key: r.key})
	}
	system.Script(r.question, []apptest.Turn{{Text: "I ask.", Calls: calls}, {Text: "That is all."}}, nil)
	body := map[string]any{
		"message": r.question, "context": map[string]any{"current_page": "lab"},
		"client_tools": []any{map[string]any{"name": "pick", "description": "Pick a row.", "input_schema": map[string]any{"type": "object"}}},
	}
	resp := r.system.Send(r.system.T, http.MethodPost, "/api/chat/stream", body)
	r.id = resp.Header.Get("X-Run-Id")
	r.asked = r.read(resp)
	return r
}

// again reconnects after a restart: the run waits for the same answer.
func (r *waitingRun) again() {
	r.system.T.Helper()
	before := r.asked
	r.asked = r.read(r.system.Send(r.system.T, http.MethodGet, "/api/chat/runs/"+r.id+"/stream?after="+strconv.FormatInt(r.cursor, 10), nil))
	if r.asked != before {
		r.system.T.Errorf("%s waits for %+v, want %+v as before", r.question, r.asked, before)
	}
	var run schemas.Run
	if _, err := r.system.Call(r.system.T.Context(), http.MethodGet, "/api/chat/runs/"+r.id, &run); err != nil || run.State != schemas.RunWaiting {
		r.system.T.Errorf("%s is %s (%v), want waiting", r.question, run.State, err)
	}
}

// read reads a stream until the run waits.
func (r *waitingRun) read(resp *http.Response) waitingEvent {
	r.system.T.Helper()
	for stream := apptest.NewStreamReader(resp.Body); ; {
		f, err := stream.Next()
		if err != nil {
			r.system.T.Fatalf("%s: reading the stream: %v, want an event that waits for an answer", r.question, err)
		}
		r.cursor = f.ID
		var e waitingEvent
		if err := json.Unmarshal([]byte(f.Data), &e); err != nil {
			r.system.T.Fatal(err)
		}
		if e.Type == schemas.TypeApprovalRequest || e.Type == schemas.TypeClientToolCall {
			return e
		}
	}
}

func (r *waitingRun) answer(want int, a schemas.ApprovalAnswer) {
	r.system.T.Helper()
	resp := r.system.Send(r.system.T, http.MethodPost, "/api/chat/runs/"+r.id+"/approvals/"+r.asked.ApprovalID, a)
	if resp.StatusCode != want {
		r.system.T.Errorf("%s: the answer gets %d, want %d", r.question, resp.StatusCode, want)
	}
}

func (r *waitingRun) result(output string) {
	r.system.T.Helper()
	resp := r.system.Send(r.system.T, http.MethodPost, "/api/chat/runs/"+r.id+"/tool_results", schemas.ClientToolResult{
		ToolUseID: r.asked.ToolUseID, Output: json.RawMessage(apptest.JSON(output)),
	})
	if resp.StatusCode != http.StatusOK {
		r.system.T.Errorf("%s: the result gets status %d, want 200", r.question, resp.StatusCode)
	}
}

// end reads to the end and returns what the model was told of the call.
func (r *waitingRun) end() string {
	r.system.T.Helper()
	log, err := apptest.NewStreamReader(r.system.Send(r.system.T, http.MethodGet, "/api/chat/runs/"+r.id+"/stream", nil).Body).Rest()
	if err != nil {
		r.system.T.Fatalf("%s: reading the log: %v", r.question, err)
	}
	counts := apptest.WithoutVoided(log)
	last := counts[len(counts)-1].Event
	if last.Payload == nil || len(last.Payload.ToolHistory) == 0 {
		r.system.T.Fatalf("%s ends with %+v, want complete with the call in its history", r.question, last)
	}
	asked := 0
	for _, f := range counts {
		if f.Event.Type == schemas.TypeApprovalRequest || f.Event.Type == schemas.TypeClientToolCall {
			asked++
		}
	}
	// The call is not asked about at all if it had ended before the log showed
	// it. It is asked about again if the outcome of another call of the reply
	// is kept, and with it the question.
	if asked > 1 && !r.beside {
		r.system.T.Errorf("%s: what counts of the log asks %d times, want at most once", r.question, asked)
	}
	for _, a := range r.system.ModelCalls(r.question) {
		if len(a.Told) > 0 {
			return a.Told[0]
		}
	}
	r.system.T.Errorf("%s: the model was told nothing of the call, want its outcome", r.question)
	return ""
}
