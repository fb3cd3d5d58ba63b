package replicas

import (
	"context"
	"flag"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/schemas"
)

// kills is how often TestKilled kills a process; make crash-test sets more.
var kills = flag.Int("kills", 6, "how often to kill a process")

// lease is how long a killed process's runs wait in TestKilled and TestTakeoverFigures.
var lease = flag.String("lease", "3s", "the lease of processes that are killed")

// One of three processes is killed repeatedly while clients ask all of them and reconnect
// to any of them. Another process continues its runs.
func TestKilled(t *testing.T) {
	onPostgres(t, func(t *testing.T, system *apptest.System) {
		for range 3 {
			system.StartReplica(*lease, nil)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var clients sync.WaitGroup
		var enough atomic.Bool
		var ended, later atomic.Int64
		for n := range 6 {
			clients.Go(func() {
				for chat := 0; !enough.Load() && !t.Failed(); chat++ {
					c := system.NewConversation("chat-"+strconv.Itoa(n)+"-"+strconv.Itoa(chat), "queue")
					c.Patient = true
					limited, done := context.WithTimeout(ctx, apptest.Limit)
					if err := c.Run(limited); err != nil {
						t.Errorf("%s, run %s: %v", c.Question, c.RunID, err)
					} else {
						for _, err := range c.Check(limited) {
							t.Errorf("%s, run %s: %v", c.Question, c.RunID, err)
						}
						ended.Add(1)
						if c.Frames[len(c.Frames)-1].ID > 1_000_000 {
							later.Add(1)
						}
					}
					done()
				}
			})
		}
		// Some processes have no run when they are killed, so a few more kills may be needed.
		for n := 0; (n < *kills || later.Load() == 0 && n < 10**kills) && !t.Failed(); n++ {
			before := ended.Load()
			apptest.Eventually(t, "some runs have ended", func() bool { return t.Failed() || ended.Load() >= before+4 })
			all := system.Replicas()
			victim := all[rand.IntN(len(all))]
			system.OnlyUse(slices.DeleteFunc(all, func(p *apptest.Process) bool { return p == victim })...)
			victim.Kill()
			system.StartReplica(*lease, nil)
		}
		enough.Store(true)
		clients.Wait()
		apptest.CheckInvariants(t, system)
		system.CheckScripted()
		if later.Load() == 0 {
			t.Error("0 runs were ended by a later attempt, want some")
		}
		t.Logf("%d runs ended, %d of them in a later attempt", ended.Load(), later.Load())
	})
}

// The runs of a killed process continue within a lease and one look for expired leases,
// also a question in the queue. A tool that had begun does not run again.
func TestOwnerKilled(t *testing.T) {
	onPostgres(t, func(t *testing.T, system *apptest.System) {
		owner := system.StartReplica(apptest.ShortLease, nil)
		gate := make(chan struct{})
		first := one(system, gate, []string{"book"}, []string{"look"})
		firstDone := first.Start(t)
		system.AwaitModel(t, first)
		second := one(system, nil)
		secondDone := second.Start(t)
		apptest.Eventually(t, "the second question waits", func() bool {
			return system.Number("SELECT COUNT(*) FROM runs WHERE state = 'queued'") == 1
		})
		other := system.StartReplica(apptest.TakerLease, nil)
		called := make(chan struct{})
		system.OnPhase("a tool is called", func() {
			system.OnlyUse(other)
			owner.Kill()
			close(called)
		})
		close(gate)
		<-called
		killed := time.Now()
		apptest.Eventually(t, "the run is taken", func() bool { return attempt(system, first) == 2 })
		t.Logf("taken %v after the kill", time.Since(killed))
		ends(t, system, map[*apptest.Conversation]<-chan error{first: firstDone, second: secondDone})
		if n := len(system.ToolCalls(first.Keys()[0])); n != 1 {
			t.Errorf("book was called %d times, want once", n)
		}
	})
}

// A process that is suspended for longer than its lease loses its runs. When it resumes,
// it calls neither a tool nor a model for them, and takes other runs.
func TestOwnerSuspended(t *testing.T) {
	onPostgres(t, func(t *testing.T, system *apptest.System) {
		owner := system.StartReplica(apptest.ShortLease, nil)
		gate := make(chan struct{})
		c := one(system, gate, []string{"book"}, []string{"look"})
		done := c.Start(t)
		system.AwaitModel(t, c)
		other := system.StartReplica(apptest.TakerLease, nil)
		owner.Suspend()
		system.OnlyUse(other)
		apptest.Eventually(t, "the model is asked by the other one", func() bool { return len(system.ModelCalls(c.Question)) == 2 })
		owner.Resume()
		close(gate)
		apptest.Eventually(t, "it has joined again", func() bool {
			return system.Number("SELECT COUNT(*) FROM replicas WHERE gone_at IS NULL AND expires_at > clock_timestamp()") == 2
		})
		ends(t, system, map[*apptest.Conversation]<-chan error{c: done})
		apptest.Eventually(t, "the first one has given its run up", func() bool { return metric(t, owner, "chattray_fenced_total") == 1 })
		for name, want := range map[string]float64{`chattray_runs_taken_total{why="dead"}`: 1, "chattray_takeover_seconds_count": 1, "chattray_fenced_total": 0} {
			if n := metric(t, other, name); n != want {
				t.Errorf("%s is %v at the one that took the run, want %v", name, n, want)
			}
		}
		if n := attempt(system, c); n != 2 {
			t.Errorf("the run is at attempt %d, want 2", n)
		}
		for _, key := range c.Keys() {
			if n := len(system.ToolCalls(key)); n != 1 {
				t.Errorf("%s was called %d times, want once", key, n)
			}
		}
		if n := len(system.ModelCalls(c.Question)); n != 4 { // the first turn twice, the others once
			t.Errorf("the model was asked %d times, want 4", n)
		}
		other.Kill()
		system.OnlyUse(owner)
		again := one(system, nil, []string{"book"})
		ends(t, system, map[*apptest.Conversation]<-chan error{again: again.Start(t)})
	})
}

// After an outage of the database all replicas renew their leases first: none
// is marked as gone, and every run continues in its attempt.
func TestDatabaseOutage(t *testing.T) {
	onPostgres(t, func(t *testing.T, system *apptest.System) {
		ways := []*apptest.Way{apptest.NewWay(t, system.Database()), apptest.NewWay(t, system.Database())}
		for _, way := range ways {
			system.StartReplica(apptest.TakerLease, way)
		}
		gate := make(chan struct{})
		all := map[*apptest.Conversation]<-chan error{}
		for n := range 4 {
			c := system.Gated("chat-"+strconv.Itoa(n), "queue", gate)
			c.Plan([][]string{{"look"}, {"book"}})
			all[c] = c.Start(t)
			system.AwaitModel(t, c)
		}
		for _, way := range ways {
			way.Cut()
		}
		apptest.Eventually(t, "all leases have expired", func() bool {
			return system.Number("SELECT COUNT(*) FROM replicas WHERE expires_at > clock_timestamp() - interval '2 seconds'") == 0
		})
		close(gate)
		for _, way := range ways {
			way.Restore()
		}
		ends(t, system, all)
		if n := system.Number("SELECT MAX(attempt) FROM runs"); n != 1 {
			t.Errorf("a run is at attempt %d, want all at 1", n)
		}
		if n := system.Number("SELECT COUNT(*) FROM replicas WHERE gone_at IS NOT NULL"); n != 0 {
			t.Errorf("%d replicas were marked as gone, want none", n)
		}
	})
}

// The same Idempotency-Key sent to two processes at once begins one run, also if its answer
// is written into a block, which one of them claims first.
func TestKeySentToBoth(t *testing.T) {
	onPostgres(t, func(t *testing.T, system *apptest.System) {
		for range 2 {
			system.StartReplica(apptest.LongLease, nil)
		}
		for n := range 30 {
			c := system.NewConversation("chat-"+strconv.Itoa(n/3), []string{"queue", "reject", "cancel"}[n%3]) // the later ones in a chat that is there
			c.Plan(nil)
			if n%2 == 0 {
				c.Body["context"] = map[string]any{"current_page": "lab", "document_id": "doc", "block_ids": "block", "mode": "chat"}
			}
			system.Script(c.Question, c.Turns, nil)
			ids := make([]string, 2)
			var both sync.WaitGroup
			for i, p := range system.Replicas() {
				both.Go(func() {
					resp, err := sendWithKey(t.Context(), system, p, c)
					if err != nil {
						t.Error(err)
						return
					}
					defer resp.Body.Close()
					if resp.StatusCode != http.StatusOK {
						t.Errorf("status %d, want 200: %s", resp.StatusCode, apptest.JSON(apptest.ReadProblem(t, resp)))
					}
					ids[i] = resp.Header.Get("X-Run-Id")
				})
			}
			both.Wait()
			if ids[0] != ids[1] || ids[0] == "" {
				t.Errorf("the runs are %q, want one", ids)
			}
			apptest.Eventually(t, "all have ended", func() bool {
				return system.Number("SELECT COUNT(*) FROM runs WHERE state <> 'completed'") == 0
			})
		}
		apptest.CheckInvariants(t, system)
	})
}

// sendWithKey sends a question, and again while the database does not answer in time.
func sendWithKey(ctx context.Context, system *apptest.System, p *apptest.Process, c *apptest.Conversation) (*http.Response, error) {
	for {
		req, err := apptest.NewRequest(ctx, http.MethodPost, p.URL+"/api/chat/stream", c.Body, "Idempotency-Key", c.Key)
		if err != nil {
			return nil, err
		}
		resp, err := system.Client.Do(req)
		if err != nil || resp.StatusCode != http.StatusServiceUnavailable {
			return resp, err
		}
		if err := resp.Body.Close(); err != nil {
			return nil, err
		}
	}
}

// The same request sent to two processes at once, which names its message, or the block of
// its answer, begins one run.
func TestMessageSentToBoth(t *testing.T) {
	onPostgres(t, func(t *testing.T, system *apptest.System) {
		p := pair{T: t, system: system, owner: system.StartReplica(apptest.LongLease, nil), b: system.StartReplica(apptest.LongLease, nil)}
		for n := range 20 {
			gate := make(chan struct{})
			c := p.question("chat-"+strconv.Itoa(n), "queue", gate)
			system.Script(c.Question, c.Turns, c.Gate)
			if n%2 == 0 {
				c.Body["message_id"] = uuid.NewString()
			} else {
				c.Body["context"] = map[string]any{"current_page": "lab", "block_ids": "answer-" + strconv.Itoa(n)}
			}
			ids := make([]string, 2)
			var both sync.WaitGroup
			for i, at := range []*apptest.Process{p.owner, p.b} {
				both.Go(func() {
					resp := p.open(at, http.MethodPost, "/api/chat/stream", c.Body)
					defer resp.Body.Close()
					if resp.StatusCode != http.StatusOK {
						t.Errorf("status %d, want 200: %s", resp.StatusCode, apptest.JSON(apptest.ReadProblem(t, resp)))
					}
					ids[i] = resp.Header.Get("X-Run-Id")
				})
			}
			both.Wait()
			close(gate)
			if ids[0] != ids[1] || ids[0] == "" {
				t.Errorf("%v: the runs are %q, want one", c.Body, ids)
			}
		}
		apptest.Eventually(t, "all have ended", func() bool {
			return system.Number("SELECT COUNT(*) FROM runs WHERE state <> 'completed'") == 0
		})
		apptest.CheckInvariants(t, system)
		system.CheckScripted()
	})
}

// A question in the queue of one process starts when the answer before it ends in another
// process.
func TestQueueOverTwo(t *testing.T) {
	onPostgres(t, func(t *testing.T, system *apptest.System) {
		a := system.StartReplica(apptest.LongLease, nil)
		gate := make(chan struct{})
		first := one(system, gate)
		firstDone := first.Start(t)
		system.AwaitModel(t, first)
		b := system.StartReplica(apptest.LongLease, nil)
		system.OnlyUse(b)
		second := one(system, nil)
		secondDone := second.Start(t)
		apptest.Eventually(t, "the second question waits", func() bool {
			return system.Number("SELECT COUNT(DISTINCT replica) FROM runs") == 2
		})
		system.OnlyUse(a, b)
		third := one(system, nil)
		thirdDone := third.Start(t)
		apptest.Eventually(t, "the third question waits", func() bool {
			return system.Number("SELECT COUNT(*) FROM runs WHERE state = 'queued'") == 2
		})
		close(gate)
		ends(t, system, map[*apptest.Conversation]<-chan error{first: firstDone, second: secondDone, third: thirdDone})
	})
}

// A single process and several replicas cannot serve the same database. A second single
// process takes over from the first one at once.
func TestSingleProcess(t *testing.T) {
	onPostgres(t, func(t *testing.T, system *apptest.System) {
		// A process whose renewals are late would be no reason to refuse another one.
		system.Settings = append(system.Settings, "REPLICA_LEASE="+apptest.LongLease)
		system.Start()
		old := system.Process()
		gate := make(chan struct{})
		c := one(system, gate, []string{"book"})
		done := c.Start(t)
		system.AwaitModel(t, c)
		refused(t, system, "alone", "REPLICAS=many")

		system.Start() // as a rolling restart does, before the old one is stopped
		apptest.Eventually(t, "the model is asked by the next one", func() bool { return len(system.ModelCalls(c.Question)) == 2 })
		close(gate)
		apptest.Eventually(t, "the old one is not ready", func() bool {
			resp, err := http.Get(old.URL + "/readyz")
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			return resp.StatusCode == http.StatusServiceUnavailable
		})
		req, err := apptest.NewRequest(t.Context(), http.MethodPost, old.URL+"/api/chat/stream", c.Body, "Idempotency-Key", uuid.NewString())
		if err != nil {
			t.Fatal(err)
		}
		resp, err := system.Client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if p := apptest.ReadProblem(t, resp); resp.StatusCode != http.StatusServiceUnavailable || p.Code != schemas.CodeShuttingDown {
			t.Errorf("the old one answers with status %d, %s; want 503, shutting_down", resp.StatusCode, p.Code)
		}
		ends(t, system, map[*apptest.Conversation]<-chan error{c: done})

		system.Stop()
		old.Signal(syscall.SIGTERM)
		old.Wait()
		system.StartReplica(apptest.LongLease, nil)
		refused(t, system, "together", "REPLICAS=one")
	})
}

// A process that was replaced ends when the one that had replaced it was killed. What restarts
// it has it serve again, and continue what was left.
func TestDeserted(t *testing.T) {
	onPostgres(t, func(t *testing.T, system *apptest.System) {
		system.Settings = append(system.Settings, "REPLICA_LEASE="+apptest.ShortLease)
		system.Start()
		old := system.Process()
		gate := make(chan struct{})
		c := one(system, gate, []string{"book"})
		done := c.Start(t)
		system.AwaitModel(t, c)
		system.Start()
		apptest.Eventually(t, "the model is asked by the next one", func() bool { return len(system.ModelCalls(c.Question)) == 2 })
		later := system.Process()
		system.ExpectEnd()
		later.Kill()
		if code := old.Wait().ExitCode(); code != 1 || !strings.Contains(old.LastLines(), "no process serves the database") {
			t.Errorf("the old one ends with code %d, want 1 and why:\n%s", code, old.LastLines())
		}
		close(gate)
		system.Start()
		ends(t, system, map[*apptest.Conversation]<-chan error{c: done})
	})
}

// refused starts the program and expects that it exits with the error why.
func refused(t *testing.T, system *apptest.System, why, setting string) {
	t.Helper()
	environ := []string{"CHATTRAY_ADDR=127.0.0.1:0", "CHATTRAY_LOG_FORMAT=json"}
	for _, s := range append(slices.Clip(system.Settings), setting, "REPLICA_LEASE="+apptest.ShortLease) {
		environ = append(environ, "CHATTRAY_"+s)
	}
	_, err := apptest.Command(t, environ, "serve")
	if err == nil || !strings.Contains(err.Error(), why) {
		t.Errorf("the start with %s gives %v, want an error with %q", setting, err, why)
	}
}
