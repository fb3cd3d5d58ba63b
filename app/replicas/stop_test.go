package replicas

import (
	"context"
	"flag"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/chattray/chattray/app/apptest"
)

// stop stops a process as SIGTERM does.
func stop(t *testing.T, p *apptest.Process) {
	t.Helper()
	p.Signal(syscall.SIGTERM)
	if end := p.Wait(); end.ExitCode() != 0 {
		t.Errorf("the process ended with %v, want exit status 0", end)
	}
}

// noFailedAttempts checks that no run counts a failed attempt.
func noFailedAttempts(t *testing.T, system *apptest.System) {
	t.Helper()
	if n := system.Number("SELECT COUNT(*) FROM runs WHERE attempt - 1 > spared"); n > 0 {
		t.Errorf("%d runs have lost an attempt, want none", n)
	}
}

// restarts is how many processes TestRollingRestart replaces while so many clients ask;
// make cluster-test sets more.
var (
	restarts = flag.Int("restarts", 4, "how many processes to replace")
	clients  = flag.Int("clients", 6, "how many clients ask meanwhile")
)

// patience is how long a replacement may take on a busy machine.
const patience = time.Minute

// All processes are replaced one after the other while clients ask and reconnect. No run
// fails or loses an attempt, and no finished step runs again. A run that is handed over
// waits for no lease, so the leases are long: a busy machine may cost a short one.
func TestRollingRestart(t *testing.T) {
	onPostgres(t, func(t *testing.T, system *apptest.System) {
		for range 3 {
			system.StartReplica(apptest.LongLease, nil)
		}
		ctx, cancel := context.WithTimeout(t.Context(), apptest.Limit+4*time.Duration(*restarts)*patience)
		defer cancel()
		var asking sync.WaitGroup
		var enough atomic.Bool
		var ended, moved atomic.Int64
		for n := range *clients {
			asking.Go(func() {
				for chat := 0; !enough.Load() && !t.Failed(); chat++ {
					c := system.NewConversation("chat-"+strconv.Itoa(n)+"-"+strconv.Itoa(chat), "queue")
					c.Patient = true
					c.Plan([][]string{{"look"}, {"book", "look"}, {"look"}})
					if err := c.Run(ctx); err != nil {
						t.Errorf("%s, run %s: %v", c.Question, c.RunID, err)
						return
					}
					for _, err := range c.Check(ctx) {
						t.Errorf("%s, run %s: %v", c.Question, c.RunID, err)
					}
					for _, key := range c.Keys() {
						if calls := len(system.ToolCalls(key)); calls != 1 {
							t.Errorf("%s was called %d times, want once", key, calls)
						}
					}
					if calls := len(system.ModelCalls(c.Question)); calls != len(c.Turns) {
						t.Errorf("the model was asked %d times, want %d", calls, len(c.Turns))
					}
					ended.Add(1)
					if c.Frames[len(c.Frames)-1].ID > 1_000_000 {
						moved.Add(1)
					}
				}
			})
		}
		// Runs that end before their process stops are not handed over, so a few more
		// processes may be needed.
		for n := 0; n < *restarts || moved.Load() == 0 && n < 4**restarts && !t.Failed(); n++ {
			before := ended.Load()
			apptest.Eventually(t, "some runs have ended", func() bool { return t.Failed() || ended.Load() >= before+int64(*clients)/2 })
			victim := system.Replicas()[0]
			system.StartReplica(apptest.LongLease, nil)
			system.OnlyUse(slices.DeleteFunc(system.Replicas(), func(p *apptest.Process) bool { return p == victim })...)
			stop(t, victim)
		}
		enough.Store(true)
		asking.Wait()
		noFailedAttempts(t, system)
		apptest.CheckInvariants(t, system)
		system.CheckScripted()
		if moved.Load() == 0 {
			t.Error("0 runs were handed over, want some")
		}
		t.Logf("%d runs ended, %d of them were handed over", ended.Load(), moved.Load())
	})
}

// A process that stops hands a run over before the run's next call of the model. It hands
// over queued runs, and runs that wait for the user, at once.
func TestHandOver(t *testing.T) {
	onPostgres(t, func(t *testing.T, system *apptest.System) {
		owner := system.StartReplica(apptest.LongLease, nil)
		gate := make(chan struct{})
		writes := one(system, gate, []string{"book"}, []string{"look"})
		writesDone := writes.Start(t)
		system.AwaitModel(t, writes)
		queued := one(system, nil)
		queuedDone := queued.Start(t)
		asks := system.Gated("other", "queue", nil)
		asks.Plan([][]string{{"order"}})
		asksDone := asks.Start(t)
		apptest.Eventually(t, "one waits for its turn and one for the user", func() bool {
			return system.Number("SELECT COUNT(*) FROM runs WHERE state IN ('queued', 'waiting')") == 2
		})
		id := system.Text("SELECT id FROM replicas")
		other := system.StartReplica(apptest.LongLease, nil)
		system.OnlyUse(other)
		owner.Signal(syscall.SIGTERM)
		apptest.Eventually(t, "the other process has the runs that wait", func() bool {
			return system.Number("SELECT COUNT(*) FROM runs WHERE state IN ('queued', 'waiting') AND replica NOT IN ('', $1)", id) == 2
		})
		if n := attempt(system, writes); n != 1 {
			t.Errorf("the run whose model writes is at attempt %d, want 1", n)
		}
		close(gate)
		if end := owner.Wait(); end.ExitCode() != 0 {
			t.Errorf("the process ended with %v, want exit status 0", end)
		}
		approve(t, system, other, asks)
		if err := <-asksDone; err != nil {
			t.Fatal(err)
		}
		ends(t, system, map[*apptest.Conversation]<-chan error{writes: writesDone, queued: queuedDone})
		if n := attempt(system, writes); n != 2 {
			t.Errorf("the run is at attempt %d, want 2", n)
		}
		noFailedAttempts(t, system)
		for c, want := range map[*apptest.Conversation]int{writes: 3, queued: 1, asks: 2} {
			if n := len(system.ModelCalls(c.Question)); n != want {
				t.Errorf("%s: the model was asked %d times, want %d", c.Question, n, want)
			}
		}
	})
}

// approve approves the call that a run waits for.
func approve(t *testing.T, system *apptest.System, at *apptest.Process, c *apptest.Conversation) {
	t.Helper()
	req, err := apptest.NewRequest(t.Context(), http.MethodPost,
		at.URL+"/api/chat/runs/"+c.RunID+"/approvals/"+system.Text("SELECT id FROM waits WHERE run_id = $1", c.RunID), map[string]any{"approved": true})
	if err != nil {
		t.Fatal(err)
	}
	resp, err := system.Client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("approve: status %d, want 200: %s", resp.StatusCode, apptest.JSON(apptest.ReadProblem(t, resp)))
	}
}

// A process that is told to stop is not ready from then on, but still answers requests
// during the delay.
func TestShutdownDelay(t *testing.T) {
	onPostgres(t, func(t *testing.T, system *apptest.System) {
		system.Settings = append(system.Settings, "SHUTDOWN_DELAY=3s")
		p := system.StartReplica(apptest.LongLease, nil)
		p.Signal(syscall.SIGTERM)
		apptest.Eventually(t, "readiness fails", func() bool {
			resp, err := http.Get(p.URL + "/readyz")
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			return resp.StatusCode == http.StatusServiceUnavailable
		})
		c := one(system, nil, []string{"book"})
		ends(t, system, map[*apptest.Conversation]<-chan error{c: c.Start(t)})
		if end := p.Wait(); end.ExitCode() != 0 {
			t.Errorf("the process ended with %v, want exit status 0", end)
		}
	})
}
