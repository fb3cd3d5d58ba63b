package timers

import (
	"sync"
	"time"
)

// Graces are the runs that end with their last reader and have no reader now.
// Each has a grace period in which a reader may come back, because a phone that
// changes its network briefly loses its connection. The zero value is ready; it
// is safe for concurrent use.
type Graces[Run comparable] struct {
	mu     sync.Mutex
	graces map[Run]*grace
	closed bool
	work   sync.WaitGroup // running calls of gone
}

// grace is a running grace period.
type grace struct{ timer *time.Timer }

// Begin calls gone after the grace, unless End or Close comes before.
func (g *Graces[Run]) Begin(run Run, wait time.Duration, gone func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return
	}
	if before := g.graces[run]; before != nil {
		before.timer.Stop()
	}
	if g.graces == nil {
		g.graces = make(map[Run]*grace)
	}
	waiting := new(grace)
	g.graces[run] = waiting
	waiting.timer = time.AfterFunc(wait, func() {
		if g.due(run, waiting) {
			defer g.work.Done()
			gone()
		}
	})
}

// due reports whether an expired grace still counts; its call of gone then
// begins.
func (g *Graces[Run]) due(run Run, expired *grace) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.graces[run] != expired {
		return false
	}
	delete(g.graces, run)
	g.work.Add(1)
	return true
}

// End ends the grace of a run that has a reader again, or that has ended.
func (g *Graces[Run]) End(run Run) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if waiting := g.graces[run]; waiting != nil {
		waiting.timer.Stop()
		delete(g.graces, run)
	}
}

// Close ends all graces and waits for running calls of gone. No grace begins
// after that: the next start recovers those runs.
func (g *Graces[Run]) Close() {
	g.mu.Lock()
	g.closed = true
	for run, waiting := range g.graces {
		waiting.timer.Stop()
		delete(g.graces, run)
	}
	g.mu.Unlock()
	g.work.Wait()
}
