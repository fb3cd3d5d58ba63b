package app

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/services"
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
	{lastEvent, 4},
	{"a cancel is acknowledged", 1},
	{"status is read", 20},
	{"", 100},
}

const (
	crashKills      = 50
	crashKillsShort = 8
	crashClients    = 16
)

// The program is killed again and again in the middle of everything; whatever
// was promised before holds after the next start.
func TestKilled(t *testing.T) {
	for _, d := range apptest.Databases() {
		t.Run(d.Name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, d.Fresh(t))
			w.start()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var clients sync.WaitGroup
			var count tally
			var enough atomic.Bool
			for n := range crashClients {
				clients.Go(func() {
					for chat := 0; !enough.Load() && !t.Failed(); chat++ {
						w.converse(ctx, strconv.Itoa(n)+"-"+strconv.Itoa(chat), &count)
					}
				})
			}
			kills := crashKills
			if testing.Short() {
				kills = crashKillsShort
			}
			for n := 0; n < kills && !t.Failed(); n++ {
				p := crashPhases[(n+int(w.seed%100))%len(crashPhases)]
				w.killAndRestart(p.phase, w.between(1, p.most))
			}
			enough.Store(true)
			clients.Wait()
			w.report()
			w.checkScripted()
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

func (c *tally) add(k *talk) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ends == nil {
		c.ends = map[string]int{}
	}
	last := k.got[len(k.got)-1]
	attempt := last.id/1_000_000 + 1
	c.ends[last.event.Type+" in attempt "+strconv.FormatInt(attempt, 10)]++
	if last.event.Payload != nil && attempt > 1 {
		c.later++
	}
}

// report fails a test that has shown nothing.
func (c *tally) report(t *testing.T) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t.Log(c.ends)
	if c.later == 0 {
		t.Error("no run was completed by a later attempt")
	}
}

// converse has a chat of one or two questions, the second asked while the first
// is answered.
func (w *world) converse(ctx context.Context, chat string, count *tally) {
	ctx, cancel := context.WithTimeout(ctx, talkLimit)
	defer cancel()
	var both sync.WaitGroup
	for range w.between(1, 2) {
		k := w.newTalk("chat-"+chat, "queue")
		if w.between(0, 5) == 0 {
			k.cancelAt = w.between(1, 40)
		}
		both.Go(func() {
			if err := k.run(ctx); err != nil {
				w.t.Errorf("%s, run %s: %v", k.question, k.runID, err)
				return
			}
			for _, err := range k.check(ctx) {
				w.t.Errorf("%s, run %s: %v", k.question, k.runID, err)
			}
			k.checkMessages(ctx, w.t)
			count.add(k)
		})
	}
	both.Wait()
}

func toJSON(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}

// A run that is interrupted in each of three attempts ends with the fourth start
// and is asked for no more.
func TestKilledInEveryAttempt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, apptest.SQLite.Fresh(t))
	w.start()
	k := w.gated("chat", "reject", make(chan struct{}))
	done := k.going(t)
	for n := range services.MaxAttempts {
		eventually(t, "the model is asked", func() bool { return len(w.asksOf(k.question)) == n+1 })
		p := w.now
		w.leave()
		p.kill()
		w.start()
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	holds(t, k)
	last := k.got[len(k.got)-1]
	if last.event.Type != schemas.TypeError || last.event.Code != schemas.CodeInterrupted || last.id/1_000_000 != services.MaxAttempts {
		t.Errorf("the run ended with event %d: %s", last.id, last.data)
	}
	if n := len(w.asksOf(k.question)); n != services.MaxAttempts {
		t.Errorf("the model was called %d times", n)
	}
}

// A cancel is durable before it reaches the model: what comes between it and the
// end of the run changes nothing.
func TestKilledWhileItIsCancelled(t *testing.T) {
	t.Parallel()
	w := newWorld(t, apptest.SQLite.Fresh(t))
	w.start()
	for n := range 10 {
		k := w.gated(fmt.Sprintf("chat-%d", n), "reject", make(chan struct{}))
		done := k.going(t)
		w.writing(t, k)
		p := w.now
		w.leave()
		cancelled := make(chan struct{})
		go func() {
			defer close(cancelled)
			req, err := request(t.Context(), http.MethodPost, p.url+"/api/chat/runs/"+k.id()+"/cancel", nil)
			if err != nil {
				t.Error(err)
				return
			}
			if resp, err := w.client.Do(req); err == nil {
				_ = resp.Body.Close()
			}
		}()
		<-w.model.Gone()
		p.kill()
		<-cancelled
		k.cancelledAt = w.note()
		w.start()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		holds(t, k)
		if last := k.got[len(k.got)-1]; last.event.Type != schemas.TypeCancelled || len(w.asksOf(k.question)) != 1 {
			t.Errorf("the run ended with %s after %d calls of the model", last.data, len(w.asksOf(k.question)))
		}
	}
}
