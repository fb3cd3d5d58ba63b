package runs_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chattray/chattray/services/runs"
)

// A stop ends a bounded time after the drain, whatever a run does.
func TestShutdownGivesUp(t *testing.T) {
	const drain = 2 * time.Second
	for _, tt := range []struct {
		name  string
		works time.Duration // for which the run continues, 0 is forever
		want  time.Duration
	}{
		{"a run that ends in the drain", time.Second, time.Second},
		{"a run that ends a little later", drain + time.Second, drain + time.Second},
		{"a run that never ends", 0, drain + 5*time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := runs.New(runs.Options{Store: runs.Stores{Commit: tended{}, Logs: unread{}}})
				over := make(chan struct{})
				if tt.works > 0 {
					time.AfterFunc(tt.works, func() { close(over) })
				}
				r.Work(func() { <-over })
				ctx, cancel := context.WithTimeout(t.Context(), drain)
				defer cancel()
				began := time.Now()
				r.Shutdown(ctx)
				if took := time.Since(began); took != tt.want {
					t.Errorf("it took %v, want %v", took, tt.want)
				}
				if tt.works == 0 {
					close(over)
				}
			})
		})
	}
}
