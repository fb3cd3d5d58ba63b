package runs

import (
	"context"
	"sync"
	"time"

	"github.com/chattray/chattray/services/answer"
	"github.com/chattray/chattray/services/eventlog"
)

// absences are the runs that end with their reader and have none now. Each has a
// grace period in which a reader may come back: a phone that changes its network
// loses its connection, not its user. It is safe for concurrent use.
type absences struct {
	mu     sync.Mutex
	graces map[*run]*grace
	closed bool
	work   sync.WaitGroup // calls of gone that run
}

// grace is the time in which a reader may come back.
type grace struct{ timer *time.Timer }

// begin calls gone after the grace, unless end or close comes before.
func (a *absences) begin(run *run, wait time.Duration, gone func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return
	}
	if before := a.graces[run]; before != nil {
		before.timer.Stop()
	}
	g := new(grace)
	a.graces[run] = g
	g.timer = time.AfterFunc(wait, func() {
		if a.due(run, g) {
			defer a.work.Done()
			gone()
		}
	})
}

// due reports whether a grace that is over still counts; it is then under way.
func (a *absences) due(run *run, g *grace) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.graces[run] != g {
		return false
	}
	delete(a.graces, run)
	a.work.Add(1)
	return true
}

// end ends the grace of a run that has a reader again, or that has ended.
func (a *absences) end(run *run) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if g := a.graces[run]; g != nil {
		g.timer.Stop()
		delete(a.graces, run)
	}
}

// close ends all graces and waits for calls of gone that run. No grace begins after
// that: the next start takes those runs up.
func (a *absences) close() {
	a.mu.Lock()
	a.closed = true
	for run, g := range a.graces {
		g.timer.Stop()
		delete(a.graces, run)
	}
	a.mu.Unlock()
	a.work.Wait()
}

// left is called when a reader has gone. If it was the last one, the grace of a run
// that ends with its reader begins, and a run that has ended is forgotten.
func (r *Runs) left(run *run, leave func() int) {
	if leave() > 0 {
		return
	}
	if _, open := run.log.Since(run.log.Last()); !open {
		r.forget(run)
		return
	}
	if run.needsReader {
		r.absent.begin(run, r.DisconnectGrace, func() { r.abandoned(run) })
	}
}

// abandoned cancels a run to which no reader has come back.
func (r *Runs) abandoned(run *run) {
	if run.log.Readers() > 0 {
		return
	}
	run.stop(answer.ErrDisconnected)
	ctx, cancel := context.WithTimeout(context.Background(), eventlog.CommitWait)
	defer cancel()
	if err := r.Store.Queue.RequestCancel(ctx, run.id); err != nil {
		r.Logger.Warn("store a cancel", "run_id", run.id, "error", err)
	}
	r.endQueued(run)
}
