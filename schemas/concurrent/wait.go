package concurrent

import (
	"context"
	"time"
)

// Pause waits for that long, or returns the cause of ctx's end.
func Pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Over returns a channel that is closed when wait has returned.
func Over(wait func()) <-chan struct{} {
	over := make(chan struct{})
	go func() {
		wait()
		close(over)
	}()
	return over
}

// Within waits for over, and reports whether it was closed before ctx ended.
func Within(ctx context.Context, over <-chan struct{}) bool {
	select {
	case <-over:
		return true
	case <-ctx.Done():
		return false
	}
}
