package storetest

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

// testLeft reads what several runs have stored together, as each of them is read alone:
// from the journal, from its final place and from both.
func testLeft(t *testing.T, url string) {
	f := newFixture(t, open(t, url))
	var ids []string
	for n := range 5 {
		w := f.begin(fmt.Sprint("q", n))
		f.mustCommit(w)
		ids = append(ids, w.RunID)
	}
	ids = append(ids, newID())
	written := make([]int64, len(ids))
	write := func(n int) {
		t.Helper()
		written[n]++
		s := record.Segment{First: written[n], Last: written[n], Data: []byte(fmt.Sprint(n, " writes ", written[n]))}
		c := record.Checkpoint{N: int(written[n]), Data: json.RawMessage(fmt.Sprintf(`{"run":%d}`, n))}
		call := record.ToolCall{
			RunID: ids[n], Index: int(written[n]), Name: "search", State: record.ToolFinished, Attempt: 1, Input: json.RawMessage(`{}`), Output: "found", ModelOutput: "found", StartedAt: start,
		}
		f.mustCommit(&record.Write{RunID: ids[n], Attempt: 1, Segment: &s, Checkpoint: &c, ToolCall: &call})
	}
	check := func(what string) {
		t.Helper()
		for _, atOnce := range []int{1, 2, 64} {
			var got []record.Left
			f.store.Left(f.ctx, ids, atOnce, func(some []record.Left) {
				if len(some) > atOnce {
					t.Errorf("%s: %d runs at a time, want at most %d", what, len(some), atOnce)
				}
				got = append(got, some...)
			})
			equal(f, what+": runs", len(got), len(ids))
			for n, left := range got[:len(ids)-1] {
				var want record.Left
				var err error
				want.Run, err = f.store.Run(f.ctx, ids[n])
				must(f, err)
				want.Checkpoints, err = f.store.Checkpoints(f.ctx, ids[n])
				must(f, err)
				want.ToolCalls, err = f.store.ToolCalls(f.ctx, ids[n])
				must(f, err)
				want.Segments, err = f.store.Segments(f.ctx, ids[n], 0)
				must(f, err)
				if diff := cmp.Diff(want, left, cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("%s: run %d, %d at a time, differs (-want +got):\n%s", what, n, atOnce, diff)
				}
				if got := len(left.Checkpoints); got != int(written[n]) {
					t.Errorf("%s: %d checkpoints of run %d, want %d", what, got, n, written[n])
				}
			}
			fails(f, what+": a run that is not there", got[len(ids)-1].Err, schemas.ErrNotFound)
		}
	}
	check("nothing is written")
	for n := range ids[:3] {
		for range n + 1 {
			write(n)
		}
	}
	check("in the journal")
	must(f, f.store.Tidy(f.ctx, nil))
	check("in its final place")
	write(1)
	write(3)
	check("in both")

	over, cancel := context.WithCancel(f.ctx)
	cancel()
	asked := 0
	f.store.Left(over, ids, 2, func(some []record.Left) {
		for _, left := range some {
			if left.ID != ids[asked] || left.Err == nil || left.State != "" {
				t.Errorf("run %d of a context that has ended: %q, %q, error %v, want an error for %q", asked, left.ID, left.State, left.Err, ids[asked])
			}
			asked++
		}
	})
	equal(f, "runs with an error", asked, len(ids))
}
