package crash

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/services/runs"
)

// crashPhases are the moments at which the program is killed, with how often
// each may pass before that.
var crashPhases = []struct {
	phase string
	most  int
}{
	{"a question is asked", 4},
	{"a run is answered", 6},
	{"a first event is read", 6},
	{"the model writes", 80},
	{"text_delta is read", 80},
	{"the model asks for a tool", 10},
	{"the model ends", 8},
	{"tool_start is read", 8},
	{"a tool is called", 8},
	{"a tool answers", 8},
	{"tool_complete is read", 8},
	{apptest.LastEventRead, 4},
	{"a cancel is acknowledged", 1},
	{"status is read", 20},
	{"", 100},
}

const crashClients = 16

// kills is how often TestKilled kills the program; 0 is once in each phase.
// make crash-test sets more.
var kills = flag.Int("kills", 0, "how often to kill the program, 0 for once in each phase")

// The program is killed repeatedly in every phase; all promises hold after the
// next start.
func TestKilled(t *testing.T) {
	apptest.OnDatabases(t, func(t *testing.T, system *apptest.System) {
		system.Start()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var clients sync.WaitGroup
		var count tally
		var enough atomic.Bool
		for n := range crashClients {
			clients.Go(func() {
				for chat := 0; !enough.Load() && !t.Failed(); chat++ {
					converse(ctx, system, strconv.Itoa(n)+"-"+strconv.Itoa(chat), &count)
				}
			})
		}
		for n := 0; n < cmp.Or(*kills, len(crashPhases)) && !t.Failed(); n++ {
			p := crashPhases[(n+int(system.Seed%100))%len(crashPhases)]
			system.KillAndRestart(p.phase, system.Between(1, p.most))
		}
		enough.Store(true)
		clients.Wait()
		system.LogKills()
		system.CheckScripted()
		count.report(t)
	})
}

// tally counts how runs ended.
type tally struct {
	mu    sync.Mutex
	ends  map[string]int // by terminal event and attempt
	later int            // completed by a later attempt
}

func (t *tally) add(c *apptest.Conversation) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ends == nil {
		t.ends = map[string]int{}
	}
	last := c.Frames[len(c.Frames)-1]
	attempt := last.ID/1_000_000 + 1
	t.ends[last.Event.Type+" in attempt "+strconv.FormatInt(attempt, 10)]++
	if last.Event.Payload != nil && attempt > 1 {
		t.later++
	}
}

// report fails a test that has shown nothing.
func (t *tally) report(test *testing.T) {
	t.mu.Lock()
	defer t.mu.Unlock()
	test.Log(t.ends)
	if t.later == 0 {
		test.Error("0 runs were completed by a later attempt, want some")
	}
}

// converse runs a chat of one or two questions; the second is asked while the
// first is being answered.
func converse(ctx context.Context, system *apptest.System, chat string, count *tally) {
	ctx, cancel := context.WithTimeout(ctx, apptest.Limit)
	defer cancel()
	var both sync.WaitGroup
	for range system.Between(1, 2) {
		c := system.NewConversation("chat-"+chat, "queue")
		if system.Between(0, 5) == 0 {
			c.CancelAt = system.Between(1, 40)
		}
		both.Go(func() {
			if err := c.Run(ctx); err != nil {
				system.T.Errorf("%s, run %s: %v", c.Question, c.RunID, err)
				return
			}
			for _, err := range c.Check(ctx) {
				system.T.Errorf("%s, run %s: %v", c.Question, c.RunID, err)
			}
			c.CheckMessages(ctx, system.T)
			count.add(c)
		})
	}
	both.Wait()
}

// A run that is interrupted in each of three attempts ends with the fourth start;
// its model is not called again.
func TestKilledInEveryAttempt(t *testing.T) {
	t.Parallel()
	system := apptest.NewSystem(t, apptest.SQLite.Fresh(t))
	system.Start()
	c := system.Gated("chat", "reject", make(chan struct{}))
	done := c.Start(t)
	for n := range runs.MaxAttempts {
		apptest.Eventually(t, "the model is asked", func() bool { return len(system.ModelCalls(c.Question)) == n+1 })
		system.Restart()
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	apptest.CheckAll(t, c)
	last := c.Frames[len(c.Frames)-1]
	if last.Event.Type != schemas.TypeError || last.Event.Code != schemas.CodeInterrupted || last.ID/1_000_000 != runs.MaxAttempts {
		t.Errorf("the run ended with event %d, %s; want the error interrupted of attempt %d", last.ID, last.Data, runs.MaxAttempts+1)
	}
	if n := len(system.ModelCalls(c.Question)); n != runs.MaxAttempts {
		t.Errorf("the model was called %d times, want %d", n, runs.MaxAttempts)
	}
}

// A cancel is durable before it reaches the model: whatever happens between it
// and the end of the run changes nothing.
func TestKilledWhileItIsCancelled(t *testing.T) {
	t.Parallel()
	system := apptest.NewSystem(t, apptest.SQLite.Fresh(t))
	system.Start()
	for n := range 10 {
		c := system.Gated(fmt.Sprintf("chat-%d", n), "reject", make(chan struct{}))
		done := c.Start(t)
		system.AwaitModel(t, c)
		p := system.Process()
		system.ExpectEnd()
		cancelled := make(chan struct{})
		go func() {
			defer close(cancelled)
			req, err := apptest.NewRequest(t.Context(), http.MethodPost, p.URL+"/api/chat/runs/"+c.ID()+"/cancel", nil)
			if err != nil {
				t.Error(err)
				return
			}
			if resp, err := system.Client.Do(req); err == nil {
				_ = resp.Body.Close()
			}
		}()
		<-system.Model.Gone()
		p.Kill()
		<-cancelled
		c.CancelledAt = system.Mark()
		system.Start()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		apptest.CheckAll(t, c)
		if last := c.Frames[len(c.Frames)-1]; last.Event.Type != schemas.TypeCancelled || len(system.ModelCalls(c.Question)) != 1 {
			t.Errorf("the run ended with %s after %d calls of the model, want cancelled after 1", last.Data, len(system.ModelCalls(c.Question)))
		}
	}
}
