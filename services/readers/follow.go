package readers

import (
	"context"
	"errors"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/concurrent"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/services/eventlog"
)

// forever is longer than any run.
const forever = 24 * time.Hour

// errDone ends the reading for a reader that has seen the end of the run or wants no more.
var errDone = errors.New("the reader is done")

// follower is one reader of a run. After is the number of the last event that it has
// read. Where a method that reads returns nil, the run may continue elsewhere; with any
// error the reading is over.
type follower struct {
	*Readers
	user, id string
	after    int64
	idle     time.Duration
	ahead    bool // the cursor may be of no event
	begun    bool // it has read something, or had its first keep-alive
	yield    func([]runlog.Event, error) bool
}

// show yields events, none as a keep-alive.
func (f *follower) show(events []runlog.Event) error {
	over := false
	if n := len(events); n > 0 {
		f.after, over = events[n-1].Seq, events[n-1].Terminal()
	}
	if !f.yield(events, nil) || over {
		return errDone
	}
	return nil
}

// end tells the reader why the reading is over. If the run could not be read, that is
// logged: the reader is only asked to come back.
func (f *follower) end(ctx context.Context, err error) {
	if errors.Is(err, errDone) {
		return
	}
	if ctx.Err() == nil && !errors.Is(err, runlog.ErrInterrupted) {
		f.Logger.WarnContext(ctx, "a run could not be read; its reader is asked to come back", "run_id", f.id, "after", f.after, "error", err)
	}
	f.yield(nil, err)
}

// follow reads the run, wherever it is, until its end or the reader's. The error is never
// nil.
func (f *follower) follow(ctx context.Context) error {
	if f.ahead {
		future, err := f.Future(ctx, schemas.User{ID: f.user}, f.id, f.after)
		if err != nil {
			return err
		}
		if future {
			f.after = 0
		}
	}
	for {
		if run := f.Own(f.id); run != nil && (f.Tail == nil || !run.Log.Given()) {
			if err := f.own(ctx, run); err != nil {
				return err
			}
			if f.Tail == nil {
				return runlog.ErrInterrupted
			}
			continue
		}
		if err := f.elsewhere(ctx); err != nil {
			return err
		}
	}
}

// elsewhere reads a run that is not in this process: from the store, or as another process
// goes on with it.
func (f *follower) elsewhere(ctx context.Context) error {
	m, stored, err := f.join(ctx)
	switch {
	case m != nil:
		defer f.mirrors.leave(m)
		return f.mirrored(ctx, m)
	case stored != nil:
		return f.rest(ctx, stored)
	default:
		return err
	}
}

// join opens the mirror of a run, or returns the run if it can only be read from the store,
// and nothing if it may be in this process now. What it needs of the stack a reader does not
// keep as long as it reads.
func (f *follower) join(ctx context.Context) (m *mirror, stored *record.Run, err error) {
	err = concurrent.OnFreshStack(func() error {
		run, err := f.Runs.Run(ctx, f.id)
		if err != nil {
			return err
		}
		if run.State.Terminal() || f.Tail == nil {
			stored = &run
			return nil
		}
		if err = f.closed(); err == nil {
			m, err = f.mirrors.open(ctx, run)
		}
		return err
	})
	return m, stored, err
}

// own reads a run of this process.
func (f *follower) own(ctx context.Context, run *Run) error {
	bell, leave := run.Log.Subscribe()
	defer run.Left(leave)
	run.Came()
	if base := run.Log.Base(); run.Before > 0 && run.Before <= f.after && f.after < base {
		f.after = base // there is nothing to read in between
	}
	return f.log(ctx, run.Log, bell, nil, run.Queued)
}

// mirrored reads a run of another process, as own does, over all its attempts. It ends
// when the run is this process's, and with the mirror.
func (f *follower) mirrored(ctx context.Context, m *mirror) error {
	for log := m.current(); log != nil; {
		bell, leave := log.Subscribe()
		err := f.log(ctx, log.Log, bell, f.ends, m.queued())
		leave()
		if err != nil {
			return err
		}
		if log = m.next(log); log != nil {
			f.after = max(f.after, log.Base()) // what came before is in the log before
		}
	}
	return m.fault()
}

// rest shows what the store has of a run after the cursor. A run that has not ended
// continues later. The error is never nil.
func (f *follower) rest(ctx context.Context, stored *record.Run) error {
	done, err := f.turns.take(ctx, f.user)
	if err != nil {
		return err
	}
	defer done()
	return f.replay(ctx, stored)
}

// replay is rest within a turn of the user's. The log may go while it is read.
func (f *follower) replay(ctx context.Context, stored *record.Run) (err error) {
	if stored.State.Terminal() && f.Keep > 0 && time.Since(stored.EndedAt) > f.Keep { // it may still be in memory
		return f.dropped(ctx, stored)
	}
	f.after, err = f.Replays.Read(ctx, f.id, f.after, 0, f.show)
	switch {
	case err != nil:
		return err
	case stored.State.Terminal():
		return f.dropped(ctx, stored)
	default:
		return runlog.ErrInterrupted
	}
}

// log shows the events of a log after the cursor, and before them those of earlier
// attempts from the store. It returns nil if the log was closed before the run's end. The
// reader has to leave when ends is closed.
func (f *follower) log(ctx context.Context, log *eventlog.Log, bell, ends <-chan struct{}, queued bool) error {
	if f.after < log.Base() {
		done, err := f.turns.take(ctx, f.user)
		if err != nil {
			return err
		}
		f.after, err = f.Replays.Read(ctx, f.id, f.after, log.Base(), f.show)
		if done(); err != nil {
			return err
		}
		f.after = max(f.after, log.Base())
	}
	if !f.begun && f.idle > 0 && log.Last() <= f.after && !log.Closed() && (f.after > 0 || queued) {
		if err := f.show(nil); err != nil {
			return err
		}
	}
	f.begun = true
	return f.live(ctx, log, bell, ends)
}

// live shows the events of a log after the cursor each time the bell rings, and a
// keep-alive after each idle period.
func (f *follower) live(ctx context.Context, log *eventlog.Log, bell, ends <-chan struct{}) error {
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
			if err := f.show(events); err != nil {
				return err
			}
			silence.Reset(idle)
			continue
		}
		if !open {
			if _, over := log.Ended(); over {
				return errDone
			}
			return nil
		}
		select {
		case <-bell:
		case <-silence.C:
			silence.Reset(idle)
			if err := f.show(nil); err != nil {
				return err
			}
		case <-ends:
			ends, leave = nil, time.After(f.leaveAfter())
		case <-leave:
			return f.leaving()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
