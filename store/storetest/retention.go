package storetest

import (
	"errors"
	"testing"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

// logged makes an ended run with a log of so many segments, and a trace.
func (f *fixture) logged(segments int) string {
	w := f.begin("q")
	f.mustCommit(w)
	end := f.finish(w, "a")
	end.Finish.Log = func(yield func(record.Segment) bool) {
		for i := range int64(segments) {
			if !yield(segment(1+10*i, 1+10*i, "not a neighbour")) {
				return
			}
		}
	}
	end.Finish.LastSeq = 1 + 10*int64(segments-1)
	f.mustCommit(end)
	return w.RunID
}

// kept reports whether a run's log and trace are stored.
func (f *fixture) kept(id string) (log, trace bool) {
	f.Helper()
	list, err := f.store.Segments(f.ctx, id, 0)
	must(f, err)
	_, err = f.store.Trace(f.ctx, id)
	if err != nil && !errors.Is(err, schemas.ErrNotFound) {
		f.Fatal(err)
	}
	return len(list) > 0, err == nil
}

// drop deletes the logs of runs that ended before a time, and returns the number of runs and
// of steps.
func (f *fixture) drop(before time.Time) (runs, steps int) {
	f.Helper()
	for at, more := int64(0), true; more; more = at > 0 {
		var n int
		var err error
		steps++
		at, n, err = f.store.DropLogs(f.ctx, at, before, f.now())
		must(f, err)
		runs += n
	}
	return runs, steps
}

func testOldLogs(t *testing.T, url string) {
	f := newFixture(t, open(t, url))
	var old []string
	for range 60 {
		old = append(old, f.logged(1))
	}
	large := f.logged(300) // more rows than a step deletes
	between := f.now()
	open := f.begin("still open")
	f.mustCommit(open)
	late := f.logged(1)

	if runs, _ := f.drop(start); runs != 0 {
		t.Errorf("got %d runs without their logs, want none that ended before all of them", runs)
	}
	if runs, steps := f.drop(between); runs != 61 || steps < 2 {
		t.Errorf("got %d runs in %d steps, want 61 in several", runs, steps)
	}
	for _, id := range append(old, large) {
		if log, trace := f.kept(id); log || trace {
			t.Fatalf("the run %s has its log: %v, its trace: %v, want neither", id, log, trace)
		}
	}
	if run, err := f.store.Run(f.ctx, old[0]); err != nil || run.State != schemas.RunCompleted {
		t.Errorf("got the run %+v, %v, want it as it was", run, err)
	}
	if log, _ := f.kept(late); !log {
		t.Error("the last log has gone, want it there")
	}
}

// A run that waits for its user for weeks keeps only its own log, until it has ended and is
// old itself.
func testLogsAfterOpenRun(t *testing.T, url string) {
	f := newFixture(t, open(t, url))
	waits := f.begin("waits")
	f.mustCommit(waits)
	var later []string
	for range 120 { // several steps
		later = append(later, f.logged(1))
	}
	for sweep, want := range []int{120, 0} {
		if runs, _ := f.drop(f.now()); runs != want {
			t.Errorf("sweep %d: got %d runs, want %d", sweep, runs, want)
		}
	}
	for _, id := range later {
		if log, trace := f.kept(id); log || trace {
			t.Fatalf("the later run %s has its log: %v, its trace: %v, want neither", id, log, trace)
		}
	}
	answered := f.now()
	f.mustCommit(f.finish(waits, "a"))
	last := f.logged(1)
	for _, sweep := range []struct {
		before time.Time
		runs   int
		log    bool
	}{{answered, 0, true}, {f.now(), 2, false}} {
		if runs, _ := f.drop(sweep.before); runs != sweep.runs {
			t.Errorf("got %d runs after the end, want %d", runs, sweep.runs)
		}
		for _, id := range []string{waits.RunID, last} {
			if log, _ := f.kept(id); log != sweep.log {
				t.Errorf("the log of %s is there: %v, want %v", id, log, sweep.log)
			}
		}
	}
}

// A clock was far ahead while a run ended. The logs of later runs are deleted all the same,
// and its own with them.
func testLogOfTheFuture(t *testing.T, url string) {
	f := newFixture(t, open(t, url))
	w := f.begin("q")
	f.mustCommit(w)
	end := f.finish(w, "a")
	end.Finish.Log, end.Finish.EndedAt = log(segment(1, 1, "x")), f.now().AddDate(70, 0, 0)
	f.mustCommit(end)
	before := f.now()
	if runs, _ := f.drop(f.now()); runs != 0 {
		t.Errorf("got %d runs, want none as long as it may have ended just now", runs)
	}
	later := f.logged(1)
	behind := f.begin("q")
	f.mustCommit(behind)
	past := f.finish(behind, "a")
	past.Finish.EndedAt = f.now().AddDate(-20, 0, 0)
	f.mustCommit(past)
	if runs, _ := f.drop(before); runs != 0 {
		t.Errorf("got %d runs, want none before the one after it is old", runs)
	}
	if runs, _ := f.drop(f.now()); runs != 3 {
		t.Errorf("got %d runs, want all", runs)
	}
	for _, id := range []string{w.RunID, later} {
		if log, _ := f.kept(id); log {
			t.Errorf("the log of %s is there, want it deleted", id)
		}
	}
}

// The newest runs were deleted after their logs. The logs of later runs are deleted in their
// turn.
func testLogsOfLaterRuns(t *testing.T, url string) {
	f := newFixture(t, open(t, url))
	first := f.logged(1)
	f.logged(1)
	f.drop(f.now())
	list, err := f.store.ChatsAfter(f.ctx, f.owner, 0, 10)
	must(f, err)
	for _, chat := range list {
		must(f, f.store.DeleteChat(f.ctx, f.owner, chat.ConversationID))
	}
	fails(f, "the first run", func() error { _, err := f.store.Run(f.ctx, first); return err }(), schemas.ErrNotFound)
	later := f.logged(1)
	if runs, _ := f.drop(f.now()); runs != 1 {
		t.Errorf("got %d runs, want the later one", runs)
	}
	if log, trace := f.kept(later); log || trace {
		t.Errorf("the later run has its log: %v, its trace: %v, want neither", log, trace)
	}
}

func testOldChats(t *testing.T, url string) {
	f := newFixture(t, open(t, url))
	old := f.turn("q", "a")
	busy := f.begin("q")
	f.mustCommit(busy)
	again := f.turn("q", "a")
	between := f.now()
	used := f.turn("q", "a")
	list, more, err := f.store.OldChats(f.ctx, between)
	must(f, err)
	if len(list) != 3 || more {
		t.Fatalf("got the old chats %+v, more: %v, want 3 and no more", list, more)
	}
	f.turn("more", "a", func(g *record.Begin) { g.ConversationID = again.Run.ConversationID })
	deleted := 0
	for _, chat := range list {
		ok, err := f.store.DeleteOldChat(f.ctx, chat, between)
		must(f, err)
		if ok {
			deleted++
			if chat.ConversationID != old.Run.ConversationID {
				t.Errorf("the chat %d was deleted, want only %d", chat.ConversationID, old.Run.ConversationID)
			}
		}
	}
	if deleted != 1 {
		t.Errorf("got %d deleted chats, want 1: of the others one has an open run, one was used", deleted)
	}
	if _, err := f.store.Chat(f.ctx, f.owner, old.Run.ConversationID); !errors.Is(err, schemas.ErrNotFound) {
		t.Errorf("the old chat gives %v, want not found", err)
	}
	for _, id := range []int64{busy.Begin.Run.ConversationID, again.Run.ConversationID, used.Run.ConversationID} {
		if _, err := f.store.Chat(f.ctx, f.owner, id); err != nil {
			t.Errorf("the chat %d gives %v, want it there", id, err)
		}
	}
	if list, _, err := f.store.OldChats(f.ctx, start); err != nil || len(list) != 0 {
		t.Errorf("got %+v, %v, want no chat from before all of them", list, err)
	}
}
