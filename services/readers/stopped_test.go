package readers_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/services/eventlog"
	"github.com/chattray/chattray/services/readers"
)

// A reader of another process's run, at a process that no longer follows runs, gets what
// is stored and then has to come back: that is no failure.
func TestFollowAfterMirrorsStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDatabase()
		o := process{d: d, name: "a"}.begin("r")
		o.write(t, 5)
		o.flush()
		r := readers.New(readers.Options{
			Own: func(string) *readers.Run { return nil }, Runs: d, Tail: d, Lease: lease,
			Replays: eventlog.NewReplays(eventlog.ReplayOptions{Load: d.next}),
		})
		over, cancel := context.WithCancel(t.Context())
		cancel()
		r.Watch(over)
		seq, err := r.Follow(t.Context(), user, "r", 0, 0)
		if err != nil {
			t.Fatalf("Follow: %v, want events", err)
		}
		var end error
		for _, err := range seq {
			end = err
		}
		if !errors.Is(end, runlog.ErrInterrupted) {
			t.Errorf("the events end with %v, want ErrInterrupted", end)
		}
	})
}

// An ended run that cannot be read is told to the operator; its reader has to come back.
func TestUnreadableIsLogged(t *testing.T) {
	d := newDatabase()
	d.runs["r"] = &record.Run{ID: "r", Owner: user, State: schemas.RunCompleted, LastSeq: 5}
	var log strings.Builder
	r := readers.New(readers.Options{
		Own: func(string) *readers.Run { return nil }, Runs: d, Logger: slog.New(slog.NewTextHandler(&log, nil)),
		Replays: eventlog.NewReplays(eventlog.ReplayOptions{Load: func(context.Context, string, int64) (record.Segment, error) {
			return record.Segment{}, errAway
		}}),
	})
	seq, err := r.Follow(t.Context(), user, "r", 0, 0)
	if err != nil {
		t.Fatalf("Follow: %v, want events", err)
	}
	for _, err := range seq {
		if !errors.Is(err, errAway) {
			t.Errorf("the events end with %v, want %v", err, errAway)
		}
	}
	if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "run_id=r") || !strings.Contains(got, errAway.Error()) {
		t.Errorf("the log has %q, want one line with the run and the reason", got)
	}
}
