package crash

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

// poisonous is a run whose tool ends the process each time it is called.
func poisonous(w *apptest.System, chat string) *apptest.Conversation {
	k := w.NewConversation(chat, "reject")
	k.Plan([][]string{{"look"}})
	return k
}

// startUntilOver starts the program each time it ends, until the run is over.
func startUntilOver(w *apptest.System, t *testing.T, over <-chan error) {
	t.Helper()
	for {
		select {
		case err := <-over:
			if err != nil {
				t.Fatal(err)
			}
			return
		case <-w.Died:
			w.Start()
		}
	}
}

// A run that kills its process is found and ended, and says why; the runs beside
// it lose nothing, though they have written nothing for as long as it lasted.
func TestPoisonousRunIsContained(t *testing.T) {
	for _, d := range apptest.Databases() {
		t.Run(d.Name, func(t *testing.T) {
			t.Parallel()
			w := apptest.NewSystem(t, d.Fresh(t))
			w.Start()
			gate := make(chan struct{})
			var others []*apptest.Conversation
			var ends []<-chan error
			for n := range 3 {
				k := w.Gated("other-"+strconv.Itoa(n), "reject", gate)
				others, ends = append(others, k), append(ends, k.Start(t))
				w.AwaitModel(t, k)
			}
			bad := poisonous(w, "bad")
			w.KillOnCall(bad.Keys()[0])
			startUntilOver(w, t, bad.Start(t))
			if last := bad.Frames[len(bad.Frames)-1].Event; last.Type != schemas.TypeError || last.Code != schemas.CodeInterrupted {
				t.Errorf("the poisonous run ended with %+v, want the error interrupted", last)
			}
			var run schemas.Run
			if _, err := w.Call(t.Context(), http.MethodGet, "/api/chat/runs/"+bad.ID(), &run); err != nil || run.Error == nil || !strings.Contains(run.Error.Message, "given up") {
				t.Errorf("the run says %+v (%v), want that it was given up", run.Error, err)
			}
			if said := w.Process().LastLines(); !strings.Contains(said, bad.ID()) {
				t.Errorf("the log lacks the run %s:\n%s", bad.ID(), said)
			}
			if got := apptest.Get(t, w.URL(t)+"/metrics"); !strings.Contains(got, "chattray_runs_contained_total 1") {
				t.Errorf("the metrics lack chattray_runs_contained_total 1:\n%s", got)
			}
			// More ends of the process, which nobody here is to blame for.
			w.Restart()
			close(gate)
			for n, end := range ends {
				if err := <-end; err != nil {
					t.Fatal(err)
				}
				if last := others[n].Frames[len(others[n].Frames)-1].Event; last.Type != schemas.TypeComplete {
					t.Errorf("another run ended with %+v, want complete", last)
				}
			}
			apptest.CheckAll(t, others...)
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
			w := apptest.NewSystem(t, d.Fresh(t))
			w.Start()
			bad := w.NewConversation("bad", "reject")
			bad.Plan([][]string{{"order", "look"}})
			w.KillOnCall(bad.Keys()[1])
			startUntilOver(w, t, bad.Start(t))
			if last := bad.Frames[len(bad.Frames)-1].Event; last.Type != schemas.TypeError || last.Code != schemas.CodeInterrupted {
				t.Errorf("the run that waits beside it ended with %+v, want the error interrupted", last)
			}
		})
	}
}

// A stop in the middle of trials leaves runs in good order, and the process ends.
func TestStopWhileRunsAreHeld(t *testing.T) {
	t.Parallel()
	w := apptest.NewSystem(t, apptest.SQLite.Fresh(t))
	w.Settings = append(w.Settings, "DRAIN=100ms")
	w.Start()
	gate := make(chan struct{})
	var conversations []*apptest.Conversation
	var ends []<-chan error
	for n := range 3 {
		k := w.Gated("chat-"+strconv.Itoa(n), "reject", gate)
		conversations, ends = append(conversations, k), append(ends, k.Start(t))
		w.AwaitModel(t, k)
	}
	for range 2 {
		w.Restart()
	}
	p := w.Process()
	w.ExpectEnd()
	p.Signal(syscall.SIGTERM)
	if end := p.Wait(); end.ExitCode() != 0 {
		t.Errorf("the program ended with %v, want exit status 0", end)
	}
	w.Start()
	close(gate)
	for _, end := range ends {
		select {
		case err := <-end:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(apptest.Limit):
			t.Fatal("a run does not end")
		}
	}
	apptest.CheckAll(t, conversations...)
}
