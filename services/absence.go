package services

import (
	"context"
	"sync"
	"time"
)

// absences are the runs that end with their reader and have none now. Each has a
// grace in which a reader may come back, for a phone that changes its network
// loses its connection and not its user. It is safe for concurrent use.
type absences struct {
	mu     sync.Mutex
	timers map[*run]*time.Timer
	closed bool
	work   sync.WaitGroup // calls of gone
}

// begin calls gone after the grace, unless end or close comes before.
func (a *absences) begin(one *run, grace time.Duration, gone func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return
	}
	if before := a.timers[one]; before != nil {
		before.Stop()
	}
	if a.timers == nil {
		a.timers = make(map[*run]*time.Timer)
	}
	var timer *time.Timer
	timer = time.AfterFunc(grace, func() {
		if a.due(one, timer) {
			defer a.work.Done()
			gone()
		}
	})
	a.timers[one] = timer
}

// due says whether a timer that has fired still counts; if so it is work.
func (a *absences) due(one *run, timer *time.Timer) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.timers[one] != timer {
		return false
	}
	delete(a.timers, one)
	a.work.Add(1)
	return true
}

// end is called when a reader is there or the run has ended.
func (a *absences) end(one *run) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if timer := a.timers[one]; timer != nil {
		timer.Stop()
		delete(a.timers, one)
	}
}

// close ends all of them and waits for what is under way. Later ones do not begin:
// the next start takes their runs up.
func (a *absences) close() {
	a.mu.Lock()
	a.closed = true
	for one, timer := range a.timers {
		timer.Stop()
		delete(a.timers, one)
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
	if _, open := one.log.since(one.log.last()); !open {
		r.forget(one)
		return
	}
	if one.req.OnDisconnect == "cancel" {
		r.absent.begin(one, r.DisconnectGrace, func() { r.abandoned(one) })
	}
}

// abandoned cancels a run to which no reader has come back.
func (r *Runs) abandoned(one *run) {
	if one.log.readers() > 0 {
		return
	}
	one.stop(errDisconnect)
	ctx, cancel := context.WithTimeout(context.Background(), commitWait)
	defer cancel()
	if err := r.Store.RequestCancel(ctx, one.id); err != nil {
		r.Logger.Warn("store a cancel", "run_id", one.id, "error", err)
	}
	r.wake(one)
}
