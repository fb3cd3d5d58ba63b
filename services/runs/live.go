package runs

import (
	"context"
	"iter"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/services/readers"
)

// Follow returns the events of a user's run after the cursor, see readers.Readers.
func (r *Runs) Follow(ctx context.Context, user schemas.User, id string, after int64, idle time.Duration) (iter.Seq2[[]runlog.Event, error], error) {
	if r.acts == nil || r.find(id) != nil {
		return r.readers.Follow(ctx, user, id, after, idle)
	}
	return r.readElsewhere(ctx, user, id, after, idle)
}

// Future reports whether a cursor is of no event of an unfinished run, see readers.Readers.
func (r *Runs) Future(ctx context.Context, user schemas.User, id string, after int64) (bool, error) {
	return r.readers.Future(ctx, user, id, after)
}

// own returns a run of this process for its readers as find does, nil for any other.
func (r *Runs) own(id string) *readers.Run {
	r.beginning.Wait(id)
	r.mu.Lock()
	defer r.mu.Unlock()
	run := r.live[id]
	if run == nil {
		return nil
	}
	own := &readers.Run{
		Owner: run.Owner.ID, Log: run.log, Queued: run.Attempt == 0,
		Came: func() { r.absent.End(run) }, Left: func(leave func() int) { r.left(run, leave) },
	}
	if run.earlier != nil {
		own.Before = run.earlier.Last()
	}
	return own
}

// Live returns the ids of the unfinished runs of a user's chat: the running one
// first, then the waiting ones, oldest first.
func (r *Runs) Live(ctx context.Context, user schemas.User, chat string) ([]string, error) {
	if r.acts != nil {
		return r.acts.Live(ctx, user, chat)
	}
	return r.liveOf(user, func(run *run) bool { return run.ChatKey == chat }), nil
}

// LiveIn returns the ids of the unfinished runs of a user's document, from any chat, in the
// order of Live: those that write the document, and those on its page.
func (r *Runs) LiveIn(ctx context.Context, user schemas.User, document string) ([]string, error) {
	if r.acts != nil {
		return r.acts.LiveIn(ctx, user, document)
	}
	return r.liveOf(user, func(run *run) bool { return turn.DocumentID(run.Request.Context, run.ChatID) == document }), nil
}

// liveOf returns the ids of the unfinished runs of a user here for which is holds.
func (r *Runs) liveOf(user schemas.User, is func(*run) bool) []string {
	return idsOf(r.those(func(run *run) bool {
		_, over := run.log.Ended()
		return !over && run.Owner.ID == user.ID && is(run)
	}))
}
