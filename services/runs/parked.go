package runs

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/services/acts"
	"github.com/chattray/chattray/services/eventlog"
	"github.com/chattray/chattray/services/leases"
)

// parked is a run that waits for the database.
type parked struct {
	// lease is that under which the run is this process's. Once it is lost, others take the
	// run; so may this process, under its next lease.
	lease *leases.Lease
	lost  []*eventlog.Commit // writes that could not be stored
	was   *run               // the attempt that ends here; nil for none
	// taken says that the run is at an attempt that has not begun; fatal, that it ended the
	// process, and only has to end.
	taken, fatal bool
}

// park leaves a run to revive, and forgets its attempt at the same moment: adopt takes up
// what is in neither place.
func (r *Runs) park(id string, p parked) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.parked[id] = p; r.live[id] == p.was {
		delete(r.live, id)
	}
}

// noteUnpolled remembers a chat whose queue could not be read.
func (r *Runs) noteUnpolled(conversationID int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unpolledChats[conversationID] = true
}

// revive continues, once the database is back, the runs and queues that waited for it.
func (r *Runs) revive(ctx context.Context) {
	tick := time.NewTicker(reviveEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			r.reviveAll(ctx)
		case <-ctx.Done():
			return
		}
	}
}

func (r *Runs) reviveAll(ctx context.Context) {
	if !r.enter() {
		return
	}
	defer r.work.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(r.base, cancel)()
	r.mu.Lock()
	waiting, unpolledChats := slices.Collect(maps.Keys(r.parked)), slices.Collect(maps.Keys(r.unpolledChats))
	r.mu.Unlock()
	for _, id := range waiting {
		r.mu.Lock()
		p := r.parked[id]
		delete(r.parked, id) // not afterwards: a run that is revived may be parked again
		r.mu.Unlock()
		err := r.reviveOne(ctx, id, &p)
		if err == nil || errors.Is(err, record.ErrFenced) || errors.Is(err, schemas.ErrNotFound) {
			continue
		}
		r.mu.Lock()
		if _, again := r.parked[id]; !again {
			r.parked[id] = p
		}
		r.mu.Unlock()
		if ctx.Err() != nil {
			return
		}
		if errors.Is(err, record.ErrUnavailable) {
			break // the next tick tries again, in another order: it may be this run alone
		}
		r.Logger.Error("could not recover a run", "run_id", id, "error", err)
	}
	for _, chat := range unpolledChats {
		if r.Draining() { // nothing that is queued begins
			break
		}
		r.mu.Lock()
		delete(r.unpolledChats, chat)
		r.mu.Unlock()
		r.next(chat)
	}
	r.lookAgain(ctx)
	if r.acts == nil { // acts looks more often
		_ = acts.EndCancelled(ctx, r.Store.Runs, here{r}) // the next tick tries again
	}
}

// reviveOne stores what the run's last attempt could not store, and recovers the run. After an
// error p is what is left to do.
func (r *Runs) reviveOne(ctx context.Context, id string, p *parked) error {
	if err := r.storeLost(ctx, id, p); err != nil {
		return err
	}
	stored, err := r.Store.Runs.Run(ctx, id)
	switch {
	case err != nil:
		return err
	case stored.State.Terminal():
		r.next(stored.ConversationID)
		return nil
	case p.lease != r.leases.Current() || stored.Replica != p.lease.ID:
		return record.ErrFenced
	case stored.State == schemas.RunQueued:
		if r.find(id) == nil {
			r.requeue(found{stored: stored, lease: p.lease})
		}
		r.next(stored.ConversationID)
		return nil
	default:
		return r.takeUp(ctx, stored, p)
	}
}

// storeLost stores what the run's last attempt could not store, so that no finished reply and
// no finished tool call is lost.
func (r *Runs) storeLost(ctx context.Context, id string, p *parked) error {
	for _, e := range p.lost {
		err := r.committer.Submit(&eventlog.Commit{Write: e.Write, Log: e.Log}).Wait(ctx)
		if errors.Is(err, record.ErrUnavailable) || ctx.Err() != nil {
			return err
		}
		if err != nil && !errors.Is(err, record.ErrFenced) {
			r.Logger.Error("could not store a parked write", "run_id", id, "error", err)
		}
		if fin := e.Write.Finish; fin != nil && err == nil {
			r.Logger.Info("the end of a run is stored after an outage", "run_id", id, "state", fin.State)
			r.answered(p.was, fin)
		}
	}
	return nil
}

// storeParked stores what is lost otherwise as the process stops, unless the database is away.
func (r *Runs) storeParked(ctx context.Context) {
	r.mu.Lock()
	left := maps.Clone(r.parked)
	r.mu.Unlock()
	for id, p := range left {
		if err := r.storeLost(ctx, id, &p); err != nil {
			return // the next attempt does it again
		}
	}
}
