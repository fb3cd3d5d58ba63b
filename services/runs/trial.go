package runs

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/services/attempts"
	"github.com/chattray/chattray/services/eventlog"
	"github.com/chattray/chattray/services/leases"
)

// A killed process leaves its runs to the next start, and one of the runs may have been the
// cause. The first start recovers all of them together. A run that was running again when the
// process ended a second time is held: held runs start after all others, one at a time, each
// on trial. If the process ends during the trial of a run that has made no progress, the next
// start ends that run and recovers the others together. Attempts that ended because of that
// run do not count for the others.

// Limits of trials.
const (
	// trialTime is how long a run is on trial, unless it ends or becomes idle
	// earlier. strictTrialTime is used if a trial of trialTime did not show
	// which of several runs is the cause.
	trialTime       = 5 * time.Second
	strictTrialTime = time.Minute
)

// errContained ends a run that was found to be the cause of the crashes.
var errContained = schemas.NewError(schemas.CodeInterrupted,
	"the service crashed each time it worked on this answer, the last time on this answer alone; the answer was given up")

// found is a run that an earlier process left and that this one has taken: it
// is at its next attempt. Earlier is nil for a queued run.
type found struct {
	stored  record.Run
	lease   *leases.Lease
	earlier *earlier
}

// last is the attempt that the earlier process left.
func (f found) last() int { return f.stored.Attempt - 1 }

// judge sorts the runs of an earlier process into those that start now and those
// that are held, in the order of their trials. Limit is how long a trial takes.
//
// One of several replicas holds no runs: if a run ends its process, each of the
// other runs loses an attempt and continues elsewhere.
func (r *Runs) judge(list []found) (now, later []found, limit time.Duration) {
	if r.leases.Many {
		return list, nil, 0
	}
	var alone []found
	for _, f := range list {
		switch {
		case !f.earlier.Mark.Crashed(f.last()):
			now = append(now, f)
		case f.earlier.Cancel: // it only has to end
			f.earlier.bare = true
			now = append(now, f)
		default:
			later = append(later, f)
			if f.earlier.Mark.Alone > 0 {
				alone = append(alone, f)
			}
		}
	}
	limit = trialTime
	if len(alone) > 1 {
		limit = strictTrialTime
	}
	slices.SortStableFunc(later, func(a, b found) int {
		return cmp.Or(cmp.Compare(b.earlier.Mark.Alone, a.earlier.Mark.Alone), cmp.Compare(a.stuck(), b.stuck()))
	})
	if len(alone) == 1 && alone[0].stuck() > 0 {
		guilty := alone[0]
		guilty.earlier.fatal, guilty.earlier.bare = true, true
		later = slices.DeleteFunc(later, func(f found) bool { return f.stored.ID == guilty.stored.ID })
		for _, f := range later {
			f.earlier.fresh = true
		}
		now, later = append(append(now, later...), guilty), nil
		r.Logger.Error("a run is ended: the process ended while it worked on this run alone",
			"run_id", guilty.stored.ID, "attempts", guilty.last(), "conversation_id", guilty.stored.ConversationID)
		r.Metrics.RunContained()
	}
	for _, f := range slices.Concat(now, later) {
		if len(alone) > 0 || f.earlier.Mark.Crashed(f.last()) {
			f.earlier.Uncounted = f.last() // attempts that other runs ended do not count
		}
	}
	return now, later, limit
}

// stuck returns 1 for a run that has made no progress since its mark.
func (f found) stuck() int {
	if len(f.earlier.Steps) > f.earlier.Mark.Steps {
		return 0
	}
	return 1
}

// mark writes the mark of the run's attempt.
func (r *Runs) mark(run *run, m attempts.Mark) *eventlog.Commit {
	m.Attempt, m.Steps, m.Uncounted, m.Fresh = run.Attempt, len(run.earlier.Steps), run.earlier.Uncounted, run.earlier.fresh
	w := &record.Write{RunID: run.ID, Attempt: run.Attempt, Checkpoint: &record.Checkpoint{N: attempts.MarkNumber, Data: schemas.Encode(attempts.Checkpoint{Mark: &m, WorkedMS: run.limit.Used().Milliseconds()})}}
	return r.committer.Submit(w, nil, false)
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
	run.waits, run.earlier.bare = true, true
}

// try starts held runs, one at a time.
func (r *Runs) try(ctx context.Context, held []*run, limit time.Duration) {
	for _, run := range held {
		if ctx.Err() != nil || !r.markStarting(run) {
			continue
		}
		err := r.mark(run, attempts.Mark{Alone: r.nowMilli()}).Wait(ctx)
		if err != nil {
			r.Logger.Error("could not start a held run", "run_id", run.ID, "error", err)
			r.unclaim(run.Owner.ID, run.ID, run.Attempt)
			r.park(run.ID, parked{lease: run.lease, taken: true, was: run})
			r.abandon(run)
			r.work.Done()
			continue
		}
		run.earlier.bare = context.Cause(run.ctx) != nil
		r.goWork(run)
		r.work.Done()
		timer := time.NewTimer(limit)
		select {
		case <-run.done:
		case <-run.becameIdle: // it has stored a mark that it is idle
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}
