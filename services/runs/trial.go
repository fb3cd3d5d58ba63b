package runs

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/services/eventlog"
)

// A process that is killed leaves its runs to the next start, and one of them may
// have been the reason. The first start takes up all at once. A run that was
// under way again when the process ended a second time is held: it starts after
// all others, and one at a time, on trial. When the process ends with a run on
// trial that has made no progress, the next start ends that run and takes up the
// others at once. No attempt that went down with it counts for them.

// Limits of trials.
const (
	// trialTime is how long a run is on trial, unless it ends or rests before,
	// and strictTrialTime how long where a trial of that time has not told which
	// of several runs it is.
	trialTime       = 5 * time.Second
	strictTrialTime = time.Minute
	// markNumber is the number of the checkpoint that holds the mark; those of
	// replies begin with 1.
	markNumber = 0
)

// errContained is how a run ends with which the process ended.
var errContained = schemas.NewError(schemas.CodeInterrupted,
	"the service ended each time it worked on this answer, the last time on this answer alone; the answer was given up")

// mark is what a take-up writes down before it works, and what becomes of it.
type mark struct {
	Attempt int `json:"attempt"`
	// Steps are the replies that there were: more of them are progress.
	Steps int `json:"steps"`
	// Spared are the attempts that do not count for the run.
	Spared int `json:"spared,omitempty"`
	// Alone is when the run's trial began, in milliseconds; 0 is that it is not,
	// or no longer, on trial.
	Alone int64 `json:"alone,omitempty"`
	// Left says that the attempt ended in good order or only waits, Fresh that the run to blame
	// for the ends before it has been found.
	Left  bool `json:"left,omitempty"`
	Fresh bool `json:"fresh,omitempty"`
}

// markCheckpoint is the checkpoint that holds the mark.
type markCheckpoint struct {
	Mark *mark `json:"mark"`
}

// crashed says whether the process ended during the attempt that the mark is of,
// and nobody knows why.
func (m *mark) crashed(rec record.Run) bool {
	return m != nil && m.Attempt == rec.Attempt && !m.Left && !m.Fresh
}

// found is a run that an earlier process left.
type found struct {
	rec   record.Run
	prior *prior
}

// judge sorts what an earlier process left: runs to start now, and runs to hold,
// in the order of their trials. It returns also how long a trial takes.
func (r *Runs) judge(list []found) (now, later []found, limit time.Duration) {
	var alone []found
	for _, f := range list {
		switch {
		case !f.prior.mark.crashed(f.rec):
			now = append(now, f)
		case f.prior.cancel: // it only ends
			f.prior.bare = true
			now = append(now, f)
		default:
			later = append(later, f)
			if f.prior.mark.Alone > 0 {
				alone = append(alone, f)
			}
		}
	}
	limit = trialTime
	if len(alone) > 1 {
		limit = strictTrialTime
	}
	slices.SortStableFunc(later, func(a, b found) int {
		return cmp.Or(cmp.Compare(b.prior.mark.Alone, a.prior.mark.Alone), cmp.Compare(a.stuck(), b.stuck()))
	})
	if len(alone) == 1 && alone[0].stuck() > 0 {
		guilty := alone[0]
		guilty.prior.fatal, guilty.prior.bare = true, true
		later = slices.DeleteFunc(later, func(f found) bool { return f.rec.ID == guilty.rec.ID })
		for _, f := range later {
			f.prior.fresh = true
		}
		now, later = append(append(now, later...), guilty), nil
		r.Logger.Error("a run is ended: the process ended while it worked on this run, also when no other was under suspicion",
			"run_id", guilty.rec.ID, "attempts", guilty.rec.Attempt, "conversation_id", guilty.rec.ConversationID)
		r.Metrics.RunContained()
	}
	for _, f := range slices.Concat(now, later) {
		if len(alone) > 0 || f.prior.mark.crashed(f.rec) {
			f.prior.waited = f.rec.Attempt // of what others brought about nothing counts
		}
	}
	return now, later, limit
}

// stuck is 1 for a run that has made no progress since its mark.
func (f found) stuck() int {
	if f.prior.Steps() > f.prior.mark.Steps {
		return 0
	}
	return 1
}

// note writes the mark of the run's attempt, durably.
func (r *Runs) note(ctx context.Context, one *run, m mark) error { return r.mark(one, m).Wait(ctx) }

// mark writes the mark of the run's attempt.
func (r *Runs) mark(one *run, m mark) *eventlog.Commit {
	m.Attempt, m.Steps, m.Spared, m.Fresh = one.attempt, one.prior.Steps(), one.prior.waited, one.prior.fresh
	w := &record.Write{RunID: one.id, Attempt: one.attempt, Checkpoint: &record.Checkpoint{N: markNumber, Data: schemas.Encode(markCheckpoint{Mark: &m})}}
	return r.committer.Submit(w, nil, false)
}

// leave notes that an attempt ends in good order. Where it cannot be stored the
// run is only held at the next start.
func (r *Runs) leave(one *run) {
	if one.prior != nil && one.prior.broken == nil {
		r.mark(one, mark{Left: true})
	}
}

// hold makes a run that has been taken up wait for its trial. Readers follow it
// meanwhile.
func (r *Runs) hold(one *run) {
	r.mu.Lock()
	defer r.mu.Unlock()
	one.held, one.prior.bare = true, true
}

// unhold makes the caller the one who starts a held run, and counts that as work
// that Shutdown waits for.
func (r *Runs) unhold(one *run) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !one.held || r.draining {
		return false
	}
	one.held = false
	r.work.Add(1)
	return true
}

// try starts held runs, one at a time.
func (r *Runs) try(ctx context.Context, held []*run, limit time.Duration) {
	for _, one := range held {
		if ctx.Err() != nil || !r.unhold(one) {
			continue
		}
		err := r.note(ctx, one, mark{Alone: r.nowMilli()})
		if err != nil {
			r.Logger.Error("start a run that was held", "run_id", one.id, "error", err)
			r.abandon(one)
			r.park(one.id, nil)
			r.work.Done()
			continue
		}
		one.prior.bare = context.Cause(one.ctx) != nil
		r.goWork(one)
		r.work.Done()
		timer := time.NewTimer(limit)
		select {
		case <-one.done:
		case <-one.calm: // it has marked itself
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}
