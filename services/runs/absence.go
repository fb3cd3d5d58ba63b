package runs

import (
	"context"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/services/answer"
	"github.com/chattray/chattray/services/eventlog"
)

// left is called when a reader has left. If it was the last one, the grace of a
// run that ends with its reader begins, and a run that has ended is forgotten.
func (r *Runs) left(run *run, leave func() int) {
	if leave() > 0 {
		return
	}
	if run.log.Closed() {
		r.forget(run)
		return
	}
	if run.needsReader {
		r.awaitReader(run, r.DisconnectGrace)
	}
}

// awaitReader ends a run unless it has a reader after the grace.
func (r *Runs) awaitReader(run *run, grace time.Duration) {
	r.absent.Begin(run, grace, func() { r.abandoned(run) })
}

// Leave ends a run of the user now, instead of after the grace, if it ends with its last
// reader and that has left: a client that does not come back was the last one. A run of
// another replica, which alone knows its readers, ends after the grace.
func (r *Runs) Leave(user schemas.User, id string) {
	run := r.find(id)
	if run == nil || run.Owner.ID != user.ID {
		return
	}
	if !r.isIdle(run) { // else its grace begins when it continues, maybe for a client that is about to read on
		r.unread(run, 0)
	}
}

// unread begins the grace of a run that ends with its reader and has no reader: when its
// client does not come back, or when it continues after it has only waited.
func (r *Runs) unread(run *run, grace time.Duration) {
	if _, over := run.log.Ended(); !over && run.needsReader && run.log.Readers() == 0 {
		r.awaitReader(run, grace)
	}
}

// abandoned cancels a run to which no reader has come back. A run that only waits is
// not cancelled: its user may answer from elsewhere, or later.
func (r *Runs) abandoned(run *run) {
	if run.log.Readers() > 0 || r.isIdle(run) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), eventlog.CommitWait)
	defer cancel()
	if elsewhere, err := r.acts.ReadElsewhere(ctx, run.ID); elsewhere || err != nil {
		r.awaitReader(run, r.DisconnectGrace)
		return
	}
	run.stop(answer.ErrDisconnected)
	if err := r.Store.Runs.RequestCancel(ctx, run.ID); err != nil {
		r.Logger.Warn("could not store a cancel", "run_id", run.ID, "error", err)
	}
	r.endQueued(run)
}
