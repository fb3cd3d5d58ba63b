package eventlog

import (
	"context"
	"time"

	"github.com/chattray/chattray/schemas/runlog"
)

// forever is longer than any run.
const forever = 24 * time.Hour

// Follow yields the new events after the cursor each time the bell rings, which
// Subscribe has returned, and an empty batch after each idle period (0 yields none). It
// ends with the log; a log that ends without a terminal event gives runlog.ErrInterrupted.
func (l *Log) Follow(ctx context.Context, after int64, bell <-chan struct{}, idle time.Duration, yield func([]runlog.Event, error) bool) {
	if idle <= 0 {
		idle = forever
	}
	silence := time.NewTimer(idle)
	defer silence.Stop()
	tail := l.Tail(after)
	defer tail.rest()
	for {
		events, open := tail.Next()
		if len(events) > 0 {
			if !yield(events, nil) {
				return
			}
			silence.Reset(idle)
			continue
		}
		if !open {
			if _, over := l.Ended(); !over {
				yield(nil, runlog.ErrInterrupted)
			}
			return
		}
		select {
		case <-bell:
		case <-silence.C:
			silence.Reset(idle)
			if !yield(nil, nil) {
				return
			}
		case <-ctx.Done():
			yield(nil, context.Cause(ctx))
			return
		}
	}
}
