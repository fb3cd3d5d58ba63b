package replicas

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chattray/chattray/agents/modeltest/upstream"
	"github.com/chattray/chattray/app/apptest"
)

var figures = flag.Bool("figures", false, "measure what reading at another process costs")

// load is what TestFigures measures under: runs at a time, their tokens, and the time
// between two. The tokens of all runs come at the same times, or those of each at its own:
// then every one is a message of its own.
type load struct {
	runs, words int
	pause       time.Duration
	together    bool
}

var loads = []load{
	{50, 400, 20 * time.Millisecond, false},
	{100, 400, 20 * time.Millisecond, false},
	{100, 400, 20 * time.Millisecond, true},
	{100, 800, 10 * time.Millisecond, false},
	{100, 800, 10 * time.Millisecond, true},
}

func (l load) String() string {
	times := "each at its own times"
	if l.together {
		times = "at the same times"
	}
	return fmt.Sprintf("%d runs of %d tokens, one every %v, %s", l.runs, l.words, l.pause, times)
}

// TestFigures measures what it costs to read a run at a process that does not write it:
// how much later tokens arrive, and the processor time of both processes for each token.
func TestFigures(t *testing.T) {
	if !*figures {
		t.Skip("only with -figures")
	}
	for _, c := range []carrier{none, overNATS} {
		t.Run(c.name, func(t *testing.T) {
			for _, d := range apptest.Databases() {
				if d.Name != "postgres" {
					continue
				}
				system := apptest.NewSystem(t, d.Fresh(t))
				system.Unwatched = true
				c.use(system)
				owner, other := system.StartReplica(apptest.LongLease, nil), system.StartReplica(apptest.LongLease, nil)
				loads[0].measure(t, system, owner, owner, other) // connections are made, pages are read
				for _, l := range loads {
					here := l.measure(t, system, owner, owner, other)
					there := l.measure(t, system, owner, other, other)
					t.Log(l)
					t.Logf("at its own process: %s", here)
					t.Logf("at another process: %s", there)
					t.Logf("later at another process: p50 %v, p99 %v; %.1f µs of CPU more for each token",
						there.at(50)-here.at(50), there.at(99)-here.at(99), float64((there.cpu-here.cpu).Microseconds())/float64(l.runs*l.words))
				}
			}
		})
	}
}

// measured has the times from a model's tokens to their arrival at a client, sorted, and
// the processor time that the processes used.
type measured struct {
	late []time.Duration
	cpu  time.Duration
	took time.Duration
}

func (m measured) at(percent int) time.Duration { return m.late[len(m.late)*percent/100] }

func (m measured) String() string {
	return "p50 " + m.at(50).String() + ", p99 " + m.at(99).String() + ", " + strconv.Itoa(int(float64(len(m.late))/m.took.Seconds())) + " tokens/s, CPU " + m.cpu.String()
}

// measure has the owner write answers while clients read them at reader.
func (l load) measure(t *testing.T, system *apptest.System, owner, reader, other *apptest.Process) measured {
	t.Helper()
	p := pair{T: t, system: system, owner: owner, b: reader}
	var m measured
	var mu sync.Mutex
	var clients sync.WaitGroup
	gate := make(chan struct{})
	for n := range l.runs {
		after := spread(n, l.runs, l.pause)
		if l.together {
			after = 0
		}
		c := system.NewConversation("chat-"+strconv.Itoa(system.Mark()), "queue")
		system.Model.On(func(r upstream.Request) bool { return strings.HasSuffix(r.Last("user").Text(), c.Question) }, clocked(l.words, l.pause, after, gate))
		begun := p.open(owner, http.MethodPost, "/api/chat/stream", c.Body)
		_ = begun.Body.Close()
		id := begun.Header.Get("X-Run-Id")
		stream := p.open(reader, http.MethodGet, "/api/chat/runs/"+id+"/stream", nil)
		began := make(chan struct{})
		clients.Go(func() {
			defer stream.Body.Close()
			late := delays(stream.Body, func() { close(began) })
			mu.Lock()
			defer mu.Unlock()
			m.late = append(m.late, late...)
		})
		<-began
	}
	if reader != owner {
		apptest.Eventually(t, "the mirrors are fed", func() bool {
			return metric(t, reader, `chattray_mirrors{via="bus"}`)+metric(t, reader, `chattray_mirrors{via="log"}`) >= float64(l.runs)
		})
		<-time.After(time.Second) // every reader's process has asked for the runs
	}
	stop := stayAwake()
	defer stop()
	before, start := cpuOf(t, owner)+cpuOf(t, other), time.Now()
	close(gate)
	clients.Wait()
	m.cpu, m.took = cpuOf(t, owner)+cpuOf(t, other)-before, time.Since(start)
	slices.Sort(m.late)
	if len(m.late) == 0 {
		t.Fatal("no token has come")
	}
	return m
}

// spread returns when the nth of some runs writes its first word: those of different runs
// are not written at once, as those of runs that were begun at different times are not.
func spread(n, runs int, pause time.Duration) time.Duration {
	return pause * time.Duration(n) / time.Duration(runs)
}

// clocked is a reply of a model: begin, and once the gate has been open for a while words
// that each say when they were written. A word that is late makes the next one no later:
// else the words of many runs would come to be written together.
func clocked(words int, pause, after time.Duration, gate <-chan struct{}) upstream.Reply {
	count := func(w http.ResponseWriter, r *http.Request) bool {
		begun := time.Now().Add(after)
		for n := range words {
			due := upstream.Delay(time.Until(begun.Add(time.Duration(n) * pause)))
			if !due(w, r) || !upstream.Say(strconv.FormatInt(time.Now().UnixNano(), 10)+" ")(w, r) {
				return false
			}
		}
		return true
	}
	return upstream.Open(upstream.Say("begin "), upstream.Wait(gate), count, upstream.Finish("stop"), upstream.Usage(10, 2), upstream.Done())
}

// delays returns how late the words of a clocked reply come out of a stream, and calls
// began at its beginning.
func delays(stream io.Reader, began func()) (late []time.Duration) {
	once := sync.OnceFunc(began)
	for lines := bufio.NewScanner(stream); lines.Scan(); {
		arrived := time.Now()
		_, text, found := strings.Cut(lines.Text(), `"text":"`)
		text, _, _ = strings.Cut(text, ` "`)
		if found && strings.HasPrefix(text, "begin") {
			once()
		}
		if n, err := strconv.ParseInt(text, 10, 64); found && err == nil && n > 1e18 {
			late = append(late, arrived.Sub(time.Unix(0, n)))
		}
	}
	return late
}

// cpuOf returns the processor time that a process has used.
func cpuOf(t *testing.T, p *apptest.Process) time.Duration {
	t.Helper()
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("no /proc")
	}
	return time.Duration(metric(t, p, "process_cpu_seconds_total") * float64(time.Second))
}
