package runs

import (
	"context"
	"sync"
	"time"

	"github.com/chattray/chattray/services/answer"
	"github.com/chattray/chattray/services/eventlog"
)

// absences are the runs that end with their reader and have none now. Each has a
// grace in which a reader may come back, for a phone that changes its network
// loses its connection and not its user. It is safe for concurrent use.
type absences struct {
	mu     sync.Mutex
	graces map[*run]*grace
	closed bool
	work   sync.WaitGroup // calls of gone
}

// grace is the time in which a reader may come back.
type grace struct{ timer *time.Timer }

// begin calls gone after the grace, unless end or close comes before.
func (a *absences) begin(one *run, wait time.Duration, gone func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return
	}
	if before := a.graces[one]; before != nil {
		before.timer.Stop()
	}
	if a.graces == nil {
		a.graces = make(map[*run]*grace)
	}
	g := new(grace)
	a.graces[one] = g
	g.timer = time.AfterFunc(wait, func() {
		if a.due(one, g) {
			defer a.work.Done()
			gone()
		}
	})
}

// due says whether a grace that is over still counts; if so it is work.
func (a *absences) due(one *run, g *grace) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.graces[one] != g {
		return false
	}
	delete(a.graces, one)
	a.work.Add(1)
	return true
}

// end is called when a reader is there or the run has ended.
func (a *absences) end(one *run) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if g := a.graces[one]; g != nil {
		g.timer.Stop()
		delete(a.graces, one)
	}
}

// close ends all of them and waits for what is under way. Later ones do not begin:
// the next start takes their runs up.
func (a *absences) close() {
	a.mu.Lock()
	a.closed = true
	for one, g := range a.graces {
		g.timer.Stop()
		delete(a.graces, one)
	}
	a.mu.Unlock()
	a.work.Wait()
}

// left is called when a reader has gone: a run that is to end with its reader has
// a grace from then, one that has ended is forgotten.
func (r *Runs) left(one *run, leave func() int) {
	if leave() > 0 {
		return
	}
	if _, open := one.log.Since(one.log.Last()); !open {
		r.forget(one)
		return
	}
	if one.req.OnDisconnect == "cancel" {
		r.absent.begin(one, r.DisconnectGrace, func() { r.abandoned(one) })
	}
}

// abandoned cancels a run to which no reader has come back.
func (r *Runs) abandoned(one *run) {
	if one.log.Readers() > 0 {
		return
	}
	one.stop(answer.ErrDisconnected)
	ctx, cancel := context.WithTimeout(context.Background(), eventlog.CommitWait)
	defer cancel()
	if err := r.Store.Queue.RequestCancel(ctx, one.id); err != nil {
		r.Logger.Warn("store a cancel", "run_id", one.id, "error", err)
	}
	r.endQueued(one)
}
