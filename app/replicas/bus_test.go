package replicas

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/relay/relaytest"
)

// carried returns the number of other processes' runs whose events a process gets in messages.
func carried(t *testing.T, p *apptest.Process) int {
	t.Helper()
	return int(metric(t, p, `chattray_mirrors{via="bus"}`))
}

// ready returns the text of a process's /readyz, which must say that it is ready.
func ready(t *testing.T, p *apptest.Process) string {
	t.Helper()
	resp, err := http.Get(p.URL + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("/readyz: status %d, %v, want 200", resp.StatusCode, err)
	}
	return string(body)
}

const (
	ok       = "ok\n"
	natsAway = "ok: nats is away, other replicas' runs are read from the database\n"
)

// long returns a question whose answer has the number of words, one every few milliseconds.
func long(system *apptest.System, words int) *apptest.Conversation {
	c := one(system, nil)
	c.Turns[0].Text = strings.Repeat("word ", words) + "end."
	c.Want = c.Turns[0].Text
	return c
}

// followed is a run that is read at its own process and at another one.
type followed struct {
	*testing.T
	system       *apptest.System
	owner, other *apptest.Process
	c            *apptest.Conversation
	done         <-chan error
	all          []*reading // the first is at the owner
}

// follow starts a long answer, and reads it at its own process and at the other one until
// that gets its events in messages.
func follow(t *testing.T, system *apptest.System, owner, other *apptest.Process, words int) *followed {
	t.Helper()
	f := &followed{T: t, system: system, owner: owner, other: other, c: long(system, words)}
	system.OnlyUse(owner)
	f.done = f.c.Start(t)
	system.AwaitModel(t, f.c)
	f.all = []*reading{doors[0].read(t, system, owner, f.c), doors[0].read(t, system, other, f.c), doors[1].read(t, system, other, f.c)}
	for _, r := range f.all {
		apptest.Eventually(t, "the stream has begun", func() bool { return strings.Contains(r.seen(), "word") })
	}
	f.isCarried(true)
	return f
}

// isCarried waits until the other process gets the events in messages, or no longer does.
func (f *followed) isCarried(want bool) {
	f.Helper()
	apptest.Eventually(f, "events come in the expected way", func() bool { return f.over() || (carried(f.T, f.other) == 1) == want })
}

func (f *followed) over() bool {
	return f.system.Text("SELECT state FROM runs WHERE id = $1", f.c.RunID) != "running"
}

// goesOn waits until all readers have received more.
func (f *followed) goesOn() {
	f.Helper()
	for _, r := range f.all {
		before := len(r.seen())
		apptest.Eventually(f, "the stream continues", func() bool { return f.over() || len(r.seen()) > before+500 })
	}
}

// ends checks that all have read the same, in one stream each, and that the run stayed
// with its process.
func (f *followed) ends() {
	f.Helper()
	want := f.all[0].whole(f.T)
	if got := f.all[1].whole(f.T); got != want {
		f.Errorf("another process sends\n%s\nwant as its own\n%s", got, want)
	}
	if got := f.all[2].whole(f.T); !strings.Contains(got, "event: done") && !strings.Contains(got, "complete") {
		f.Errorf("the stream of the dialect messages has no end:\n%s", got[max(0, len(got)-500):])
	}
	if n := attempt(f.system, f.c); n != 1 {
		f.Errorf("the run was taken over: attempt %d, want 1", n)
	}
	f.system.OnlyUse(f.owner, f.other)
	ends(f.T, f.system, map[*apptest.Conversation]<-chan error{f.c: f.done})
}

// NATS is killed in the middle of an answer, and comes back: no stream ends, the readiness
// says so, and the events come in messages again.
func TestNATSKilled(t *testing.T) {
	onPostgres(t, func(t *testing.T, system *apptest.System) {
		server := relaytest.Start(t)
		system.Settings = append(system.Settings, "NATS_URL="+server.URL)
		owner, other := system.StartReplica(apptest.LongLease, nil), system.StartReplica(apptest.LongLease, nil)
		for _, p := range []*apptest.Process{owner, other} {
			apptest.Eventually(t, "NATS is connected", func() bool { return ready(t, p) == ok })
		}
		f := follow(t, system, owner, other, 1500)
		server.Kill()
		apptest.Eventually(t, "the readiness says that NATS is away", func() bool { return ready(t, owner) == natsAway && ready(t, other) == natsAway })
		f.isCarried(false)
		f.goesOn()
		server.Start()
		back := time.Now()
		f.isCarried(true)
		t.Logf("events came in messages %v after NATS was back", time.Since(back))
		f.goesOn()
		f.ends()
		apptest.Eventually(t, "NATS is connected again", func() bool { return ready(t, owner) == ok && ready(t, other) == ok })
	})
}

// Processes whose NATS never answers start, say so, and work.
func TestNATSNeverThere(t *testing.T) {
	onPostgres(t, func(t *testing.T, system *apptest.System) {
		server := relaytest.Start(t)
		server.Kill()
		system.Settings = append(system.Settings, "NATS_URL="+server.URL)
		owner, other := system.StartReplica(apptest.LongLease, nil), system.StartReplica(apptest.LongLease, nil)
		if got := ready(t, owner); got != natsAway {
			t.Errorf("/readyz says %q, want %q", got, natsAway)
		}
		c := long(system, 50)
		system.OnlyUse(owner)
		done := c.Start(t)
		system.AwaitModel(t, c)
		want, got := doors[0].read(t, system, owner, c), doors[0].read(t, system, other, c)
		if got, want := got.whole(t), want.whole(t); got != want {
			t.Errorf("another process sends\n%s\nwant as its own\n%s", got, want)
		}
		ends(t, system, map[*apptest.Conversation]<-chan error{c: done})
	})
}

// The owner's connection to NATS is cut, is stalled in each direction, and flaps. No
// process takes its runs, and their readers elsewhere get everything once and in order.
func TestOwnerCutFromNATS(t *testing.T) {
	onPostgres(t, func(t *testing.T, system *apptest.System) {
		server := relaytest.Start(t)
		way := apptest.NewWay(t, server.URL)
		owner, other := system.StartReplica(apptest.LongLease, nil, "NATS_URL="+way.URL), system.StartReplica(apptest.LongLease, nil, "NATS_URL="+server.URL)
		f := follow(t, system, owner, other, 3000)
		for _, fault := range []struct {
			name   string
			begin  func()
			silent bool
		}{
			{"cut", way.Cut, true},
			{"stalled to NATS", func() { way.Stall(true, false) }, true},
			{"stalled from NATS", func() { way.Stall(false, true) }, false},
			{"stalled", func() { way.Stall(true, true) }, true},
		} {
			fault.begin()
			if fault.silent {
				f.isCarried(false)
			}
			f.goesOn()
			way.Stall(false, false)
			way.Restore()
			f.isCarried(true)
			f.goesOn()
		}
		for range 10 {
			way.Cut()
			f.goesOn()
			way.Restore()
		}
		f.ends()
	})
}

// A tenth of the messages that come from NATS is lost, doubled or swapped with the next one.
// Readers elsewhere get everything once and in order.
func TestMessagesInDisorder(t *testing.T) {
	onPostgres(t, func(t *testing.T, system *apptest.System) {
		way := relaytest.NewDisorder(t, relaytest.Start(t).URL, 0.1)
		system.Settings = append(system.Settings, "NATS_URL="+way.URL)
		owner, other := system.StartReplica(apptest.LongLease, nil), system.StartReplica(apptest.LongLease, nil)
		f := follow(t, system, owner, other, 1500)
		f.ends()
		if way.Lost.Load() == 0 || way.Doubled.Load() == 0 || way.Swapped.Load() == 0 {
			t.Errorf("%d messages were lost, %d doubled and %d swapped, want some of each", way.Lost.Load(), way.Doubled.Load(), way.Swapped.Load())
		}
		t.Logf("%d messages passed, %d were lost, %d doubled and %d swapped", way.Passed.Load(), way.Lost.Load(), way.Doubled.Load(), way.Swapped.Load())
	})
}
