package runs

import (
	"context"
	"encoding/json"
	"iter"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/concurrent"
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

// readElsewhere follows a run that is not in this process. As long as the events of a run
// are read that ends with its last reader, its replica is told that it has a reader here; a
// run counts its own readers itself.
func (r *Runs) readElsewhere(ctx context.Context, user schemas.User, id string, after int64, idle time.Duration) (iter.Seq2[[]runlog.Event, error], error) {
	var events iter.Seq2[[]runlog.Event, error]
	counts := false
	err := concurrent.OnFreshStack(func() (err error) { // a reader does not keep the stack of a query as long as it reads
		events, err = r.readers.Follow(ctx, user, id, after, idle)
		if err == nil && r.find(id) == nil {
			counts = r.endsWithReader(ctx, id)
		}
		return err
	})
	if err != nil || !counts {
		return events, err
	}
	return func(yield func([]runlog.Event, error) bool) {
		defer r.acts.Reads(ctx, id)()
		events(yield)
	}, nil
}

// endsWithReader reports whether a stored run ends with its last reader.
func (r *Runs) endsWithReader(ctx context.Context, id string) bool {
	stored, err := r.Store.Runs.Run(ctx, id)
	var req schemas.ChatRequest
	return err == nil && !stored.State.Terminal() && json.Unmarshal(stored.Request, &req) == nil && endsWithReader(&req)
}
