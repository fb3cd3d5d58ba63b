package runs

import (
	"context"

	"github.com/chattray/chattray/schemas"
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
	return r.View(ctx, stored), nil
}

// CancelAll is Cancel for several runs, in this order. It calls stored once all requests
// are stored, and returns once all runs have ended, or after a second.
func (r *Runs) CancelAll(ctx context.Context, user schemas.User, stored func(), ids ...string) error {
	durable, done := context.WithTimeout(context.WithoutCancel(ctx), eventlog.CommitWait)
	defer done()
	var open []string
	for _, id := range ids {
		run, err := r.Owned(durable, user, id)
		if err == nil && !run.State.Terminal() {
			open = append(open, id)
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
	for _, id := range open {
		if !r.cancel(wait, id) {
			r.exchange.Tell(exchange.Look, id)
			elsewhere = append(elsewhere, id)
		}
	}
	_, err := r.acts.AwaitEnd(wait, elsewhere...)
	return err
}

// cancel ends a run of this process and waits for its end, at most until ctx ends. It returns
// false for any other run.
func (r *Runs) cancel(ctx context.Context, id string) bool {
	run := r.find(id)
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
