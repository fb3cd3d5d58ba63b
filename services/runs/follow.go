package runs

import (
	"context"
	"iter"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/runlog"
)

// Follow returns the events of a user's run after the cursor: first the stored
// ones, then live ones as they happen, up to the terminal event. An empty batch
// means keep-alive: one after each idle period (0 sends none), and one at once
// if the run is queued or the reader has missed nothing.
//
// The sequence ends with runlog.ErrInterrupted if the run continues later: the reader
// comes back with its cursor. It ends with an error when ctx ends. A cursor at or
// after the terminal event gives runlog.ErrEnded. A cursor after the newest
// event of a running run gets the events after it, unless it is far ahead
// (runlog.Future): then it reads from the start.
//
// Readers of stored events take turns. A reader whose turn does not come within a
// few seconds gets an error of code too_many_streams, which may also end the
// sequence; it comes back with its cursor.
func (r *Runs) Follow(ctx context.Context, user schemas.User, id string, after int64, idle time.Duration) (iter.Seq2[[]runlog.Event, error], error) {
	if run := r.find(id); run != nil {
		if run.owner.ID != user.ID {
			return nil, schemas.ErrNotFound
		}
		if last, over := run.log.Ended(); over && after >= last {
			return nil, runlog.ErrEnded
		}
		if runlog.Future(after, run.log.Last()) {
			after = 0
		}
		return func(yield func([]runlog.Event, error) bool) { r.followLive(ctx, run, after, idle, yield) }, nil
	}
	stored, err := r.Owned(ctx, user, id)
	if err != nil {
		return nil, err
	}
	if stored.State.Terminal() && after >= stored.LastSeq {
		return nil, runlog.ErrEnded
	}
	done, err := r.replays.Turn(ctx, user.ID)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, done) // even if nobody ranges over the events
	return func(yield func([]runlog.Event, error) bool) {
		defer stop()
		defer done()
		if _, more := r.replays.Read(ctx, id, after, 0, yield); more && !stored.State.Terminal() {
			yield(nil, runlog.ErrInterrupted)
		}
	}, nil
}

func (r *Runs) followLive(ctx context.Context, run *run, after int64, idle time.Duration, yield func([]runlog.Event, error) bool) {
	bell, leave := run.log.Subscribe()
	defer r.left(run, leave)
	r.absent.End(run)
	if after < run.log.Base() { // events of earlier attempts
		done, err := r.replays.Turn(ctx, run.owner.ID)
		if err != nil {
			yield(nil, err)
			return
		}
		var more bool
		after, more = r.replays.Read(ctx, run.id, after, run.log.Base(), yield)
		if done(); !more {
			return
		}
		after = max(after, run.log.Base())
	}
	if idle > 0 && run.log.Last() <= after && !run.log.Closed() && (after > 0 || r.queued(run)) && !yield(nil, nil) {
		return
	}
	run.log.Follow(ctx, after, bell, idle, yield)
}

// queued reports whether the run waits for its turn.
func (r *Runs) queued(run *run) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return run.attempt == 0
}
