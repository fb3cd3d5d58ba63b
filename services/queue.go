package services

import (
	"context"
	"errors"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

// seize makes the caller the one who starts a queued run, and counts that as
// work that Shutdown waits for.
func (r *Runs) seize(one *run) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if one.attempt != 0 || one.seized || r.draining {
		return false
	}
	one.seized = true
	r.work.Add(1)
	return true
}

// rest notes whether the run does nothing but wait for its user or for the page.
// A service that stops does not wait for such a run.
func (r *Runs) rest(one *run, resting bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if one.resting = resting; resting && r.draining {
		one.stop(errShutdown)
	}
}

// wake ends a queued run that has been cancelled now and not when its turn
// comes: as attempt 0, for it never began.
func (r *Runs) wake(one *run) {
	if r.seize(one) {
		r.goWork(one)
		r.work.Done()
	}
}

// claim starts a queued run that was seized, if it is its turn.
func (r *Runs) claim(ctx context.Context, one *run) {
	defer r.work.Done()
	err := r.Store.Claim(ctx, one.id, 1)
	r.mu.Lock()
	if err == nil {
		one.attempt = 1
	} else {
		one.seized = false
	}
	r.mu.Unlock()
	switch {
	case err == nil:
		r.goWork(one)
	case errors.Is(err, record.ErrBusy), errors.Is(err, record.ErrFenced):
		if context.Cause(one.ctx) != nil { // cancelled meanwhile
			r.wake(one)
		}
	default:
		r.Logger.Error("start a queued run", "run_id", one.id, "error", err)
		r.stall(one.conversationID)
	}
}

// next starts the oldest queued run of a chat, if none is under way.
func (r *Runs) next(conversationID int64) {
	if !r.hasQueued(conversationID) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), commitWait)
	defer cancel()
	rec, err := r.Store.NextQueued(ctx, conversationID)
	if err != nil {
		if !errors.Is(err, schemas.ErrNotFound) {
			r.Logger.Error("find a queued run", "conversation_id", conversationID, "error", err)
			r.stall(conversationID)
		}
		return
	}
	if one := r.find(rec.ID); one != nil && r.seize(one) {
		r.claim(ctx, one)
	}
}

func (r *Runs) hasQueued(conversationID int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range r.live {
		if one.conversationID == conversationID && one.attempt == 0 && !one.seized {
			return true
		}
	}
	return false
}
