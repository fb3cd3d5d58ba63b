package storetest

import (
	"testing"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

// testTail reads what other replicas write: from the journal in the order of its rows,
// and from its final place once it has been tidied.
func testTail(t *testing.T, url string) {
	f := newFixture(t, open(t, url))
	r := f.store.Replicas()
	for _, id := range []string{"a", "b"} {
		_, err := r.Join(f.ctx, record.Replica{ID: id, Name: "host"}, time.Hour)
		must(t, err)
	}
	one, two, other := f.begin("one", of("a")), f.begin("two", of("a")), f.begin("other", of("b"))
	f.mustCommit(one, two, other)
	write := func(w *record.Write, first, last int64, data string) {
		t.Helper()
		f.mustCommit(&record.Write{RunID: w.RunID, Attempt: 1, Segment: &record.Segment{First: first, Last: last, Data: []byte(data)}})
	}
	write(one, 1, 2, "ab")
	write(two, 1, 1, "x")
	write(other, 1, 1, "z")
	noted := func(n int64, want ...record.Noted) (last int64) {
		t.Helper()
		list, last, more, err := r.Noted(f.ctx, "a", n)
		must(t, err)
		equal(t, "noted", list, want)
		equal(t, "more", more, false)
		return last
	}
	last := noted(0,
		record.Noted{RunID: one.RunID, Segment: record.Segment{First: 1, Last: 2, Data: []byte("ab")}},
		record.Noted{RunID: two.RunID, Segment: record.Segment{First: 1, Last: 1, Data: []byte("x")}})
	write(one, 3, 3, "c")
	last = noted(last, record.Noted{RunID: one.RunID, Segment: record.Segment{First: 3, Last: 3, Data: []byte("c")}})
	equal(t, "the last row again", noted(last), last)

	must(t, f.store.Tidy(f.ctx, []string{"a"}))
	equal(t, "a tidied journal", noted(last), last)
	_, err := r.MarkGone(f.ctx, []string{"b"})
	must(t, err)
	must(t, r.Leave(f.ctx, "b"))
	progress, err := r.Progress(f.ctx, []string{one.RunID, other.RunID, "unknown"})
	must(t, err)
	if len(progress) == 2 && progress[0].ID == other.RunID {
		progress[0], progress[1] = progress[1], progress[0]
	}
	equal(t, "progress", progress, []record.Progress{
		{ID: one.RunID, State: schemas.RunRunning, Attempt: 1, Replica: "a", Held: true, Through: 3},
		{ID: other.RunID, State: schemas.RunRunning, Attempt: 1, Replica: "b"},
	})
	found, complete, err := r.Stored(f.ctx, map[string]int64{one.RunID: 2, two.RunID: 1, other.RunID: 0})
	must(t, err)
	equal(t, "stored runs", len(found), 1)
	equal(t, "stored", whole(found[one.RunID]), "abc")
	equal(t, "complete", []bool{complete(one.RunID), complete(two.RunID)}, []bool{true, true})
}
