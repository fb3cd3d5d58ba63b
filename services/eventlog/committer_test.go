package eventlog

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chattray/chattray/schemas/record"
)

// silentStore does not answer while it hangs; it keeps the writes that it has
// stored, and counts how often it was tended.
type silentStore struct {
	hangs  atomic.Bool
	stored []string
	tended int
}

func (s *silentStore) Commit(ctx context.Context, writes []*record.Write) error {
	if s.hangs.Load() {
		<-ctx.Done()
		return errors.Join(ctx.Err(), record.ErrUnavailable)
	}
	for _, w := range writes {
		s.stored = append(s.stored, w.RunID)
	}
	return nil
}

func (s *silentStore) Tend(context.Context) error {
	s.tended++
	return errors.New("it is broken")
}

// The store is tended with each flush, whether it could be or not, and writes are stored
// all the same.
func TestTended(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(silentStore)
		c := NewCommitter(CommitterOptions{Store: store, Logger: slog.New(slog.DiscardHandler), Batch: func(int, time.Duration) {}})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); c.Run(ctx) }()
		const flushes = 5
		<-time.After(flushes*defaultFlush + defaultFlush/2)
		if err := c.Submit(&record.Write{RunID: "r"}, nil, false).Wait(t.Context()); err != nil {
			t.Error(err)
		}
		stop()
		<-done
		if store.tended != flushes || len(store.stored) != 1 {
			t.Errorf("tended %d times, stored %v; want %d times, and the write", store.tended, store.stored, flushes)
		}
	})
}

// A write has one deadline, which includes the wait for a commit that hangs. A
// held write is stored when the database answers again, and only once.
func TestWritesToAStoreThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(silentStore)
		store.hangs.Store(true)
		c := NewCommitter(CommitterOptions{
			Store: store, Hold: time.Hour, Logger: slog.New(slog.DiscardHandler), Batch: func(int, time.Duration) {},
		})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); c.Run(ctx) }()
		began := time.Now()
		held := c.Submit(&record.Write{RunID: "held"}, nil, true)
		for range 3 { // the first of them waits for the commit of the held write
			<-time.After(writeWait / 4)
			since := time.Now()
			err := c.Submit(&record.Write{RunID: "late"}, nil, false).Wait(t.Context())
			if !errors.Is(err, record.ErrUnavailable) {
				t.Errorf("got %v, want %v", err, record.ErrUnavailable)
			}
			if took := time.Since(since); took > writeWait {
				t.Errorf("a write took %v, want at most %v", took, writeWait)
			}
		}
		store.hangs.Store(false)
		if err := held.Wait(t.Context()); err != nil {
			t.Errorf("what was held %v: %v", time.Since(began), err)
		}
		stop()
		<-done
		if len(store.stored) != 1 || store.stored[0] != "held" {
			t.Errorf("stored %v, want only the held write", store.stored)
		}
	})
}
