package runs_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/services/runs"
	"github.com/chattray/chattray/services/views"
)

// cancelled is the store's runs, of which each can be cancelled.
type cancelled struct{ uncancelled }

func (cancelled) RequestCancel(context.Context, string) error { return nil }

// viewed reads them for their user.
type viewed struct {
	views.Store
	uncancelled
}

func (v viewed) Run(ctx context.Context, id string) (record.Run, error) {
	return v.uncancelled.Run(ctx, id)
}

func (viewed) RunByKey(context.Context, string, string) (record.Run, error) {
	return record.Run{}, schemas.ErrNotFound
}

// A cancel may find a run that is stored and not yet registered. It waits for that and then
// for the run's end.
func TestCancelOfARunThatBegins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := runs.New(runs.Options{Store: runs.Stores{Commit: tended{}, Runs: cancelled{}, Views: viewed{}, Logs: unread{}}})
		defer r.Shutdown(t.Context())
		r.Begin("run")
		over := make(chan error, 1)
		go func() { over <- r.CancelAll(t.Context(), schemas.User{}, func() {}, "run") }()
		synctest.Wait()
		if len(over) > 0 {
			t.Fatal("the cancel does not wait for the run")
		}
		end := r.EnlistFollowed(t.Context(), "run")
		synctest.Wait()
		if len(over) > 0 {
			t.Fatal("the cancel does not wait for the end of the run")
		}
		end()
		if err := <-over; err != nil {
			t.Error(err)
		}
	})
}

// A cancel does not wait for long for a run that does not end.
func TestCancelOfARunThatDoesNotEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := runs.New(runs.Options{Store: runs.Stores{Commit: tended{}, Runs: cancelled{}, Views: viewed{}, Logs: unread{}}})
		defer r.Shutdown(t.Context())
		end := r.EnlistFollowed(t.Context(), "run")
		defer end()
		began := time.Now()
		if err := r.CancelAll(t.Context(), schemas.User{}, func() {}, "run"); err != nil || time.Since(began) >= time.Second {
			t.Errorf("got %v after %v, want no error within a second", err, time.Since(began))
		}
	})
}
