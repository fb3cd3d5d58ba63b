package runs

import "context"

// Shutdown refuses new runs and lets running ones finish until ctx ends. Then
// it interrupts the others: their events are stored, and the next start
// recovers them. A run that only waits for its user or for the page is
// interrupted at once. Shutdown returns when no goroutine of Runs is left, at
// the latest StopWait after ctx has ended. A run that has not stopped by then
// keeps what it has stored.
func (r *Runs) Shutdown(ctx context.Context) {
	r.mu.Lock()
	r.draining = true
	for _, run := range r.live {
		if run.attempt == 0 && !run.starting || run.held {
			run.log.Close() // the next start recovers it
		}
		if run.resting {
			run.stop(errShutdown)
		}
	}
	r.mu.Unlock()
	finished := after(r.work.Wait)
	select {
	case <-finished:
	case <-ctx.Done():
	}
	late, done := context.WithTimeout(context.WithoutCancel(ctx), r.StopWait)
	defer done()
	within(late, after(r.absent.Close))
	r.stop(errShutdown)
	if !within(late, finished) {
		r.Logger.Error("runs did not stop in time; the next start recovers them", "run_ids", r.working())
	}
	r.endLoops()
	within(late, after(r.loops.Wait))
	r.leases.Leave()
}

// after returns a channel that is closed when wait has returned.
func after(wait func()) <-chan struct{} {
	over := make(chan struct{})
	go func() {
		wait()
		close(over)
	}()
	return over
}

// within waits for over and reports whether it was closed before ctx ended.
func within(ctx context.Context, over <-chan struct{}) bool {
	select {
	case <-over:
		return true
	case <-ctx.Done():
		return false
	}
}

// working returns the ids of the running runs.
func (r *Runs) working() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var ids []string
	for id, run := range r.live {
		if run.attempt > 0 && !run.held {
			ids = append(ids, id)
		}
	}
	return ids
}
