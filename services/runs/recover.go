package runs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/concurrent"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/services/answer"
	"github.com/chattray/chattray/services/attempts"
	"github.com/chattray/chattray/services/documents"
	"github.com/chattray/chattray/services/eventlog"
	"github.com/chattray/chattray/services/leases"
	"github.com/chattray/chattray/services/questions"
	"github.com/chattray/chattray/services/trials"
)

// lateLook is the time between the beginning of Recover and the second scan.
const lateLook = 10 * time.Second

// Recover makes the process one of those that serve the database. One that is alone
// takes up every run that an earlier process left: runs under way continue from their
// last checkpoint as a new attempt, queued ones wait for their turn. It returns when all
// have been taken up. A second scan runs a little later, because the database may still
// commit statements of a killed process. One of several takes up what others leave for as
// long as it runs, and Recover returns at once.
func (r *Runs) Recover(ctx context.Context) error {
	if err := r.leases.Join(ctx); err != nil {
		return err
	}
	r.loops.Go(func() { r.leases.Renew(r.looping, r.lost) })
	if r.leases.Many {
		r.loops.Go(func() { r.leases.Look(r.looping, r.takeFrom) })
		r.loops.Go(func() { r.acts.Run(r.looping) })
		return nil
	}
	began := r.now()
	if err := r.takeFrom(ctx, nil); err != nil {
		return fmt.Errorf("find unfinished runs: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.recovered = began
	return nil
}

// lookAgain is the second scan: it recovers the runs of the earlier process
// that were not yet stored during the first.
func (r *Runs) lookAgain(ctx context.Context) {
	r.mu.Lock()
	first, unsure := r.recovered, r.unsure
	r.mu.Unlock()
	if unsure {
		r.adopt(ctx)
	}
	if first.IsZero() || r.now().Sub(first) < lateLook {
		return
	}
	if err := r.takeFrom(ctx, nil); err != nil {
		r.untended.About(ctx, "looks", r.Logger, slog.LevelWarn, "could not look for unfinished runs again", slog.Any("error", err))
		return // the next tick tries again
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.recovered = time.Time{}
}

// takeFrom takes the unfinished runs of replicas, nil for all others, and takes them up. What
// they have written is read only after they are taken, because nothing is added then. After an
// error, adopt looks for runs that may have been taken. A process that is stopping takes
// nothing, and lets go of runs that it can no longer begin.
func (r *Runs) takeFrom(ctx context.Context, from []string) (err error) {
	done, err := r.taking.Lock(ctx, "")
	if err != nil {
		return err
	}
	defer done()
	lease := r.leases.Current()
	var all []record.Taken
	for !r.Draining() {
		if err := r.leases.Spread(ctx); err != nil {
			break
		}
		var some []record.Taken
		if some, err = r.Store.Queue.Take(ctx, from, lease.ID); err != nil || len(some) == 0 {
			break
		}
		all = append(all, some...)
	}
	if err == nil {
		err = r.Store.Queue.Tidy(ctx, from)
	}
	if err != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.unsure = true
		return err
	}
	r.exchange.TellMoved(all)
	if len(all) > 0 && from != nil {
		r.Logger.Info("runs are recovered", "runs", len(all), "of", from, "replica", lease.ID)
	}
	r.takeUpAll(ctx, lease, all, r.leases.Took(ctx, from, len(all)))
	return nil
}

// adopt takes up the runs that the database gives to this process and that it
// does not know, because the answer to Take was lost. Those that takeFrom is about to take up
// are not known either, so this waits for it.
func (r *Runs) adopt(ctx context.Context) {
	done, err := r.taking.Lock(ctx, "")
	if err != nil {
		return
	}
	defer done()
	lease := r.leases.Current()
	err = r.Store.Queue.Tidy(ctx, nil) // it is not known whose they were
	var list []record.Taken
	if err == nil {
		list, err = r.Store.Queue.Held(ctx, lease.ID)
	}
	if err != nil {
		r.untended.About(ctx, "looks", r.Logger, slog.LevelWarn, "could not look for runs that may have been taken", slog.Any("error", err))
		return // the next tick tries again
	}
	r.mu.Lock()
	r.unsure = false
	list = slices.DeleteFunc(list, func(t record.Taken) bool {
		return r.parked[t.ID].lease == lease || r.live[t.ID] != nil || r.beginning.Has(t.ID)
	})
	r.mu.Unlock()
	r.takeUpAll(ctx, lease, list, r.leases.Took(ctx, nil, len(list)))
}

// takeUpAll takes up runs that this process has taken, and calls began for each that
// continues. Held runs start after it has returned.
func (r *Runs) takeUpAll(ctx context.Context, lease *leases.Lease, taken []record.Taken, began func()) {
	looked := make([]found, len(taken))
	attempts.Each(ctx, r.Store.Attempts, taken, recoverAtOnce, func(i int, left *record.Left) {
		var err error
		if looked[i], err = r.lookAt(ctx, lease, taken[i].Attempt, left); err != nil {
			r.postpone(taken[i].ID, parked{lease: lease}, err)
		}
	})
	chats := make(map[int64]bool)
	var left []found
	for _, f := range looked {
		switch {
		case f.stored.ID == "":
		case f.earlier == nil:
			r.requeue(f)
			chats[f.stored.ConversationID] = true
		default:
			left = append(left, f)
		}
	}
	now, later, limit := r.judge(left)
	for _, run := range r.beginAttempts(ctx, now) { // now that all have their claims
		began()
		r.goWork(run)
		r.work.Done()
	}
	held := r.beginAttempts(ctx, later)
	for _, run := range held {
		r.hold(run)
		if context.Cause(run.ctx) != nil { // cancelled meanwhile
			r.endQueued(run)
		}
		r.work.Done()
	}
	if len(held) > 0 {
		r.Logger.Warn("the process ended again while it worked on these runs; they start one at a time", "runs", len(held))
		r.loops.Go(func() { r.try(r.looping, held, limit) })
	}
	for id := range chats {
		r.next(id)
	}
}

// lookAt returns a run that was taken and is at that attempt; nothing if it has ended or
// was lost again. An error means that it could not be read.
func (r *Runs) lookAt(ctx context.Context, lease *leases.Lease, attempt int, left *record.Left) (found, error) {
	stored := left.Run
	if stored.State == "" || ctx.Err() != nil {
		return found{}, cmp.Or(left.Err, ctx.Err())
	}
	if stored.State.Terminal() || stored.Replica != lease.ID || stored.Attempt != attempt {
		return found{}, nil
	}
	f := found{stored: stored, lease: lease}
	if req, err := requestOf(&stored); err == nil {
		f.request, f.stored.Request = req, nil // many runs are looked at before the first begins
	}
	if stored.State != schemas.RunQueued {
		before, err := attempts.Read(left)
		f.earlier = &earlier{Case: trials.Case{Earlier: before, Attempt: stored.Attempt - 1}, broken: err}
	}
	return f, nil
}

// postpone leaves to revive a run that was taken but could not be taken up. The
// run stays at its attempt.
func (r *Runs) postpone(id string, p parked, err error) {
	if !errors.Is(err, record.ErrFenced) && !errors.Is(err, schemas.ErrNotFound) {
		r.Logger.Error("could not recover a run", "run_id", id, "error", err)
		p.taken = true
		r.park(id, p)
	}
}

// requestOf reads a stored request as a run keeps it.
func requestOf(stored *record.Run) (*schemas.ChatRequest, error) {
	req := new(schemas.ChatRequest)
	if err := json.Unmarshal(stored.Request, req); err != nil {
		return req, fmt.Errorf("read the request: %w", err)
	}
	return light(req), nil
}

// known makes a run that was found. If its request cannot be read, the run is returned with an
// error: it is recovered only to end.
func (r *Runs) known(f found) (_ *run, err error) {
	run, req := newRun(&f.stored, f.lease, r.running.Continue(f.stored.Owner.ID)), f.request
	if req == nil {
		req, err = requestOf(&f.stored)
	}
	run.take(req, documents.ClaimOf(run.Owner.ID, run.ID, req))
	run.first = questions.First(&f.stored, req)
	return run, err
}

// requeue adds a stored run to the queue of its chat.
func (r *Runs) requeue(f found) {
	run, err := r.known(f)
	if err != nil {
		run.earlier = &earlier{Case: trials.Case{Earlier: attempts.Nothing()}, broken: err}
	}
	r.enlist(f.lease.Context(), run, 1)
	if f.stored.CancelRequested {
		run.stop(answer.ErrCancelled)
		r.endQueued(run)
	}
}

// takeUp starts the next attempt of a run that this process has given up, or
// the current attempt of a run that it has taken but not begun.
func (r *Runs) takeUp(ctx context.Context, stored record.Run, p *parked) error {
	if !p.taken {
		if err := r.Store.Queue.BeginAttempt(ctx, stored.ID, stored.Attempt+1, p.lease.ID); err != nil {
			return err
		}
		stored.Attempt++
		*p = parked{lease: p.lease, taken: true, fatal: p.fatal} // if it cannot be read now
	}
	if err := r.Store.Queue.Tidy(ctx, []string{p.lease.ID}); err != nil {
		return err
	}
	left := attempts.One(ctx, r.Store.Attempts, stored.ID)
	if left.State != "" {
		left.State = stored.State // as the attempt before has left it
	}
	f, err := r.lookAt(ctx, p.lease, stored.Attempt, &left)
	if err != nil || f.earlier == nil {
		return err
	}
	f.earlier.Fatal, f.earlier.Bare = p.fatal, p.fatal
	run, mark := r.makeAttempt(f)
	if run == nil {
		r.letGo(p.lease, stored.ID)
		return nil
	}
	if err := r.enterAttempt(ctx, run, mark); err != nil {
		return err
	}
	r.goWork(run)
	r.work.Done()
	return nil
}

// beginAttempts makes the current attempts of runs, whose marks are stored together. Those
// that cannot begin now are not in the result.
func (r *Runs) beginAttempts(ctx context.Context, list []found) (begun []*run) {
	for some := range slices.Chunk(list, marksAtOnce) {
		made, marks := make([]*run, len(some)), make([]*eventlog.Commit, len(some))
		for i, f := range some {
			made[i], marks[i] = r.makeAttempt(f)
		}
		concurrent.Each(len(some), recoverAtOnce, func(i int) {
			if made[i] == nil {
				r.letGo(some[i].lease, some[i].stored.ID)
			} else if err := r.enterAttempt(ctx, made[i], marks[i]); err != nil {
				r.postpone(some[i].stored.ID, parked{lease: some[i].lease, fatal: some[i].earlier.Fatal}, err)
				made[i] = nil
			}
		})
		begun = append(begun, made...)
	}
	return slices.DeleteFunc(begun, func(run *run) bool { return run == nil })
}

// makeAttempt makes the current attempt of a run, whose mark is being stored. It counts as
// work that Shutdown waits for; the run is nil while the service stops.
func (r *Runs) makeAttempt(f found) (*run, *eventlog.Commit) {
	if !r.enter() {
		return nil, nil
	}
	run, err := r.known(f)
	if err != nil {
		f.earlier.broken = err
	}
	run.Attempt, run.earlier = f.stored.Attempt, f.earlier
	run.limit.Restore(f.earlier.Worked)
	return run, r.mark(run, attempts.Mark{})
}

// enterAttempt registers an attempt once its mark is stored; the caller starts it.
func (r *Runs) enterAttempt(ctx context.Context, run *run, mark *eventlog.Commit) error {
	if err := mark.Wait(ctx); err != nil {
		run.release()
		r.work.Done()
		return err
	}
	r.enlist(run.lease.Context(), run, run.Attempt)
	if r.Drafts != nil { // before a run that has waited for them
		_, _ = r.Drafts.Claim(ctx, run.earlier.Holds(run.claim))
	}
	run.spent.Restore(run.earlier.Spent)
	return nil
}

// lost forgets the runs of a lost lease that have not begun here. Those under way end
// by themselves.
func (r *Runs) lost(lease *leases.Lease) {
	for _, run := range r.those(func(run *run) bool { return run.lease == lease }) {
		r.startOnce(run, func() { r.abandon(run) })
	}
}

// Replica returns the name under which runs are this process's now.
func (r *Runs) Replica() string { return r.leases.Current().ID }

// Connected reports whether messages could be sent to other replicas a moment ago.
func (r *Runs) Connected() bool { return r.exchange.Up() }

// Deserted returns a channel that is closed when this process was replaced and no other one
// serves the database: only a new start takes up what is left.
func (r *Runs) Deserted() <-chan struct{} { return r.leases.Deserted() }

// LeaseLeft returns how long the process's lease is still valid.
func (r *Runs) LeaseLeft() time.Duration { return r.leases.Left() }

// Replicas returns how many processes serve the database.
func (r *Runs) Replicas() int { return r.leases.Live() }

// Replaced reports whether another process serves the database now, or has marked this
// one as gone: runs that begin here now do not belong to this process.
func (r *Runs) Replaced() bool { return r.leases.Current().Lost() }
