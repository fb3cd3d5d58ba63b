package runs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/services/answer"
	"github.com/chattray/chattray/services/attempts"
	"github.com/chattray/chattray/services/documents"
)

// lateLook is the time between the beginning of Recover and the second scan.
const lateLook = 10 * time.Second

// recovery is the state between the two scans of Recover.
type recovery struct {
	began time.Time
	seen  map[string]bool
}

// Recover recovers every run that an earlier process left unfinished: running
// ones continue from their last checkpoint as a new attempt, queued ones wait
// for their turn. It returns when all have been recovered. A second scan runs a
// little later, because the database may still commit statements of a killed
// process.
func (r *Runs) Recover(ctx context.Context) error {
	first := &recovery{began: r.now(), seen: make(map[string]bool)}
	list, err := r.Store.Queue.Unfinished(ctx)
	if err != nil {
		return fmt.Errorf("find unfinished runs: %w", err)
	}
	for _, stored := range list {
		first.seen[stored.ID] = true
	}
	r.takeUpAll(ctx, list)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.recovery = first
	return nil
}

// lookAgain is the second scan: it recovers the runs of the earlier process
// that were not yet stored during the first.
func (r *Runs) lookAgain(ctx context.Context) {
	r.mu.Lock()
	first := r.recovery
	r.mu.Unlock()
	if first == nil || r.now().Sub(first.began) < lateLook {
		return
	}
	list, err := r.Store.Queue.Unfinished(ctx)
	if err != nil {
		r.Logger.Warn("look for unfinished runs again", "error", err)
		return // the next tick tries again
	}
	late := slices.DeleteFunc(list, func(stored record.Run) bool { return first.seen[stored.ID] || !stored.CreatedAt.Before(first.began) })
	r.takeUpAll(ctx, late)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.recovery = nil
}

// takeUpAll recovers unfinished runs. Held runs start after it has returned.
func (r *Runs) takeUpAll(ctx context.Context, list []record.Run) {
	chats := make(map[int64]bool)
	var left []record.Run
	for _, stored := range list {
		if stored.State == schemas.RunQueued {
			r.requeue(stored)
			chats[stored.ConversationID] = true
			continue
		}
		left = append(left, stored)
	}
	looked := make([]found, len(left))
	r.each(len(left), func(i int) {
		e, err := r.look(ctx, left[i])
		if err != nil {
			r.postpone(left[i], err)
			return
		}
		looked[i] = found{left[i], e}
	})
	now, later, limit := r.judge(slices.DeleteFunc(looked, func(f found) bool { return f.earlier == nil }))
	r.each(len(now), func(i int) {
		run, err := r.claimAgain(ctx, now[i])
		if err != nil {
			r.postpone(now[i].stored, err)
		} else if run != nil {
			r.goWork(run)
			r.work.Done()
		}
	})
	held := make([]*run, len(later))
	r.each(len(later), func(i int) {
		run, err := r.claimAgain(ctx, later[i])
		if err != nil {
			r.postpone(later[i].stored, err)
		} else if run != nil {
			r.hold(run)
			if context.Cause(run.ctx) != nil { // cancelled meanwhile
				r.endQueued(run)
			}
			r.work.Done()
			held[i] = run
		}
	})
	held = slices.DeleteFunc(held, func(run *run) bool { return run == nil })
	if len(held) > 0 {
		r.Logger.Warn("the process ended again while it worked on these runs; they start one at a time", "runs", len(held))
		r.loops.Go(func() { r.try(r.looping, held, limit) })
	}
	for id := range chats {
		r.next(id)
	}
}

// each calls do for the numbers below n, a bounded number at a time, and waits for
// all calls.
func (r *Runs) each(n int, do func(i int)) {
	var group sync.WaitGroup
	places := make(chan struct{}, recoverAtOnce)
	for i := range n {
		places <- struct{}{}
		group.Go(func() {
			defer func() { <-places }()
			do(i)
		})
	}
	group.Wait()
}

// postpone hands a run that could not be recovered to revive.
func (r *Runs) postpone(stored record.Run, err error) {
	if !errors.Is(err, record.ErrFenced) {
		r.Logger.Error("recover a run", "run_id", stored.ID, "error", err)
		r.park(stored.ID, nil)
	}
}

// known makes a run from a stored one. If its request cannot be read, the run
// is returned with an error: it is recovered only to end.
func (r *Runs) known(stored record.Run) (*run, error) {
	r.mu.Lock()
	r.perUser[stored.Owner.ID]++
	r.mu.Unlock()
	run := newRun(&stored, func() { r.dismiss(stored.Owner.ID) })
	req := new(schemas.ChatRequest)
	err := json.Unmarshal(stored.Request, req)
	if err != nil {
		err = fmt.Errorf("read the request: %w", err)
	}
	run.take(req, documents.ClaimOf(run.owner.ID, run.id, req))
	return run, err
}

// requeue adds a stored run to the queue of its chat.
func (r *Runs) requeue(stored record.Run) {
	run, err := r.known(stored)
	if err != nil {
		run.earlier = broken(err)
	}
	r.enlist(r.base, run, 1)
	if stored.CancelRequested {
		run.stop(answer.ErrCancelled)
		r.endQueued(run)
	}
}

// takeUp starts the next attempt of a run whose last attempt was in this
// process.
func (r *Runs) takeUp(ctx context.Context, stored record.Run) error {
	e, err := r.look(ctx, stored)
	if err != nil {
		return err
	}
	run, err := r.claimAgain(ctx, found{stored, e})
	if err != nil || run == nil {
		return err
	}
	r.goWork(run)
	r.work.Done()
	return nil
}

// look reads what earlier attempts of a run have stored. An error means that
// the database could not be read. If the stored data is broken, look returns it
// with broken set.
func (r *Runs) look(ctx context.Context, stored record.Run) (*earlier, error) {
	left, err := attempts.Read(ctx, r.Store.Attempts, stored.ID)
	e := &earlier{Earlier: left}
	switch {
	case errors.Is(err, record.ErrUnavailable), ctx.Err() != nil:
		return nil, cmp.Or(err, ctx.Err())
	case err != nil:
		e = broken(err)
	}
	e.cancel, e.waited = stored.CancelRequested, stored.Spared
	if e.Mark != nil {
		e.waited = max(e.waited, e.Mark.Spared)
	}
	if stored.State == schemas.RunWaiting {
		e.waited++
	}
	return e, nil
}

// claimAgain makes the next attempt of a run, which the caller starts. It counts as
// work that Shutdown waits for. While the service stops, the run is nil.
func (r *Runs) claimAgain(ctx context.Context, f found) (*run, error) {
	if !r.enter() {
		return nil, nil //nolint:nilnil // said above
	}
	stored, e := f.stored, f.earlier
	attempt := stored.Attempt + 1
	if err := r.Store.Queue.Claim(ctx, stored.ID, attempt); err != nil {
		r.work.Done()
		return nil, err
	}
	run, err := r.known(stored)
	if err != nil {
		e.broken = err
	}
	run.attempt, run.earlier = attempt, e
	if err := r.note(ctx, run, attempts.Mark{}); err != nil {
		run.release()
		r.work.Done()
		return nil, err
	}
	r.enlist(r.base, run, attempt)
	run.spent.Restore(e.Spent)
	return run, nil
}
