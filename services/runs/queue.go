package runs

import (
	"context"
	"errors"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/services/eventlog"
)

// markStarting makes the caller the one who starts a queued run, and counts that as
// work that Shutdown waits for.
func (r *Runs) markStarting(one *run) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if one.attempt != 0 || one.starting || r.draining {
		return false
	}
	one.starting = true
	r.work.Add(1)
	return true
}

// setIdle notes whether the run does nothing but wait for its user or for the page.
// A service that stops does not wait for such a run.
func (r *Runs) setIdle(one *run, resting bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if one.resting = resting; resting && r.draining {
		one.stop(errShutdown)
	}
	if resting {
		select {
		case one.calm <- struct{}{}:
		default:
		}
	}
}

// endQueued ends a queued run that has been cancelled, or one that waits for its trial,
// now and not when its turn comes: a queued one as attempt 0, for it never began.
func (r *Runs) endQueued(one *run) {
	if r.markStarting(one) || r.unhold(one) {
		r.goWork(one)
		r.work.Done()
	}
}

// claim starts a queued run that was marked, if it is its turn.
func (r *Runs) claim(ctx context.Context, one *run) {
	defer r.work.Done()
	err := r.Store.Queue.Claim(ctx, one.id, 1)
	r.mu.Lock()
	switch {
	case err == nil:
		one.attempt = 1
	case errors.Is(err, record.ErrBusy):
		one.starting = false
	}
	r.mu.Unlock()
	switch {
	case err == nil:
		r.goWork(one)
	case errors.Is(err, record.ErrBusy):
		switch {
		case context.Cause(one.ctx) != nil: // cancelled meanwhile
			r.endQueued(one)
		case !r.worksOn(one.conversationID): // another process does
			r.noteUnpolled(one.conversationID)
		}
	case errors.Is(err, record.ErrFenced):
		r.Logger.Warn("a run goes on elsewhere", "run_id", one.id)
		r.abandon(one)
	default: // the claim may have succeeded; its outcome is unknown
		r.Logger.Error("start a queued run", "run_id", one.id, "error", err)
		r.abandon(one)
		r.park(one.id, nil)
	}
}

// abandon forgets a marked run that is not to start here. Its readers come back to
// where it goes on.
func (r *Runs) abandon(one *run) {
	r.absent.end(one)
	r.forget(one)
	one.stop(nil)
	one.log.Close()
	if one.release != nil {
		one.release()
	}
	close(one.done)
}

// next starts the oldest queued run of a chat, if none is under way. Runs that
// are queued here and not in the store have been begun by another process.
func (r *Runs) next(conversationID int64) {
	queued := r.queuedOf(conversationID)
	if len(queued) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), eventlog.CommitWait)
	defer cancel()
	rec, err := r.Store.Queue.NextQueued(ctx, conversationID)
	switch {
	case errors.Is(err, schemas.ErrNotFound):
		for _, one := range queued {
			if r.markStarting(one) {
				r.Logger.Warn("a run goes on elsewhere", "run_id", one.id)
				r.abandon(one)
				r.work.Done()
			}
		}
	case err != nil:
		r.Logger.Error("find a queued run", "conversation_id", conversationID, "error", err)
		r.noteUnpolled(conversationID)
	default:
		if one := r.find(rec.ID); one != nil && r.markStarting(one) {
			r.claim(ctx, one)
		}
	}
}

// queuedOf returns the runs of a chat that wait for their turn.
func (r *Runs) queuedOf(conversationID int64) []*run {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []*run
	for _, one := range r.live {
		if one.conversationID == conversationID && one.attempt == 0 && !one.starting {
			list = append(list, one)
		}
	}
	return list
}

// worksOn says whether a run of the chat is under way here.
func (r *Runs) worksOn(conversationID int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range r.live {
		if one.conversationID == conversationID && one.attempt > 0 {
			return true
		}
	}
	return false
}

// Queued returns the ids of a chat's runs that wait for their turn.
func (r *Runs) Queued(conversationID int64) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var ids []string
	for id, one := range r.live {
		if one.conversationID == conversationID && one.attempt == 0 {
			ids = append(ids, id)
		}
	}
	return ids
}
