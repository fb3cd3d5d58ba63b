package readers

import (
	"context"
	"errors"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/services/eventlog"
)

// forever is longer than any run.
const forever = 24 * time.Hour

// follower is one reader of a run. After is the number of the last event that it has
// read.
type follower struct {
	*Readers
	user, id string
	after    int64
	idle     time.Duration
	ahead    bool // the cursor may be of no event
	begun    bool // it has read something, or had its first keep-alive
}

// follow yields events, wherever the run is, until its end or the reader's.
func (f *follower) follow(ctx context.Context, yield func([]runlog.Event, error) bool) {
	f.readers(1)
	defer f.readers(-1)
	if f.ahead {
		future, err := f.Future(ctx, schemas.User{ID: f.user}, f.id, f.after)
		if err != nil {
			yield(nil, err)
			return
		}
		if future {
			f.after = 0
		}
	}
	for {
		if run := f.Own(f.id); run != nil && (f.Tail == nil || !run.Log.Given()) {
			if !f.own(ctx, run, yield) {
				return
			}
			if f.Tail == nil {
				yield(nil, runlog.ErrInterrupted)
				return
			}
			continue
		}
		if !f.elsewhere(ctx, yield) {
			return
		}
	}
}

// elsewhere reads a run that is not in this process: from the store, or as another process
// goes on with it. More reports that it is no longer there. It is a function of its own
// because a stored run takes a kilobyte of the stack, which a reader of a run here has not.
func (f *follower) elsewhere(ctx context.Context, yield func([]runlog.Event, error) bool) (more bool) {
	stored, err := f.Runs.Run(ctx, f.id)
	if err != nil {
		yield(nil, err)
		return false
	}
	if stored.State.Terminal() || f.Tail == nil {
		f.rest(ctx, stored, yield)
		return false
	}
	if err := f.closed(); err != nil {
		yield(nil, err)
		return false
	}
	m, err := f.mirrors.open(ctx, stored)
	if err != nil {
		yield(nil, err)
		return false
	}
	if m == nil {
		return true
	}
	defer f.mirrors.leave(m)
	return f.mirrored(ctx, m, yield)
}

// logged is yield, and logs why a run could not be read: its reader is only asked to come
// back.
func (f *follower) logged(ctx context.Context, yield func([]runlog.Event, error) bool) func([]runlog.Event, error) bool {
	return func(events []runlog.Event, err error) bool {
		if err != nil && ctx.Err() == nil && !errors.Is(err, runlog.ErrInterrupted) {
			f.Logger.WarnContext(ctx, "a run could not be read; its reader is asked to come back", "run_id", f.id, "after", f.after, "error", err)
		}
		return yield(events, err)
	}
}

// own reads a run of this process. More reports that the run is no longer here, and that
// the reader wants more.
func (f *follower) own(ctx context.Context, run *Run, yield func([]runlog.Event, error) bool) (more bool) {
	bell, leave := run.Log.Subscribe()
	defer run.Left(leave)
	run.Came()
	if base := run.Log.Base(); run.Before > 0 && run.Before <= f.after && f.after < base {
		f.after = base // there is nothing to read in between
	}
	return f.log(ctx, run.Log, bell, nil, run.Queued, yield)
}

// mirrored reads a run of another process, as own does, over all its attempts. It ends
// when the run is this process's, and with the mirror.
func (f *follower) mirrored(ctx context.Context, m *mirror, yield func([]runlog.Event, error) bool) (more bool) {
	for log := m.current(); log != nil; {
		bell, leave := log.Subscribe()
		more := f.log(ctx, log.Log, bell, f.ends, m.queued(), yield)
		leave()
		if !more {
			return false
		}
		if log = m.next(log); log != nil {
			f.after = max(f.after, log.Base()) // what came before is in the log before
		}
	}
	if err := m.fault(); err != nil {
		yield(nil, err)
		return false
	}
	return true
}

// rest yields what the store has of a run after the cursor. A run that has not ended
// continues later.
func (f *follower) rest(ctx context.Context, stored record.Run, yield func([]runlog.Event, error) bool) {
	done, err := f.turns.take(ctx, f.user)
	if err != nil {
		yield(nil, err)
		return
	}
	defer done()
	f.replay(ctx, stored, yield)
}

// replay is rest within a turn of the user's. The log may go while it is read.
func (f *follower) replay(ctx context.Context, stored record.Run, yield func([]runlog.Event, error) bool) {
	if stored.State.Terminal() && f.Keep > 0 && time.Since(stored.EndedAt) > f.Keep { // it may still be in memory
		f.dropped(ctx, stored, yield)
		return
	}
	whole := false
	after, more := f.Replays.Read(ctx, f.id, f.after, 0, func(events []runlog.Event, err error) bool {
		whole = len(events) > 0 && events[len(events)-1].Terminal()
		return yield(events, err)
	})
	f.after = after
	switch {
	case !more || whole:
	case stored.State.Terminal():
		f.dropped(ctx, stored, yield)
	default:
		yield(nil, runlog.ErrInterrupted)
	}
}

// log yields the events of a log after the cursor, and before them those of earlier
// attempts from the store. More reports that the log was closed before the run's end,
// and that the reader wants more. The reader has to leave when ends is closed.
func (f *follower) log(ctx context.Context, log *eventlog.Log, bell, ends <-chan struct{}, queued bool, yield func([]runlog.Event, error) bool) (more bool) {
	if f.after < log.Base() {
		done, err := f.turns.take(ctx, f.user)
		if err != nil {
			yield(nil, err)
			return false
		}
		f.after, more = f.Replays.Read(ctx, f.id, f.after, log.Base(), yield)
		if done(); !more {
			return false
		}
		f.after = max(f.after, log.Base())
	}
	if !f.begun && f.idle > 0 && log.Last() <= f.after && !log.Closed() && (f.after > 0 || queued) && !yield(nil, nil) {
		return false
	}
	f.begun = true
	return f.live(ctx, log, bell, ends, yield)
}

// live yields the events of a log after the cursor each time the bell rings, and an empty
// batch after each idle period.
func (f *follower) live(ctx context.Context, log *eventlog.Log, bell, ends <-chan struct{}, yield func([]runlog.Event, error) bool) (more bool) {
	idle := f.idle
	if idle <= 0 {
		idle = forever
	}
	silence := time.NewTimer(idle)
	defer silence.Stop()
	tail := log.Tail(f.after)
	defer tail.Rest()
	var leave <-chan time.Time
	for {
		events, open := tail.Next()
		if len(events) > 0 {
			f.after = events[len(events)-1].Seq
			if !yield(events, nil) {
				return false
			}
			silence.Reset(idle)
			continue
		}
		if !open {
			_, over := log.Ended()
			return !over
		}
		select {
		case <-bell:
		case <-silence.C:
			silence.Reset(idle)
			if !yield(nil, nil) {
				return false
			}
		case <-ends:
			ends, leave = nil, time.After(f.leaveAfter())
		case <-leave:
			yield(nil, f.leaving())
			return false
		case <-ctx.Done():
			yield(nil, context.Cause(ctx))
			return false
		}
	}
}
