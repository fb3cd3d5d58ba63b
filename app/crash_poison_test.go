package app

import (
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/schemas"
)

// poison is a run whose tool ends the process each time it is called.
func (w *world) poison(chat string) *talk {
	k := w.newTalk(chat, "reject")
	k.plan([][]string{{"look"}})
	return k
}

// revive starts the program each time it ends, until the run is over.
func (w *world) revive(t *testing.T, over <-chan error) {
	t.Helper()
	for {
		select {
		case err := <-over:
			if err != nil {
				t.Fatal(err)
			}
			return
		case <-w.died:
			w.start()
		}
	}
}

// again kills the program and starts it again.
func (w *world) again() {
	w.t.Helper()
	p := w.now
	w.leave()
	p.kill()
	w.start()
}

// A run that kills its process is found and ended, and says why; the runs beside
// it lose nothing, though they have written nothing for as long as it lasted.
func TestPoisonousRunIsContained(t *testing.T) {
	for _, d := range apptest.Databases() {
		t.Run(d.Name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, d.Fresh(t))
			w.start()
			gate := make(chan struct{})
			var others []*talk
			var ends []<-chan error
			for n := range 3 {
				k := w.gated("other-"+strconv.Itoa(n), "reject", gate)
				others, ends = append(others, k), append(ends, k.going(t))
				w.writing(t, k)
			}
			bad := w.poison("bad")
			w.deadly(bad.keys()[0])
			w.revive(t, bad.going(t))
			if last := bad.got[len(bad.got)-1].event; last.Type != schemas.TypeError || last.Code != schemas.CodeInterrupted {
				t.Errorf("the poisonous run ended with %+v", last)
			}
			var run schemas.Run
			if _, err := w.call(t.Context(), http.MethodGet, "/api/chat/runs/"+bad.id(), &run); err != nil || run.Error == nil || !strings.Contains(run.Error.Message, "given up") {
				t.Errorf("the run says %+v (%v)", run.Error, err)
			}
			if said := w.now.lastLines(); !strings.Contains(said, bad.id()) {
				t.Errorf("the log does not name the run:\n%s", said)
			}
			if got := get(t, w.url(t)+"/metrics"); !strings.Contains(got, "chattray_runs_contained_total 1") {
				t.Error("the metric does not count it")
			}
			// More ends of the process, which nobody here is to blame for.
			w.again()
			close(gate)
			for n, end := range ends {
				if err := <-end; err != nil {
					t.Fatal(err)
				}
				if last := others[n].got[len(others[n].got)-1].event; last.Type != schemas.TypeComplete {
					t.Errorf("another run ended with %+v", last)
				}
			}
			holds(t, others...)
		})
	}
}

// A run that kills its process while another call of it waits is not taken for
// one that only waits, and neither is one whose call goes on because it has its
// answer since before the process ended.
func TestPoisonousRunThatWaits(t *testing.T) {
	for _, d := range apptest.Databases() {
		t.Run(d.Name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, d.Fresh(t))
			w.start()
			bad := w.newTalk("bad", "reject")
			bad.plan([][]string{{"order", "look"}})
			w.deadly(bad.keys()[1])
			w.revive(t, bad.going(t))
			if last := bad.got[len(bad.got)-1].event; last.Type != schemas.TypeError || last.Code != schemas.CodeInterrupted {
				t.Errorf("the run that waits beside it ended with %+v", last)
			}
		})
	}
}

// A stop in the middle of trials leaves runs in good order, and the process ends.
func TestStopWhileRunsAreHeld(t *testing.T) {
	t.Parallel()
	w := newWorld(t, apptest.SQLite.Fresh(t))
	w.settings = append(w.settings, "DRAIN=100ms")
	w.start()
	gate := make(chan struct{})
	var talks []*talk
	var ends []<-chan error
	for n := range 3 {
		k := w.gated("chat-"+strconv.Itoa(n), "reject", gate)
		talks, ends = append(talks, k), append(ends, k.going(t))
		w.writing(t, k)
	}
	for range 2 {
		w.again()
	}
	p := w.now
	w.leave()
	p.signal(syscall.SIGTERM)
	if end := p.wait(); end.ExitCode() != 0 {
		t.Errorf("the program ended with %v", end)
	}
	w.start()
	close(gate)
	for _, end := range ends {
		select {
		case err := <-end:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(talkLimit):
			t.Fatal("a run does not end")
		}
	}
	holds(t, talks...)
}
