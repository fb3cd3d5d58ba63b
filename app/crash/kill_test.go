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

// crashPhases are the moments at which the program is killed, and how often
// they come up at most before that.
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

// kills is how often TestKilled kills the program; 0 is once in each phase. Make
// crash-test does it longer.
var kills = flag.Int("kills", 0, "how often to kill the program, 0 for once in each phase")

// The program is killed again and again in the middle of everything; whatever
// was promised before holds after the next start.
func TestKilled(t *testing.T) {
	for _, d := range apptest.Databases() {
		t.Run(d.Name, func(t *testing.T) {
			t.Parallel()
			w := apptest.NewSystem(t, d.Fresh(t))
			w.Start()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var clients sync.WaitGroup
			var count tally
			var enough atomic.Bool
			for n := range crashClients {
				clients.Go(func() {
					for chat := 0; !enough.Load() && !t.Failed(); chat++ {
						converse(ctx, w, strconv.Itoa(n)+"-"+strconv.Itoa(chat), &count)
					}
				})
			}
			for n := 0; n < cmp.Or(*kills, len(crashPhases)) && !t.Failed(); n++ {
				p := crashPhases[(n+int(w.Seed%100))%len(crashPhases)]
				w.KillAndRestart(p.phase, w.Between(1, p.most))
			}
			enough.Store(true)
			clients.Wait()
			w.LogKills()
			w.CheckScripted()
			count.report(t)
		})
	}
}

// tally counts how runs ended.
type tally struct {
	mu    sync.Mutex
	ends  map[string]int // by terminal event and attempt
	later int            // completed by a later attempt
}

func (c *tally) add(k *apptest.Conversation) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ends == nil {
		c.ends = map[string]int{}
	}
	last := k.Frames[len(k.Frames)-1]
	attempt := last.ID/1_000_000 + 1
	c.ends[last.Event.Type+" in attempt "+strconv.FormatInt(attempt, 10)]++
	if last.Event.Payload != nil && attempt > 1 {
		c.later++
	}
}

// report fails a test that has shown nothing.
func (c *tally) report(t *testing.T) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t.Log(c.ends)
	if c.later == 0 {
		t.Error("0 runs were completed by a later attempt, want some")
	}
}

// converse has a chat of one or two questions, the second asked while the first
// is answered.
func converse(ctx context.Context, w *apptest.System, chat string, count *tally) {
	ctx, cancel := context.WithTimeout(ctx, apptest.Limit)
	defer cancel()
	var both sync.WaitGroup
	for range w.Between(1, 2) {
		k := w.NewConversation("chat-"+chat, "queue")
		if w.Between(0, 5) == 0 {
			k.CancelAt = w.Between(1, 40)
		}
		both.Go(func() {
			if err := k.Run(ctx); err != nil {
				w.T.Errorf("%s, run %s: %v", k.Question, k.RunID, err)
				return
			}
			for _, err := range k.Check(ctx) {
				w.T.Errorf("%s, run %s: %v", k.Question, k.RunID, err)
			}
			k.CheckMessages(ctx, w.T)
			count.add(k)
		})
	}
	both.Wait()
}

// A run that is interrupted in each of three attempts ends with the fourth start
// and is asked for no more.
func TestKilledInEveryAttempt(t *testing.T) {
	t.Parallel()
	w := apptest.NewSystem(t, apptest.SQLite.Fresh(t))
	w.Start()
	k := w.Gated("chat", "reject", make(chan struct{}))
	done := k.Start(t)
	for n := range runs.MaxAttempts {
		apptest.Eventually(t, "the model is asked", func() bool { return len(w.ModelCalls(k.Question)) == n+1 })
		p := w.Process()
		w.ExpectEnd()
		p.Kill()
		w.Start()
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	apptest.CheckAll(t, k)
	last := k.Frames[len(k.Frames)-1]
	if last.Event.Type != schemas.TypeError || last.Event.Code != schemas.CodeInterrupted || last.ID/1_000_000 != runs.MaxAttempts {
		t.Errorf("the run ended with event %d, %s; want the error interrupted of attempt %d", last.ID, last.Data, runs.MaxAttempts+1)
	}
	if n := len(w.ModelCalls(k.Question)); n != runs.MaxAttempts {
		t.Errorf("the model was called %d times, want %d", n, runs.MaxAttempts)
	}
}

// A cancel is durable before it reaches the model: what comes between it and the
// end of the run changes nothing.
func TestKilledWhileItIsCancelled(t *testing.T) {
	t.Parallel()
	w := apptest.NewSystem(t, apptest.SQLite.Fresh(t))
	w.Start()
	for n := range 10 {
		k := w.Gated(fmt.Sprintf("chat-%d", n), "reject", make(chan struct{}))
		done := k.Start(t)
		w.AwaitModel(t, k)
		p := w.Process()
		w.ExpectEnd()
		cancelled := make(chan struct{})
		go func() {
			defer close(cancelled)
			req, err := apptest.NewRequest(t.Context(), http.MethodPost, p.URL+"/api/chat/runs/"+k.ID()+"/cancel", nil)
			if err != nil {
				t.Error(err)
				return
			}
			if resp, err := w.Client.Do(req); err == nil {
				_ = resp.Body.Close()
			}
		}()
		<-w.Model.Gone()
		p.Kill()
		<-cancelled
		k.CancelledAt = w.Mark()
		w.Start()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		apptest.CheckAll(t, k)
		if last := k.Frames[len(k.Frames)-1]; last.Event.Type != schemas.TypeCancelled || len(w.ModelCalls(k.Question)) != 1 {
			t.Errorf("the run ended with %s after %d calls of the model, want cancelled after 1", last.Data, len(w.ModelCalls(k.Question)))
		}
	}
}
