package services

import (
	"context"
	"iter"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/runlog"
)

// forever is longer than any run.
const forever = 24 * time.Hour

// Follow returns the events of a run of the user's after the cursor: those that
// are there, then live ones as they come, to the terminal event. Batches are
// never empty, but for one after each span of silence as long as idle (0 for
// none), and one at once for a reader who has to wait for an event that may be
// far: of a queued run, or one who comes back and has missed nothing. The
// sequence ends with runlog.ErrInterrupted when the run is to go on later; the
// reader comes back with its cursor. It ends with an error when ctx does. A
// cursor at or past the terminal event is runlog.ErrEnded; one past the newest
// event of a run under way, as after a restored database, reads from the start.
func (r *Runs) Follow(ctx context.Context, user schemas.User, id string, after int64, idle time.Duration) (iter.Seq2[[]runlog.Event, error], error) {
	if one := r.find(id); one != nil {
		if one.owner.ID != user.ID {
			return nil, schemas.ErrNotFound
		}
		if last, over := one.log.ended(); over && after >= last {
			return nil, runlog.ErrEnded
		}
		if after > one.log.last() {
			after = 0
		}
		return func(yield func([]runlog.Event, error) bool) { r.followLive(ctx, one, after, idle, yield) }, nil
	}
	rec, err := r.owned(ctx, user, id)
	if err != nil {
		return nil, err
	}
	if rec.State.Terminal() && after >= rec.LastSeq {
		return nil, runlog.ErrEnded
	}
	return func(yield func([]runlog.Event, error) bool) {
		if _, more := r.replay(ctx, id, after, 0, yield); more && !rec.State.Terminal() {
			yield(nil, runlog.ErrInterrupted)
		}
	}, nil
}

// replay yields stored events after the cursor, up to the number (0 for all);
// it returns the last one's number and whether the reader wants more.
func (r *Runs) replay(ctx context.Context, id string, after, through int64, yield func([]runlog.Event, error) bool) (int64, bool) {
	segments, err := r.Store.Segments(ctx, id, after)
	if err != nil {
		yield(nil, err)
		return after, false
	}
	for _, s := range segments {
		events, err := decodeEvents(s.Data)
		if err != nil {
			yield(nil, err)
			return after, false
		}
		from, to := 0, len(events)
		for from < to && events[from].Seq <= after {
			from++
		}
		for through > 0 && to > from && events[to-1].Seq > through {
			to--
		}
		if from == to {
			continue
		}
		r.frames(events[from:to])
		after = events[to-1].Seq
		if !yield(events[from:to], nil) {
			return after, false
		}
	}
	return after, true
}

// frames encodes what a stored log does not hold.
func (r *Runs) frames(events []runlog.Event) {
	var arena []byte
	for i := range events {
		start := len(arena)
		arena = r.Frame(arena, &events[i])
		if len(arena) > start {
			events[i].Frame = arena[start:len(arena):len(arena)]
		}
	}
}

func (r *Runs) followLive(ctx context.Context, one *run, after int64, idle time.Duration, yield func([]runlog.Event, error) bool) {
	bell, leave := one.log.subscribe()
	defer r.left(one, leave)
	r.absent.end(one)
	if after < one.log.base { // events of earlier attempts
		var more bool
		if after, more = r.replay(ctx, one.id, after, one.log.base, yield); !more {
			return
		}
		after = max(after, one.log.base)
	}
	if idle <= 0 {
		idle = forever
	} else if events, open := one.log.since(after); len(events) == 0 && open && (after > 0 || r.queued(one)) && !yield(nil, nil) {
		return
	}
	r.followBell(ctx, one, after, bell, idle, yield)
}

// queued says whether the run waits for its turn.
func (r *Runs) queued(one *run) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return one.attempt == 0
}

// followBell yields what is new each time the bell rings, and an empty batch
// when silence has lasted.
func (r *Runs) followBell(ctx context.Context, one *run, after int64, bell <-chan struct{}, idle time.Duration, yield func([]runlog.Event, error) bool) {
	silence := time.NewTimer(idle)
	defer silence.Stop()
	for {
		events, open := one.log.since(after)
		if len(events) > 0 {
			after = events[len(events)-1].Seq
			if !yield(events, nil) {
				return
			}
			silence.Reset(idle)
			continue
		}
		if !open {
			if _, over := one.log.ended(); !over {
				yield(nil, runlog.ErrInterrupted)
			}
			return
		}
		select {
		case <-bell:
		case <-silence.C:
			silence.Reset(idle)
			if !yield(nil, nil) {
				return
			}
		case <-ctx.Done():
			yield(nil, context.Cause(ctx))
			return
		}
	}
}
