package runs

import (
	"context"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/services/answer"
	"github.com/chattray/chattray/services/eventlog"
	"github.com/chattray/chattray/services/exchange"
)

// Cancel ends a run of the user, and returns its state once it has ended, or after a
// second. The request is stored first, even if the client does not wait for that.
func (r *Runs) Cancel(ctx context.Context, user schemas.User, id string) (schemas.Run, error) {
	if err := r.CancelAll(ctx, user, func() {}, id); err != nil {
		return schemas.Run{}, err
	}
	durable, done := context.WithTimeout(context.WithoutCancel(ctx), eventlog.CommitWait)
	defer done()
	stored, err := r.Owned(durable, user, id)
	if err != nil {
		return schemas.Run{}, err
	}
	if stored.State.Terminal() {
		r.mu.Lock()
		delete(r.cancelledBeforeStart, id)
		r.mu.Unlock()
	}
	return r.View(ctx, stored), nil
}

// CancelAll is Cancel for several runs, in this order. It calls stored once all requests
// are stored, and returns once all runs have ended, or after a second.
func (r *Runs) CancelAll(ctx context.Context, user schemas.User, stored func(), ids ...string) error {
	durable, done := context.WithTimeout(context.WithoutCancel(ctx), eventlog.CommitWait)
	defer done()
	var open []record.Run
	for _, id := range ids {
		run, err := r.Owned(durable, user, id)
		if err == nil && !run.State.Terminal() {
			open = append(open, run)
			err = r.Store.Runs.RequestCancel(durable, id)
		}
		if err != nil {
			return err
		}
	}
	stored()
	wait, ended := context.WithTimeout(ctx, cancelWait)
	defer ended()
	var elsewhere []string
	for _, run := range open {
		if !r.cancel(wait, run) {
			r.exchange.Tell(exchange.Look, run.ID)
			elsewhere = append(elsewhere, run.ID)
		}
	}
	_, err := r.acts.AwaitEnd(wait, elsewhere...)
	return err
}

// cancel ends a run of this process and waits for its end, at most until ctx ends. It returns
// false for any other run. One that is about to start here finds that it is cancelled.
func (r *Runs) cancel(ctx context.Context, stored record.Run) bool {
	r.mu.Lock()
	run := r.live[stored.ID]
	if run == nil && stored.Replica == r.leases.Current().ID {
		r.cancelledBeforeStart[stored.ID] = true
	}
	r.mu.Unlock()
	if run == nil {
		return false
	}
	run.stop(answer.ErrCancelled)
	r.endQueued(run)
	select {
	case <-run.done:
	case <-ctx.Done():
	}
	return true
}
