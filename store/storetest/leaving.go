package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

// testLetGo lets runs of a replica go: no other one's, and none that has ended.
func testLetGo(t *testing.T, url string) {
	f := newFixture(t, open(t, url))
	mine, other, ended := f.begin("mine", of("a")), f.begin("other", of("b")), f.begin("ended", of("a"))
	f.mustCommit(mine, other, ended)
	f.mustCommit(f.finish(ended, "a"))
	must(t, f.store.Replicas().LetGo(f.ctx, "a", []string{mine.RunID, other.RunID, ended.RunID}))
	for _, tt := range []struct {
		w    *record.Write
		want string
	}{{mine, ""}, {other, "b"}, {ended, "a"}} {
		run, err := f.store.Run(f.ctx, tt.w.RunID)
		must(t, err)
		equal(t, "the replica of "+tt.w.Begin.Title, run.Replica, tt.want)
	}
}

// A replica that leaves in good order costs its runs no attempt, also those that it could not
// let go. One that is marked as gone does, and so does a process that is alone.
func testTakeLeft(t *testing.T, url string) {
	f := newFixture(t, open(t, url))
	r := f.store.Replicas()
	leave := func(id string) { must(t, r.Leave(f.ctx, id)) }
	mark := func(id string) {
		_, err := r.MarkGone(f.ctx, []string{id})
		must(t, err)
	}
	for _, tt := range []struct {
		what      string
		alone     bool
		lease     time.Duration
		ends      func(id string)
		uncounted int
	}{{"alone", true, time.Hour, leave, 0}, {"left", false, time.Hour, leave, 1}, {"marked as gone", false, -time.Second, mark, 0}} {
		others, err := r.Join(f.ctx, record.Replica{ID: tt.what, Alone: tt.alone}, tt.lease)
		must(t, err)
		equal(t, "in the way", others, nil)
		run := f.begin("running", of(tt.what))
		f.mustCommit(run)
		queue := f.begin("queued", of(tt.what), queued, in(run.Begin.Run.ConversationID))
		f.mustCommit(queue)
		tt.ends(tt.what)
		equal(t, tt.what, f.take("taker of "+tt.what, tt.what), []record.Taken{
			{ID: run.RunID, State: schemas.RunRunning, Attempt: 2},
			{ID: queue.RunID, State: schemas.RunQueued, Attempt: 0},
		})
		for w, want := range map[*record.Write]int{run: tt.uncounted, queue: 0} {
			run, err := f.store.Run(f.ctx, w.RunID)
			must(t, err)
			equal(t, tt.what+": attempts that do not count", run.Uncounted, want)
		}
	}
}

// testReading is where runs are read: it counts for a time, and not for the replica that
// asks.
func testReading(t *testing.T, url string) {
	f := newFixture(t, open(t, url))
	r := f.store.Replicas()
	elsewhere := func(what, run, replica string, want bool) {
		t.Helper()
		got, err := r.ReadElsewhere(f.ctx, run, replica)
		must(t, err)
		equal(t, what, got, want)
	}
	must(t, r.Read(f.ctx, []string{"r", "s"}, "a", time.Hour))
	elsewhere("read by another replica", "r", "b", true)
	elsewhere("read here", "r", "a", false)
	elsewhere("another run", "x", "b", false)
	must(t, r.Read(f.ctx, []string{"r"}, "a", 0))
	elsewhere("no longer read", "r", "b", false)
	elsewhere("the other one is read still", "s", "b", true)
}

// testFirst is the one of the live replicas that does what only one of them does. The database
// is served until all have left.
func testFirst(t *testing.T, url string) {
	f := newFixture(t, open(t, url))
	r := f.store.Replicas()
	for _, id := range []string{"a", "b"} {
		_, err := r.Join(f.ctx, record.Replica{ID: id, Name: "host"}, time.Hour)
		must(t, err)
	}
	first := func(what string, want ...bool) {
		t.Helper()
		for i, id := range []string{"a", "b"} {
			got, err := r.First(f.ctx, id)
			must(t, err)
			equal(t, what+": "+id, got, want[i])
		}
	}
	first("two", true, false)
	others, err := r.Drain(f.ctx, "a")
	must(t, err)
	equal(t, "others", others, true)
	first("one is about to leave", false, true)
	others, err = r.Drain(f.ctx, "b")
	must(t, err)
	equal(t, "others", others, false)
	first("both are", false, false)
	for _, id := range []string{"a", "b", ""} {
		served, err := r.Served(f.ctx, "gone")
		must(t, err)
		equal(t, "served until all have left", served, id != "")
		must(t, r.Leave(f.ctx, id))
	}
}

// testTailBounds reads more of other replicas' runs than comes at once.
func testTailBounds(t *testing.T, url string) {
	const most, all = 256, 260
	f := newFixture(t, open(t, url))
	r := f.store.Replicas()
	few, many := f.begin("few", of("a")), f.begin("many", of("a")) // their ids are in this order
	f.mustCommit(few, many)
	f.mustCommit(&record.Write{RunID: few.RunID, Attempt: 1, Segment: &record.Segment{First: 1, Last: 1, Data: []byte("x")}})
	for n := range int64(all) { // no two of them are joined
		f.mustCommit(&record.Write{RunID: many.RunID, Attempt: 1, Segment: &record.Segment{First: 2*n + 1, Last: 2*n + 1, Data: fmt.Append(nil, n)}})
	}
	list, last, more, err := r.Noted(f.ctx, "a", 0)
	must(t, err)
	equal(t, "the first rows", []any{len(list), more}, []any{most, true})
	list, _, more, err = r.Noted(f.ctx, "a", last)
	must(t, err)
	equal(t, "the other rows", []any{len(list), more}, []any{all + 1 - most, false})
	must(t, f.store.Tidy(f.ctx, []string{"a"}))
	found, complete, err := r.Stored(f.ctx, map[string]int64{few.RunID: 0, many.RunID: 0})
	must(t, err)
	equal(t, "segments", []int{len(found[few.RunID]), len(found[many.RunID])}, []int{1, most - 1})
	equal(t, "complete", []bool{complete(few.RunID), complete(many.RunID)}, []bool{true, false})
	got := found[many.RunID]
	found, complete, err = r.Stored(f.ctx, map[string]int64{many.RunID: got[len(got)-1].Last})
	must(t, err)
	equal(t, "the others", []any{len(found[many.RunID]), complete(many.RunID)}, []any{all + 1 - most, true})
}
