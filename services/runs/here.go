package runs

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/services/answer"
	"github.com/chattray/chattray/services/eventlog"
)

// here are the runs of this process, as acts knows them.
type here struct{ *Runs }

// Open says whether there are unfinished runs, which are queued, and which have calls that
// wait for an answer.
func (h here) Open() (some bool, queued, waiting []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for id, run := range h.live {
		if _, over := run.log.Ended(); over {
			continue
		}
		some = true
		if run.waits {
			queued = append(queued, id)
		}
		if run.wakeups.Awaited() {
			waiting = append(waiting, id)
		}
	}
	return some, queued, waiting
}

// Cancelled ends a run whose cancel is stored or which is deleted.
func (h here) Cancelled(id string) {
	if run := h.find(id); run != nil {
		run.stop(answer.ErrCancelled)
		h.endQueued(run)
	}
}

// Turn starts a queued run if it is its turn.
func (h here) Turn(ctx context.Context, id string) {
	if run := h.find(id); run != nil {
		h.startQueued(ctx, run)
	}
}

// Look reports whether the run is here. One that ends with its last reader looks whether
// it has some.
func (h here) Look(id string) bool {
	run := h.find(id)
	if run != nil {
		h.unread(run, h.DisconnectGrace)
	}
	return run != nil
}

// logOf returns the log of a run of this process, nil for any other one.
func (r *Runs) logOf(id string) *eventlog.Log {
	if run := r.find(id); run != nil {
		return run.log
	}
	return nil
}

// readElsewhere tells the replica of a run that ends with its last reader that it has a
// reader here, as long as the events are read. The run itself counts its own readers.
func (r *Runs) readElsewhere(ctx context.Context, id string, events iter.Seq2[[]runlog.Event, error]) iter.Seq2[[]runlog.Event, error] {
	if r.acts == nil || r.find(id) != nil {
		return events
	}
	return func(yield func([]runlog.Event, error) bool) {
		stored, err := r.Store.Runs.Run(ctx, id)
		var req schemas.ChatRequest
		if err == nil && !stored.State.Terminal() && json.Unmarshal(stored.Request, &req) == nil && endsWithReader(&req) {
			defer r.acts.Reads(ctx, id)()
		}
		events(yield)
	}
}
