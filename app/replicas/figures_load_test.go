package replicas

import (
	"bufio"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chattray/chattray/agents/modeltest/upstream"
	"github.com/chattray/chattray/app/apptest"
)

// measuredOver runs a test for the figures on a fresh database that is not watched, with NATS.
func measuredOver(t *testing.T, test func(t *testing.T, system *apptest.System)) {
	t.Helper()
	if !*figures {
		t.Skip("only with -figures")
	}
	for _, d := range apptest.Databases() {
		if d.Name == "postgres" {
			system := apptest.NewSystem(t, d.Fresh(t))
			system.Unwatched = true
			overNATS.use(system)
			test(t, system)
			return
		}
	}
	t.Skip("no Postgres")
}

// begun starts runs at a process, whose model gives the reply, and returns their ids.
func begun(t *testing.T, system *apptest.System, at *apptest.Process, runs int, reply func(n int) upstream.Reply) []string {
	t.Helper()
	p := pair{T: t, system: system}
	ids := make([]string, runs)
	for n := range runs {
		c := system.NewConversation("chat-"+strconv.Itoa(system.Mark()), "queue")
		system.Model.On(func(r upstream.Request) bool { return strings.HasSuffix(r.Last("user").Text(), c.Question) }, reply(n))
		resp := p.open(at, http.MethodPost, "/api/chat/stream", c.Body)
		_ = resp.Body.Close()
		if ids[n] = resp.Header.Get("X-Run-Id"); resp.StatusCode != http.StatusOK {
			t.Fatalf("status %d, want 200", resp.StatusCode)
		}
	}
	return ids
}

// TestTakeoverFigures measures how long readers elsewhere wait for the first event of the
// next attempt after the process of their runs was killed.
func TestTakeoverFigures(t *testing.T) {
	for _, runs := range []int{100, 1000} {
		t.Run(strconv.Itoa(runs), func(t *testing.T) {
			measuredOver(t, func(t *testing.T, system *apptest.System) {
				owner, other := system.StartReplica(*lease, nil), system.StartReplica(*lease, nil)
				p := pair{T: t, system: system}
				gate := make(chan struct{})
				ids := begun(t, system, owner, runs, func(int) upstream.Reply { return clocked(1, 0, 0, gate) })
				first := make([]time.Time, runs)
				var begins, readers sync.WaitGroup
				for n, id := range ids {
					stream := p.open(other, http.MethodGet, "/api/chat/runs/"+id+"/stream", nil)
					begins.Add(1)
					began := sync.OnceFunc(begins.Done)
					readers.Go(func() {
						defer stream.Body.Close()
						for lines := bufio.NewScanner(stream.Body); lines.Scan(); {
							if strings.Contains(lines.Text(), `"begin`) {
								began()
							}
							if seq, ok := strings.CutPrefix(lines.Text(), "id: "); ok && len(seq) > 6 && first[n].IsZero() {
								first[n] = time.Now()
							}
						}
					})
				}
				begins.Wait()
				killed := time.Now()
				owner.Kill()
				system.OnlyUse(other)
				apptest.Eventually(t, "all runs are taken", func() bool { return system.Number("SELECT COUNT(*) FROM runs WHERE attempt = 2") == runs })
				taken := time.Since(killed)
				apptest.Eventually(t, "all runs continue", func() bool { return active(t, other) == runs })
				close(gate)
				readers.Wait()
				slices.SortFunc(first, time.Time.Compare)
				if first[0].IsZero() {
					t.Fatal("a reader has no event of the next attempt")
				}
				t.Logf("%d runs: first event of the next attempt after p50 %v, p99 %v, the last after %v; all taken after %v",
					runs, first[runs/2].Sub(killed), first[runs*99/100].Sub(killed), first[runs-1].Sub(killed), taken)
			})
		})
	}
}

// The readers of TestReadersFigures: runs with as many readers each, half of them at
// another process, and the words of an answer, one a second.
const (
	manyRuns, readersOfRun = 100, 100
	manyWords              = 20
)

// TestReadersFigures reads runs with 10,000 streams at two processes. None ends early.
func TestReadersFigures(t *testing.T) {
	measuredOver(t, func(t *testing.T, system *apptest.System) {
		processes := []*apptest.Process{system.StartReplica(apptest.LongLease, nil), system.StartReplica(apptest.LongLease, nil)}
		p := pair{T: t, system: system}
		gate := make(chan struct{})
		ids := begun(t, system, processes[0], manyRuns, func(n int) upstream.Reply {
			return clocked(manyWords, time.Second, spread(n, manyRuns, time.Second), gate)
		})
		var begins, readers sync.WaitGroup
		var incomplete atomic.Int64
		var mu sync.Mutex
		late, last := make([][]time.Duration, len(processes)), make([][]time.Duration, len(processes))
		for _, id := range ids {
			for n := range readersOfRun {
				at := n % len(processes)
				stream := p.open(processes[at], http.MethodGet, "/api/chat/runs/"+id+"/stream", nil)
				begins.Add(1)
				readers.Go(func() {
					defer stream.Body.Close()
					list := delays(stream.Body, begins.Done)
					if len(list) != manyWords {
						incomplete.Add(1)
					}
					mu.Lock()
					defer mu.Unlock()
					late[at] = append(late[at], list...)
					last[at] = append(last[at], list[max(0, len(list)-1):]...)
				})
			}
		}
		begins.Wait()
		before := cpuOf(t, processes[0]) + cpuOf(t, processes[1])
		close(gate)
		readers.Wait()
		used := cpuOf(t, processes[0]) + cpuOf(t, processes[1]) - before
		if n := incomplete.Load(); n > 0 {
			t.Errorf("%d of %d readers did not get the whole answer in one stream, want none", n, manyRuns*readersOfRun)
		}
		for at, list := range late {
			slices.Sort(list)
			m := measured{late: list}
			slices.Sort(last[at])
			end := measured{late: last[at]} // of answers that end within one second
			t.Logf("%d readers at %s process: p50 %v, p90 %v, p99 %v; the last word p50 %v, p99 %v",
				len(list)/manyWords, []string{"its own", "another"}[at], m.at(50), m.at(90), m.at(99), end.at(50), end.at(99))
		}
		for at, process := range processes {
			t.Logf("memory of process %d: %.0f MiB", at+1, process.Metric("process_resident_memory_bytes")/(1<<20))
		}
		t.Logf("CPU of both: %v for %d tokens", used, manyRuns*manyWords*readersOfRun)
	})
}

// The short answers of TestShortFigures.
const shortRuns, shortClients, shortWords = 2000, 32, 20

// TestShortFigures measures the processor time of short answers: at a process that is alone,
// and at two that share the work. Their ratio says how much more two processes with a core
// each can do than one, if the database has what it needs.
func TestShortFigures(t *testing.T) {
	figure := func(t *testing.T, system *apptest.System, processes ...*apptest.Process) time.Duration {
		p := pair{T: t, system: system}
		open := make(chan struct{})
		close(open)
		system.Model.On(func(upstream.Request) bool { return true }, clocked(shortWords, 0, 0, open))
		used := func() (sum time.Duration) {
			for _, process := range processes {
				sum += cpuOf(t, process)
			}
			return sum
		}
		round := func(runs int) {
			var next atomic.Int64
			var clients sync.WaitGroup
			for range shortClients {
				clients.Go(func() {
					for n := next.Add(1); n <= int64(runs); n = next.Add(1) {
						c := system.NewConversation("chat-"+strconv.Itoa(system.Mark()), "queue")
						resp := p.open(processes[int(n)%len(processes)], http.MethodPost, "/api/chat/stream", c.Body)
						_, _ = io.Copy(io.Discard, resp.Body) // its end is the run's
						_ = resp.Body.Close()
					}
				})
			}
			clients.Wait()
		}
		round(shortRuns / 10)
		before, written, began := used(), transactions(system), time.Now()
		round(shortRuns)
		took := time.Since(began)
		each := (used() - before) / shortRuns
		t.Logf("%d processes: %v of CPU and %.1f transactions for each answer, %.0f answers a second", len(processes), each,
			float64(transactions(system)-written)/shortRuns, shortRuns/took.Seconds())
		return each
	}
	var alone, together time.Duration
	t.Run("alone", func(t *testing.T) {
		measuredOver(t, func(t *testing.T, system *apptest.System) {
			system.Settings = slices.DeleteFunc(system.Settings, func(s string) bool { return strings.HasPrefix(s, "NATS_URL=") })
			system.Start()
			alone = figure(t, system, system.Process())
		})
	})
	t.Run("together", func(t *testing.T) {
		measuredOver(t, func(t *testing.T, system *apptest.System) {
			together = figure(t, system, system.StartReplica(apptest.LongLease, nil), system.StartReplica(apptest.LongLease, nil))
		})
	})
	if alone > 0 && together > 0 {
		t.Logf("two processes do %.2f times the work of one with the same processor time each", 2*float64(alone)/float64(together))
	}
}
