package runs

import (
	"context"

	"github.com/chattray/chattray/services/answer"
)

// here are the runs of this process, as acts knows them.
type here struct{ *Runs }

// Open says whether there are unfinished runs, whether some are queued, and which have
// calls that wait for an answer.
func (h here) Open() (some, queued bool, waiting []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for id, run := range h.live {
		if _, over := run.log.Ended(); over {
			continue
		}
		some, queued = true, queued || run.attempt == 0 && !run.starting
		if run.wakeups.Awaited() {
			waiting = append(waiting, id)
		}
	}
	return some, queued, waiting
}

// Cancelled ends a run whose cancel is stored.
func (h here) Cancelled(id string) {
	if run := h.find(id); run != nil {
		run.stop(answer.ErrCancelled)
		h.endQueued(run)
	}
}

// Turn starts a queued run if it is its turn.
func (h here) Turn(ctx context.Context, id string) {
	if run := h.find(id); run != nil && h.markStarting(run) {
		h.startQueued(ctx, run)
	}
}
