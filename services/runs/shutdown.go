package runs

import (
	"context"
	"time"

	"github.com/chattray/chattray/schemas/concurrent"
	"github.com/chattray/chattray/services/eventlog"
	"github.com/chattray/chattray/services/exchange"
	"github.com/chattray/chattray/services/leases"
)

// maxSpread is the time over which streams end whose runs have been handed over: not all
// of their clients come back at once.
const maxSpread = 3 * time.Second

// Shutdown refuses new runs and lets running ones finish until ctx ends. Then it interrupts
// the others: their events are stored, and the next start recovers them. A run that only waits
// for its user or for the page is interrupted at once. If another replica can continue them,
// runs are handed over: queued and waiting ones at once, the others before their next call of
// the model. Shutdown returns when no goroutine of Runs is left, at the latest StopWait after
// ctx has ended. A run that has not stopped by then keeps what it has stored.
func (r *Runs) Shutdown(ctx context.Context) {
	r.mu.Lock()
	r.draining = true
	r.mu.Unlock()
	began, handsOver := time.Now(), r.leases.HandOver(ctx)
	if !handsOver { // nobody continues with what is followed here
		r.readers.End(ctx, 0)
	}
	var queued []*run
	var ids []string
	r.mu.Lock()
	r.handsOver, r.idleEnds = handsOver, true
	for _, run := range r.live {
		if run.waits {
			queued, ids = append(queued, run), append(ids, run.ID)
		}
		if run.idle {
			run.stop(errShutdown)
		}
	}
	r.mu.Unlock()
	if handsOver {
		r.letGo(r.leases.Current(), ids...)
	}
	for _, run := range queued {
		run.log.Close() // the next start recovers it
	}
	finished := concurrent.Over(r.work.Wait)
	select {
	case <-finished:
		r.storeParked(ctx)
	case <-ctx.Done():
	}
	late, done := context.WithTimeout(context.WithoutCancel(ctx), r.StopWait)
	defer done()
	concurrent.Within(late, concurrent.Over(r.absent.Close))
	r.stop(errShutdown)
	if !concurrent.Within(late, finished) {
		working := r.those(func(run *run) bool { return run.Attempt > 0 && !run.waits })
		r.Logger.Error("runs did not stop in time; the next start recovers them", "run_ids", idsOf(working))
	}
	end := maxSpread
	if until, bounded := ctx.Deadline(); bounded {
		end = min(end, until.Sub(began))
	}
	r.readers.End(late, end)
	r.endLoops()
	concurrent.Within(late, concurrent.Over(r.loops.Wait))
	r.leases.Leave()
}

// enter counts work that Shutdown waits for; it reports false once Shutdown has
// begun. After true the caller calls work.Done.
func (r *Runs) enter() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.draining {
		return false
	}
	r.work.Add(1)
	return true
}

// leaveLate does what Shutdown does with queued runs, for one that is queued only after that.
func (r *Runs) leaveLate(run *run) {
	r.mu.Lock()
	late := r.idleEnds && run.waits
	r.mu.Unlock()
	if late {
		r.letGo(run.lease, run.ID)
		run.log.Close()
	}
}

// letGo gives runs that this process does not work on any more to other replicas: those
// there are, or the next one. What they have written is in its final place before that.
func (r *Runs) letGo(lease *leases.Lease, ids ...string) {
	if !r.leases.Many || len(ids) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), eventlog.CommitWait)
	defer cancel()
	err := r.Store.Queue.Tidy(ctx, []string{lease.ID})
	if err == nil {
		err = r.leases.LetGo(ctx, lease, ids)
	}
	r.exchange.Tell(exchange.Loose)
	if err != nil {
		r.Logger.Warn("could not hand runs over; others take them when this replica has gone", "run_ids", ids, "error", err)
	}
}

// leavesNow reports whether the run is handed over now: it is about to call the model.
func (r *Runs) leavesNow(run *run) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.handsOver {
		run.stop(errShutdown)
	}
	return r.handsOver
}
