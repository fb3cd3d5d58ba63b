package runs_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/services/eventlog"
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

// hangingQueue is a queue that cannot be read in time.
type hangingQueue struct{ runs.QueueStore }

func (hangingQueue) NextQueued(ctx context.Context, _ int64) (record.Run, error) {
	<-ctx.Done()
	return record.Run{}, record.ErrUnavailable
}

// A stop does not wait until the queues of all chats have been looked at, one after the other.
func TestShutdownWhileQueuesCannotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := runs.New(runs.Options{Store: runs.Stores{Commit: tended{}, Queue: hangingQueue{}, Runs: uncancelled{}, Logs: unread{}}})
		for chat, id := range []string{"a", "b", "c", "d"} {
			r.EnlistWriting(t.Context(), id, int64(chat))
			r.Next(int64(chat))
		}
		<-time.After(3 * time.Second) // now they are looked at
		began := time.Now()
		r.Shutdown(t.Context())
		if took := time.Since(began); took > eventlog.CommitWait {
			t.Errorf("it took %v, want at most the %v of one look", took, eventlog.CommitWait)
		}
	})
}
