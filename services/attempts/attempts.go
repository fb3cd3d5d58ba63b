// Package attempts reads what earlier attempts of a run have stored: its
// checkpoints, its tool calls and its log. It decides how much of it still
// counts, and owns the content of a checkpoint.
package attempts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/concurrent"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/services/eventlog"
)

// Stored are the runs that are stored.
type Stored interface {
	// Run returns a run; an unknown id is schemas.ErrNotFound.
	Run(ctx context.Context, id string) (record.Run, error)
}

// Lost closes the log of an attempt that is fenced off: another process works on the run, or
// its chat has been deleted. Then the run is cancelled for its readers.
func Lost(runs Stored, log *eventlog.Log, id string, logger *slog.Logger) {
	ctx, done := context.WithTimeout(context.Background(), eventlog.CommitWait)
	defer done()
	if _, err := runs.Run(ctx, id); errors.Is(err, schemas.ErrNotFound) {
		log.Cancel()
		return
	}
	logger.Warn("another process works on this run", "run_id", id)
	log.Close()
}

// Checkpoint is the content of a checkpoint: a whole reply of the model, the
// start of a server action, or a mark.
type Checkpoint struct {
	Reply  *turn.Reply `json:"reply,omitempty"`
	Action bool        `json:"action,omitempty"`
	// Spent is what the run had used of each model at that time.
	Spent []record.ModelUsage `json:"spent,omitempty"`
	// WorkedMS is how long all attempts had worked at that time, in milliseconds.
	WorkedMS int64 `json:"worked_ms,omitempty"`
	Mark     *Mark `json:"mark,omitempty"`
}

// MarkNumber is the number of the checkpoint that holds the mark. Checkpoints of
// replies have numbers from 1.
const MarkNumber = 0

// Mark is written when a run is recovered, before it does anything: the next
// start can tell from it in which run the process ended.
type Mark struct {
	Attempt int `json:"attempt"`
	// Steps is how many replies there were: more of them mean progress.
	Steps int `json:"steps"`
	// Uncounted is the number of attempts that do not count as failed.
	Uncounted int `json:"spared,omitempty"`
	// Alone is when the run's trial began, in milliseconds; 0 means that it is
	// not, or no longer, on trial.
	Alone int64 `json:"alone,omitempty"`
	// Left is true if the attempt ended in good order or only waits. Fresh is
	// true if another run was found to be the cause of the earlier crashes.
	Left  bool `json:"left,omitempty"`
	Fresh bool `json:"fresh,omitempty"`
}

// Crashed reports whether the process ended during this attempt of the run, for
// an unknown reason.
func (m *Mark) Crashed(attempt int) bool {
	return m != nil && m.Attempt == attempt && !m.Left && !m.Fresh
}

// Store reads what runs have stored.
type Store interface {
	// Left calls found with what the attempts of runs have stored, for at most atOnce of
	// them at a time. No attempt of them may write meanwhile.
	Left(ctx context.Context, ids []string, atOnce int, found func(some []record.Left))
}

// Each calls do for each of the runs with what their attempts have stored, for at most
// atOnce of them at a time.
func Each(ctx context.Context, store Store, taken []record.Taken, atOnce int, do func(i int, left *record.Left)) {
	ids, at := make([]string, len(taken)), make(map[string]int, len(taken))
	for i := range taken {
		ids[i], at[taken[i].ID] = taken[i].ID, i
	}
	store.Left(ctx, ids, atOnce, func(some []record.Left) {
		concurrent.Each(len(some), atOnce, func(i int) { do(at[some[i].ID], &some[i]) })
	})
}

// One returns what the attempts of one run have stored.
func One(ctx context.Context, store Store, id string) (left record.Left) {
	store.Left(ctx, []string{id}, 1, func(some []record.Left) { left = some[0] })
	return left
}

// Read reads what the attempts of a run have stored. If that is broken, the result is as
// if they had stored nothing.
func Read(left *record.Left) (*Earlier, error) {
	e, err := read(left)
	if err != nil {
		e = Nothing()
	}
	e.Cancel, e.Uncounted = left.CancelRequested, left.Uncounted
	if e.Mark != nil {
		uncounted := e.Mark.Uncounted
		if left.State == schemas.RunWaiting {
			uncounted++ // the attempt before this one
		}
		e.Uncounted = max(e.Uncounted, uncounted)
	}
	return e, err
}

func read(left *record.Left) (*Earlier, error) {
	if left.Err != nil {
		return nil, left.Err
	}
	e := new(Earlier)
	for _, c := range left.Checkpoints {
		if err := e.add(c); err != nil {
			return nil, fmt.Errorf("read checkpoint %d: %w", c.N, err)
		}
	}
	log, err := readLog(left.Segments)
	if err != nil {
		return nil, err
	}
	e.compare(left.ToolCalls, log)
	return e, nil
}

// add adds a checkpoint.
func (e *Earlier) add(c record.Checkpoint) error {
	var stored Checkpoint
	if err := json.Unmarshal(c.Data, &stored); err != nil {
		return err
	}
	e.Worked = max(e.Worked, time.Duration(stored.WorkedMS)*time.Millisecond)
	if c.N == MarkNumber {
		e.Mark = stored.Mark
		return nil
	}
	e.Action = e.Action || stored.Action
	if stored.Spent != nil {
		e.Spent = stored.Spent
	}
	if stored.Reply != nil {
		e.Steps = append(e.Steps, turn.Step{Reply: *stored.Reply, Results: make([]*turn.Result, len(stored.Reply.ToolCalls))})
	}
	return nil
}

// readLog reads the log of a run.
func readLog(segments []record.Segment) ([]runlog.Event, error) {
	var events []runlog.Event
	for _, s := range segments {
		list, err := eventlog.Decode(s.Data)
		if err != nil {
			return nil, fmt.Errorf("read the log: %w", err)
		}
		for _, e := range list { // two segments may share events
			if n := len(events); n == 0 || e.Seq > events[n-1].Seq {
				events = append(events, e)
			}
		}
	}
	return events, nil
}
