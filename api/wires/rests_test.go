package wires_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chattray/chattray/api/wires"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/runlog"
)

// TestWhereAResponseMayBegin asks of every event of a run whether a response begins after it.
func TestWhereAResponseMayBegin(t *testing.T) {
	const base = runlog.AttemptSpan
	waiting := append(twoCalls(false), asks(10, 0), asks(11, 1))
	answered := slices.Concat(waiting, runs(12, 0, "where"), runs(14, 1, "where"))
	later := slices.Concat(waiting, again(11), runs(base+5, 0, "where"), []runlog.Event{asks(base+7, 1)})
	for _, tt := range []struct {
		name     string
		events   []runlog.Event
		state    schemas.RunState
		attempts int
		want     []int64 // all: nil
	}{
		{"a run that writes", beginning(0, 1), schemas.RunRunning, 1, []int64{}},
		{"two calls that wait", waiting, schemas.RunWaiting, 1, []int64{11}},
		{"the calls were answered", answered, schemas.RunRunning, 1, []int64{11, 13}},
		{"a later attempt runs a call at once", later, schemas.RunWaiting, 2, []int64{11, base + 4, base + 5, base + 7}},
		{"a later attempt begins meanwhile", later, schemas.RunWaiting, 1, []int64{11, base + 4, base + 5, base + 7}},
		{"the log is no longer kept", append(beginning(base, 2), ended(base)...), schemas.RunCompleted, 1, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			run := schemas.Run{RunID: "r", State: tt.state, Attempt: tt.attempts, LastSequence: tt.events[len(tt.events)-1].Seq}
			s := &wires.Service{Runs: live{run: run, batches: [][]runlog.Event{tt.events}}}
			got, all := []int64{}, true
			for _, after := range append([]int64{3, 500, base + 4}, numbers(tt.events)...) {
				rests, err := s.Rests(t.Context(), schemas.User{}, run, after)
				if err != nil {
					t.Fatal(err)
				}
				if all = all && rests; rests && !slices.Contains(got, after) {
					got = append(got, after)
				}
			}
			slices.Sort(got)
			if d := cmp.Diff(tt.want, got); d != "" && (tt.want != nil || !all) {
				t.Errorf("a response begins after (-want +got):\n%s", d)
			}
		})
	}
}

func numbers(events []runlog.Event) (list []int64) {
	for _, e := range events {
		list = append(list, e.Seq)
	}
	return list
}
