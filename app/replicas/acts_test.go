package replicas

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/schemas"
)

// pair is a process that has runs and another one on which the user acts.
type pair struct {
	*testing.T
	system   *apptest.System
	owner, b *apptest.Process
}

// cancelWait is how long the answer to a cancel waits for the end of the run; on a busy
// machine that takes longer.
const cancelWait = 900 * time.Millisecond

// acts are what users do to a run at a process that does not work on it.
var acts = []struct {
	name string
	do   func(p pair)
}{
	{"cancel", func(p pair) {
		c := p.asks("chat", "queue", gate(p.T))
		p.within("cancelled", c, func() {
			asked := time.Now()
			run := p.post("/api/chat/runs/"+c.RunID+"/cancel", nil, http.StatusOK)
			if waited := time.Since(asked); run.State != schemas.RunCancelled && waited < cancelWait {
				p.Errorf("the answer says %s after %v, want cancelled, or an answer after %v", run.State, waited, cancelWait)
			}
		})
	}},
	{"cancel of a queued one", func(p pair) {
		open := gate(p.T)
		first := p.asks("chat", "queue", open)
		c := p.asks("chat", "queue", nil)
		p.within("cancelled", c, func() { p.post("/api/chat/runs/"+c.RunID+"/cancel", nil, http.StatusOK) })
		p.is(first, "running")
	}},
	{"stop", func(p pair) {
		first := p.asks("chat", "queue", gate(p.T))
		second, third := p.asks("chat", "queue", nil), p.asks("chat", "queue", nil)
		p.within("cancelled", first, func() { p.event(`{"name":"stop","chat_id":"` + p.chat("chat") + `"}`) })
		p.within("cancelled", second, func() {})
		p.within("cancelled", third, func() {})
		if n := len(p.system.ModelCalls(second.Question)) + len(p.system.ModelCalls(third.Question)); n > 0 {
			p.Errorf("the model was asked %d times for the questions that waited, want never", n)
		}
	}},
	{"pause", func(p pair) {
		first, second := p.asks("chat", "queue", gate(p.T)), p.asks("chat", "queue", nil)
		p.within("cancelled", first, func() { p.event(`{"name":"pause","chat_id":"` + p.chat("chat") + `"}`) })
		p.ends("completed", second)
	}},
	{"delete the chat", func(p pair) {
		first := p.asks("chat", "queue", gate(p.T))
		p.asks("chat", "queue", nil)
		began := time.Now()
		p.send(p.b, http.MethodDelete, "/api/chats/"+p.system.Text("SELECT chat_id::text FROM runs WHERE id = $1", first.RunID), nil, http.StatusNoContent, nil)
		p.Logf("the chat was deleted after %v", time.Since(began))
	}},
	{"approve", func(p pair) { p.answers(true, 1) }},
	{"deny", func(p pair) { p.answers(false, 0) }},
	{"tool_result", func(p pair) {
		c := p.question("chat", "queue", nil)
		c.Plan([][]string{{"measure"}})
		c.Body["client_tools"] = []any{map[string]any{"name": "measure", "description": "Measures the page.", "input_schema": map[string]any{"type": "object"}}}
		p.begin(p.owner, c)
		p.becomes("waiting", c)
		p.within("completed", c, func() {
			p.post("/api/chat/runs/"+c.RunID+"/tool_results", map[string]any{"tool_use_id": "call_0", "output": "7 cm"}, http.StatusOK)
		})
		if calls := p.system.ModelCalls(c.Question); len(calls) != 2 || !strings.Contains(calls[1].Told[0], "7 cm") {
			p.Errorf("the model was told %+v, want the result of the page", calls)
		}
	}},
	{"if_busy reject", func(p pair) {
		first, second := p.asks("chat", "queue", gate(p.T)), p.question("chat", "reject", nil)
		var problem schemas.Problem
		p.send(p.b, http.MethodPost, "/api/chat/stream", second.Body, http.StatusConflict, &problem)
		if problem.Code != schemas.CodeBusy || problem.RunID != first.RunID {
			p.Errorf("refused with %s and run %s, want busy and run %s", problem.Code, problem.RunID, first.RunID)
		}
	}},
	{"if_busy cancel", func(p pair) {
		first, second := p.asks("chat", "queue", gate(p.T)), p.question("chat", "cancel", nil)
		p.within("cancelled", first, func() { p.begin(p.b, second) })
		p.ends("completed", second)
	}},
	{"cancel a queue", func(p pair) {
		first, second, third := p.asks("chat", "queue", gate(p.T)), p.asks("chat", "queue", nil), p.question("chat", "queue", nil)
		p.begin(p.b, third)
		fourth, last := p.asks("chat", "queue", nil), p.question("chat", "cancel", nil)
		p.within("cancelled", first, func() { p.begin(p.b, last) })
		for _, c := range []*apptest.Conversation{second, third, fourth} {
			p.ends("cancelled", c)
			if n := len(p.system.ModelCalls(c.Question)); n > 0 {
				p.Errorf("the model was asked %d times for a question that waited, want never", n)
			}
		}
		p.ends("completed", last)
	}},
	{"if_busy queue", func(p pair) {
		gate := make(chan struct{})
		first, second := p.asks("chat", "queue", gate), p.question("chat", "queue", nil)
		p.begin(p.b, second)
		third, fourth := p.asks("chat", "queue", nil), p.question("chat", "queue", nil)
		p.begin(p.b, fourth)
		close(gate)
		p.ends("completed", first)
		p.within("completed", second, func() {})
		p.ends("completed", third)
		p.ends("completed", fourth)
	}},
}

// What a user does at one process to a run of another one has the same effect as at the
// process of the run.
func TestActs(t *testing.T) {
	over(t, []carrier{none, overNATS, inMemory}, func(t *testing.T, system *apptest.System) {
		one, two := system.StartReplica(apptest.LongLease, nil), system.StartReplica(apptest.LongLease, nil)
		t.Run("all", func(t *testing.T) {
			for _, act := range acts {
				for side, p := range map[string]pair{"first": {owner: one, b: two}, "second": {owner: two, b: one}} {
					t.Run(act.name+" of the "+side+"'s", func(t *testing.T) {
						t.Parallel()
						p.T, p.system = t, system
						act.do(p)
					})
				}
			}
		})
		apptest.Eventually(t, "no process works on a run", func() bool { return active(t, one)+active(t, two) == 0 })
		apptest.CheckInvariants(t, system)
		system.CheckScripted()
	})
}

// gate returns a gate that opens at the end of the test.
func gate(t *testing.T) <-chan struct{} {
	t.Helper()
	gate := make(chan struct{})
	t.Cleanup(func() { close(gate) })
	return gate
}

// chat returns the id of a chat that only this test uses.
func (p pair) chat(name string) string {
	return strings.NewReplacer("/", "-", "'", "-").Replace(p.Name()) + "-" + name
}

// question returns a question that the model answers once the gate is open.
func (p pair) question(chat, ifBusy string, gate <-chan struct{}) *apptest.Conversation {
	return p.system.Gated(p.chat(chat), ifBusy, gate)
}

// asks sends a question to the owner.
func (p pair) asks(chat, ifBusy string, gate <-chan struct{}) *apptest.Conversation {
	p.Helper()
	c := p.question(chat, ifBusy, gate)
	p.begin(p.owner, c)
	return c
}

// begin sends a question to a process and does not read the answer.
func (p pair) begin(at *apptest.Process, c *apptest.Conversation) {
	p.Helper()
	p.system.Script(c.Question, c.Turns, c.Gate)
	resp := p.open(at, http.MethodPost, "/api/chat/stream", c.Body, "Idempotency-Key", uuid.NewString())
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		p.Fatalf("%s: status %d, want 200: %s", c.Question, resp.StatusCode, apptest.JSON(apptest.ReadProblem(p.T, resp)))
	}
	c.RunID = resp.Header.Get("X-Run-Id")
}

func (p pair) open(at *apptest.Process, method, path string, body any, header ...string) *http.Response {
	p.Helper()
	req, err := apptest.NewRequest(p.Context(), method, at.URL+path, body, header...)
	if err != nil {
		p.Fatal(err)
	}
	resp, err := p.system.Client.Do(req)
	if err != nil {
		p.Fatal(err)
	}
	return resp
}

// send sends a request, expects the status, and decodes the response.
func (p pair) send(at *apptest.Process, method, path string, body any, status int, into any) {
	p.Helper()
	resp := p.open(at, method, path, body)
	defer resp.Body.Close()
	if resp.StatusCode != status {
		p.Fatalf("%s %s: status %d, want %d: %s", method, path, resp.StatusCode, status, apptest.JSON(apptest.ReadProblem(p.T, resp)))
	}
	if into == nil {
		return
	}
	if err := json.NewDecoder(resp.Body).Decode(into); err != nil {
		p.Fatal(err)
	}
}

// post sends a request of the user to the other process and returns the run from its response.
func (p pair) post(path string, body any, status int) (run schemas.Run) {
	p.Helper()
	p.send(p.b, http.MethodPost, path, body, status, &run)
	return run
}

// event sends an event over a websocket of the other process.
func (p pair) event(frame string) {
	p.Helper()
	client := apptest.Client{T: p.T, URL: p.b.URL}
	socket := client.Dial("")
	socket.Send(frame)
	p.Cleanup(func() { _ = socket.Conn.Close(websocket.StatusNormalClosure, "") })
}

// is checks the state of a question's run.
func (p pair) is(c *apptest.Conversation, state string) {
	p.Helper()
	if got := p.state(c); got != state {
		p.Errorf("%s is %s, want %s", c.Question, got, state)
	}
}

func (p pair) state(c *apptest.Conversation) string {
	p.Helper()
	var run schemas.Run
	p.send(p.owner, http.MethodGet, "/api/chat/runs/"+c.RunID, nil, http.StatusOK, &run)
	return string(run.State)
}

// becomes waits until a question's run has the state.
func (p pair) becomes(state string, c *apptest.Conversation) {
	p.Helper()
	apptest.Eventually(p.T, c.Question+" is "+state, func() bool { return p.state(c) == state })
}

// ends waits until a question's run ends, and expects the state.
func (p pair) ends(state string, c *apptest.Conversation) {
	p.Helper()
	apptest.Eventually(p.T, c.Question+" has ended", func() bool { return schemas.RunState(p.state(c)).Terminal() })
	p.is(c, state)
}

// within calls act, expects the run to end in the state, and logs how long that took.
func (p pair) within(state string, c *apptest.Conversation, act func()) {
	p.Helper()
	began := time.Now()
	act()
	p.ends(state, c)
	p.Logf("%s ended after %v", c.Question, time.Since(began))
}

// answers approves or denies a call that waits for the user, and expects the number of calls of the tool.
func (p pair) answers(approved bool, calls int) {
	p.Helper()
	c := p.question("chat", "queue", nil)
	c.Plan([][]string{{"order"}})
	p.begin(p.owner, c)
	p.becomes("waiting", c)
	p.within("completed", c, func() {
		id := p.system.Text("SELECT id FROM waits WHERE run_id = $1", c.RunID)
		p.post("/api/chat/runs/"+c.RunID+"/approvals/"+id, map[string]any{"approved": approved}, http.StatusOK)
	})
	if n := len(p.system.ToolCalls(c.Keys()[0])); n != calls {
		p.Errorf("order was called %d times, want %d", n, calls)
	}
}

// active returns the number of runs that a process works on, by its metrics.
func active(t *testing.T, p *apptest.Process) int {
	t.Helper()
	return int(metric(t, p, "chattray_runs_active"))
}

// metric returns the value of a metric of a process, 0 if there is none of that name.
func metric(t *testing.T, p *apptest.Process, name string) float64 {
	t.Helper()
	return p.Metric(name)
}

// A run that ends with its last reader continues while it is read at another process, and
// ends when nobody reads it.
func TestLastReaderElsewhere(t *testing.T) {
	over(t, []carrier{none, overNATS, inMemory}, func(t *testing.T, system *apptest.System) {
		const grace = 2 * time.Second
		system.Settings = append(system.Settings, "ON_DISCONNECT_GRACE="+grace.String())
		p := pair{T: t, system: system, owner: system.StartReplica(apptest.LongLease, nil), b: system.StartReplica(apptest.LongLease, nil)}
		gate := make(chan struct{})
		c, alone := p.question("chat", "queue", gate), p.question("other", "queue", gate)
		c.Body["on_disconnect"], alone.Body["on_disconnect"] = "cancel", "cancel"
		system.Script(c.Question, c.Turns, c.Gate)
		first := p.open(p.owner, http.MethodPost, "/api/chat/stream", c.Body)
		c.RunID = first.Header.Get("X-Run-Id")
		p.begin(p.owner, alone)
		reading, left := context.WithCancel(t.Context())
		begun := make(chan struct{})
		reads := sync.OnceFunc(func() { close(begun) })
		var reader sync.WaitGroup
		reader.Go(func() {
			for reading.Err() == nil {
				req, err := apptest.NewRequest(reading, http.MethodGet, p.b.URL+"/api/chat/runs/"+c.RunID+"/stream", nil)
				if err != nil {
					t.Error(err)
					return
				}
				if resp, err := system.Client.Do(req); err == nil {
					_, _ = resp.Body.Read(make([]byte, 1))
					reads()
					_, _ = io.Copy(io.Discard, resp.Body) // it ends with the reader
					_ = resp.Body.Close()
				}
				select {
				case <-time.After(grace / 20):
				case <-reading.Done():
				}
			}
		})
		<-begun
		_ = first.Body.Close() // the run always has a reader
		p.ends("cancelled", alone)
		<-time.After(3 * grace) // the grace passes several times
		p.is(c, "running")
		left()
		reader.Wait()
		p.ends("cancelled", c)
		close(gate)
		apptest.CheckInvariants(t, system)
	})
}
