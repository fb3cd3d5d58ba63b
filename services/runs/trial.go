package runs

import (
	"context"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/services/attempts"
	"github.com/chattray/chattray/services/eventlog"
	"github.com/chattray/chattray/services/leases"
	"github.com/chattray/chattray/services/trials"
)

// errContained ends a run that was found to be the cause of the crashes.
var errContained = schemas.NewError(schemas.CodeInterrupted,
	"the service crashed each time it worked on this answer, the last time on this answer alone; the answer was given up")

// found is a run that an earlier process left and that this one has taken: it
// is at its next attempt. Earlier is nil for a queued run.
type found struct {
	stored  record.Run
	request *schemas.ChatRequest // as a run keeps it; nil if it is in stored
	lease   *leases.Lease
	earlier *earlier
}

// judge sorts the runs of an earlier process into those that start now and those that are
// held, see trials.Judge.
//
// One of several replicas holds no runs: if a run ends its process, each of the
// other runs loses an attempt and continues elsewhere.
func (r *Runs) judge(list []found) (now, later []found, limit time.Duration) {
	if r.leases.Many {
		return list, nil, 0
	}
	now, later, limit = trials.Judge(list, func(f found) *trials.Case { return &f.earlier.Case })
	for _, f := range now {
		if f.earlier.Fatal {
			r.Logger.Error("a run is ended: the process ended while it worked on this run alone",
				"run_id", f.stored.ID, "attempts", f.earlier.Attempt, "conversation_id", f.stored.ConversationID)
			r.Metrics.RunContained()
		}
	}
	return now, later, limit
}

// mark writes the mark of the run's attempt.
func (r *Runs) mark(run *run, m attempts.Mark) *eventlog.Commit {
	m.Attempt, m.Steps, m.Uncounted, m.Fresh = run.Attempt, len(run.earlier.Steps), run.earlier.Uncounted, run.earlier.Fresh
	w := &record.Write{RunID: run.ID, Attempt: run.Attempt, Checkpoint: &record.Checkpoint{N: attempts.MarkNumber, Data: schemas.Encode(attempts.Checkpoint{Mark: &m, WorkedMS: run.limit.Used().Milliseconds()})}}
	return r.committer.Submit(&eventlog.Commit{Write: w})
}

// leave records that an attempt ends in good order. If that cannot be stored,
// the next start holds the run.
func (r *Runs) leave(run *run) {
	if run.earlier != nil && run.earlier.broken == nil {
		r.mark(run, attempts.Mark{Left: true})
	}
}

// hold makes a recovered run wait for its trial. Readers can follow it meanwhile.
func (r *Runs) hold(run *run) {
	r.mu.Lock()
	defer r.mu.Unlock()
	run.waits, run.earlier.Bare = true, true
}

// startHeld starts a held run. One that cannot be started waits for the database.
func (r *Runs) startHeld(ctx context.Context, run *run) {
	if err := r.mark(run, attempts.Mark{Alone: r.nowMilli()}).Wait(ctx); err != nil {
		r.Logger.Error("could not start a held run", "run_id", run.ID, "error", err)
		r.unclaim(run.Owner.ID, run.ID, run.Attempt)
		r.park(run.ID, parked{lease: run.lease, taken: true, was: run})
		r.abandon(run)
		return
	}
	run.earlier.Bare = context.Cause(run.ctx) != nil
	r.goWork(run)
}

// try starts held runs, one at a time.
func (r *Runs) try(ctx context.Context, held []*run, limit time.Duration) {
	for _, run := range held {
		if ctx.Err() != nil || !r.startOnce(run, func() { r.startHeld(ctx, run) }) {
			continue
		}
		timer := time.NewTimer(limit)
		select {
		case <-run.done: // at once if it could not be started
		case <-run.becameIdle: // it has stored a mark that it is idle
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}
