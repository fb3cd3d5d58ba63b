package crash

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/schemas"
)

// poisonous is a run whose tool ends the process each time it is called.
func poisonous(system *apptest.System, chat string) *apptest.Conversation {
	c := system.NewConversation(chat, "reject")
	c.Plan([][]string{{"look"}})
	return c
}

// startUntilOver starts the program each time it ends, until the run is over.
func startUntilOver(system *apptest.System, t *testing.T, over <-chan error) {
	t.Helper()
	for {
		select {
		case err := <-over:
			if err != nil {
				t.Fatal(err)
			}
			return
		case <-system.Died:
			system.Start()
		}
	}
}

// startThree starts three runs whose model waits for the gate.
func startThree(system *apptest.System, t *testing.T, gate <-chan struct{}) (runs []*apptest.Conversation, ends []<-chan error) {
	t.Helper()
	for n := range 3 {
		c := system.Gated("chat-"+strconv.Itoa(n), "reject", gate)
		runs, ends = append(runs, c), append(ends, c.Start(t))
		system.AwaitModel(t, c)
	}
	return runs, ends
}

// A run that kills its process is found and ended with a reason; the other runs
// lose nothing, although they wrote nothing in the meantime.
func TestPoisonousRunIsContained(t *testing.T) {
	t.Parallel()
	apptest.OnDatabases(t, func(t *testing.T, system *apptest.System) {
		system.Start()
		gate := make(chan struct{})
		others, ends := startThree(system, t, gate)
		bad := poisonous(system, "bad")
		system.KillOnCall(bad.Keys()[0])
		startUntilOver(system, t, bad.Start(t))
		if last := bad.Frames[len(bad.Frames)-1].Event; last.Type != schemas.TypeError || last.Code != schemas.CodeInterrupted {
			t.Errorf("the poisonous run ended with %+v, want the error interrupted", last)
		}
		var run schemas.Run
		if _, err := system.Call(t.Context(), http.MethodGet, "/api/chat/runs/"+bad.ID(), &run); err != nil || run.Error == nil || !strings.Contains(run.Error.Message, "given up") {
			t.Errorf("the run has the error %+v (%v), want one that says it was given up", run.Error, err)
		}
		if lines := system.Process().LastLines(); !strings.Contains(lines, bad.ID()) {
			t.Errorf("the log does not name the run %s, want a line about it:\n%s", bad.ID(), lines)
		}
		if got := apptest.Get(t, system.URL(t)+"/metrics"); !strings.Contains(got, "chattray_runs_contained_total 1") {
			t.Errorf("the metrics lack chattray_runs_contained_total 1:\n%s", got)
		}
		// The process is killed once more, but not by one of these runs.
		system.Restart()
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

// A run that kills its process while another of its calls waits does not count
// as one that only waits. Neither does a run whose call was answered before the
// process ended.
func TestPoisonousRunThatWaits(t *testing.T) {
	t.Parallel()
	apptest.OnDatabases(t, func(t *testing.T, system *apptest.System) {
		system.Start()
		bad := system.NewConversation("bad", "reject")
		bad.Plan([][]string{{"order", "look"}})
		system.KillOnCall(bad.Keys()[1])
		startUntilOver(system, t, bad.Start(t))
		if last := bad.Frames[len(bad.Frames)-1].Event; last.Type != schemas.TypeError || last.Code != schemas.CodeInterrupted {
			t.Errorf("the run that waits beside it ended with %+v, want the error interrupted", last)
		}
	})
}

// A stop during trials leaves the runs in good order, and the process ends.
func TestStopWhileRunsAreHeld(t *testing.T) {
	t.Parallel()
	system, gate := startWithDrain(t, "100ms"), make(chan struct{})
	conversations, ends := startThree(system, t, gate)
	for range 2 {
		system.Restart()
	}
	system.Stop()
	system.Start()
	close(gate)
	for _, end := range ends { // each within apptest.Limit
		if err := <-end; err != nil {
			t.Error(err)
		}
	}
	apptest.CheckAll(t, conversations...)
}
