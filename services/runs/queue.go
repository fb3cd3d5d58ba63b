package runs

import (
	"context"
	"errors"
	"log/slog"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/services/answer"
	"github.com/chattray/chattray/services/attempts"
	"github.com/chattray/chattray/services/eventlog"
)

// startOnce calls start for a run that waits, unless somebody else starts it or Shutdown has
// begun, and reports whether it has. Shutdown waits for a start.
func (r *Runs) startOnce(run *run, start func()) bool {
	r.mu.Lock()
	starts := run.waits && !r.draining
	if starts {
		run.waits = false
		r.work.Add(1)
	}
	r.mu.Unlock()
	if starts {
		defer r.work.Done()
		start()
	}
	return starts
}

// waitAgain lets a run wait that does not start now.
func (r *Runs) waitAgain(run *run) {
	r.mu.Lock()
	defer r.mu.Unlock()
	run.waits = true
}

// setIdle records whether the run only waits for its user or for the page.
// Shutdown does not wait for such a run.
func (r *Runs) setIdle(run *run, idle bool) {
	if !idle {
		defer r.unread(run, r.DisconnectGrace)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if run.idle = idle; idle && r.idleEnds {
		run.stop(errShutdown)
	}
	if idle {
		select {
		case run.becameIdle <- struct{}{}:
		default:
		}
	}
}

// isIdle reports whether the run only waits for its user or for the page.
func (r *Runs) isIdle(run *run) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return run.idle
}

// endQueued ends a cancelled run that is queued or held, at once instead of
// when its turn comes. A queued run ends as attempt 0, because it never began.
func (r *Runs) endQueued(run *run) {
	r.startOnce(run, func() { r.goWork(run) })
}

// startQueued starts a queued run if it is its turn and nobody else starts it.
func (r *Runs) startQueued(ctx context.Context, run *run) {
	r.startOnce(run, func() { r.takeTurn(ctx, run) })
}

// takeTurn begins a queued run if it is its turn; otherwise the run waits again.
func (r *Runs) takeTurn(ctx context.Context, run *run) {
	defer r.leaveLate(run)
	if !r.claimQueued(ctx, run) {
		if context.Cause(run.ctx) != nil { // cancelled meanwhile
			r.endQueued(run)
		}
		return
	}
	begun, err := r.beginQueued(ctx, run)
	if err == nil {
		r.mu.Lock()
		run.Attempt, run.MessageID, run.Replaces, run.Lost = 1, begun.MessageID, begun.Replaces, begun.Lost
		r.mu.Unlock()
		r.goWork(run)
		return
	}
	r.unclaim(run.Owner.ID, run.ID, 0) // before anybody else may start it
	switch {
	case errors.Is(err, record.ErrBusy):
		r.waitAgain(run)
		switch {
		case context.Cause(run.ctx) != nil: // cancelled meanwhile
			r.endQueued(run)
		case r.acts == nil && !r.worksOn(run.ChatID): // the run before it has ended meanwhile, or is another process's
			r.noteUnpolled(run.ChatID)
		}
	case errors.Is(err, record.ErrReplaced):
		r.waitAgain(run)
		run.stop(answer.ErrCancelled)
		r.endQueued(run)
	case errors.Is(err, record.ErrFenced):
		attempts.Lost(r.Store.Runs, run.log, run.ID, r.Logger)
		r.abandon(run)
	default: // the attempt may have begun; the outcome is unknown
		r.untended.Write(ctx, r.Logger, slog.LevelError, "could not start a queued run", slog.String("run_id", run.ID), slog.Any("error", err))
		r.park(run.ID, parked{lease: run.lease, was: run})
		r.abandon(run)
	}
}

// beginQueued begins a queued run in the store. The ids that its client has chosen for
// the answer are the run's from now on.
func (r *Runs) beginQueued(ctx context.Context, run *run) (record.Begun, error) {
	names, err := r.Drafts.ChatBlocks(ctx, run.Owner, run.Request.Context, run.MessageID)
	if err != nil {
		return record.Begun{}, err
	}
	return r.Store.Queue.BeginQueued(ctx, run.ID, run.lease.ID, names)
}

// abandon drops a run that waited and does not start here. Its readers come back
// and find it where it continues.
func (r *Runs) abandon(run *run) {
	r.absent.End(run)
	r.forget(run)
	run.stop(nil)
	run.log.Close()
	r.free(run)
	close(run.done)
}

// next starts the oldest queued run of a chat, if none is running. A run that is queued here
// but not in the store was started or withdrawn through another process.
func (r *Runs) next(conversationID int64) {
	queued := r.those(func(run *run) bool { return run.ChatID == conversationID && run.Attempt == 0 && run.waits })
	if len(queued) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), eventlog.CommitWait)
	defer cancel()
	stored, err := r.Store.Queue.NextQueued(ctx, conversationID)
	switch {
	case errors.Is(err, schemas.ErrNotFound):
		for _, run := range queued {
			r.startOnce(run, func() {
				attempts.Lost(r.Store.Runs, run.log, run.ID, r.Logger)
				r.abandon(run)
				r.reviveBlocked(run.Owner.ID) // runs that claim the same blocks may have waited for it
			})
		}
	case err != nil:
		r.untended.Write(ctx, r.Logger, slog.LevelError, "could not look for a queued run", slog.Int64("conversation_id", conversationID), slog.Any("error", err))
		r.noteUnpolled(conversationID)
	default:
		if run := r.find(stored.ID); run != nil { // acts looks for those of other replicas
			r.startQueued(ctx, run)
		}
	}
}

// worksOn reports whether a run of the chat is under way here: its end starts the next
// one. One that has ended may still be followed.
func (r *Runs) worksOn(conversationID int64) bool {
	return len(r.those(func(run *run) bool {
		return run.ChatID == conversationID && run.Attempt > 0 && !run.log.Closed()
	})) > 0
}
