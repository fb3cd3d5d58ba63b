package eventlog

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/seldom"
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

// slowStore takes a while for each write.
type slowStore struct {
	silentStore
	each time.Duration
}

func (s *slowStore) Commit(ctx context.Context, writes []*record.Write) error {
	<-time.After(time.Duration(len(writes)) * s.each)
	return errors.Join(s.silentStore.Commit(ctx, writes), ctx.Err())
}

// Of very many runs that begin at once, as many begin as can be stored in time; the
// others are told why. What runs under way write does not wait for them.
func TestManyBegin(t *testing.T) {
	for _, c := range []struct{ runs, stored int }{{2000, 2000}, {5000, 2700}} {
		synctest.Test(t, func(t *testing.T) {
			store := &slowStore{each: 10 * time.Millisecond}
			committer := NewCommitter(CommitterOptions{Store: store, Logger: slog.New(slog.DiscardHandler), Batch: func(int, time.Duration, error) {}})
			ctx, stop := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() { defer close(done); committer.Run(ctx) }()
			began := time.Now()
			begins := make([]*Commit, c.runs)
			for i := range begins {
				begins[i] = committer.Submit(&Commit{Write: &record.Write{RunID: "new", Begin: new(record.Begin)}})
			}
			for range 20 {
				since := time.Now()
				if err := committer.Submit(&Commit{Write: &record.Write{RunID: "under way"}}).Wait(t.Context()); err != nil {
					t.Error(err)
				}
				if took := time.Since(since); took > 2*time.Second {
					t.Errorf("a write of a run under way took %v", took)
				}
			}
			stored := 0
			for _, b := range begins {
				switch err := b.Wait(t.Context()); {
				case err == nil:
					stored++
				case !errors.Is(err, schemas.ErrTooMuch) || !errors.Is(err, record.ErrUnavailable):
					t.Fatal(err)
				}
				if waited := time.Since(began); waited > beginWait {
					t.Fatalf("a run waited %v", waited)
				}
			}
			if stored < c.stored {
				t.Errorf("of %d runs %d have begun, want at least %d", c.runs, stored, c.stored)
			}
			stop()
			<-done
		})
	}
}

// The store is tended with each flush, whether it could be or not, and writes are stored
// all the same. The log does not say at each flush that it could not.
func TestTended(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var logged bytes.Buffer
		store := new(silentStore)
		c := NewCommitter(CommitterOptions{Store: store, Logger: slog.New(slog.NewTextHandler(&logged, nil)), Batch: func(int, time.Duration, error) {}})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); c.Run(ctx) }()
		const flushes = 5
		<-time.After(flushes*defaultFlush + defaultFlush/2)
		if err := c.Submit(&Commit{Write: &record.Write{RunID: "r"}}).Wait(t.Context()); err != nil {
			t.Error(err)
		}
		stop()
		<-done
		if store.tended != flushes || len(store.stored) != 1 {
			t.Errorf("tended %d times, stored %v; want %d times, and the write", store.tended, store.stored, flushes)
		}
		if lines := strings.Count(logged.String(), "could not tend the store"); lines != 1 {
			t.Errorf("%d lines say that the store could not be tended, want 1:\n%s", lines, &logged)
		}
	})
}

// A write has one deadline, which includes the wait for a commit that hangs. A
// held write is stored when the database answers again, and only once. The log does not say
// at each try that it is held.
func TestWritesToAStoreThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var logged bytes.Buffer
		store := new(silentStore)
		store.hangs.Store(true)
		c := NewCommitter(CommitterOptions{
			Store: store, Hold: time.Hour, Logger: slog.New(slog.NewTextHandler(&logged, nil)), Batch: func(int, time.Duration, error) {},
		})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); c.Run(ctx) }()
		began := time.Now()
		held := c.Submit(&Commit{Write: &record.Write{RunID: "held"}, Hold: true})
		for range 3 { // the first of them waits for the commit of the held write
			<-time.After(writeWait / 4)
			since := time.Now()
			for _, w := range []*Commit{
				c.Submit(&Commit{Write: &record.Write{RunID: "late"}}),
				c.Submit(&Commit{Write: &record.Write{RunID: "late", Begin: new(record.Begin)}}),
			} {
				if err := w.Wait(t.Context()); !errors.Is(err, record.ErrUnavailable) || errors.Is(err, schemas.ErrTooMuch) {
					t.Errorf("got %v, want %v", err, record.ErrUnavailable)
				}
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
		for _, line := range []string{"writes are held", "writes are no longer held"} {
			if lines := strings.Count(logged.String(), line); lines != 1 {
				t.Errorf("%d lines %q in %v, want 1:\n%s", lines, line, time.Since(began), &logged)
			}
		}
	})
}

// The log says that the database is back also if what was held was given up meanwhile.
func TestAStoreIsBackAfterTheHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var logged bytes.Buffer
		store := new(silentStore)
		store.hangs.Store(true)
		var failed, stored int
		c := NewCommitter(CommitterOptions{
			Store: store, Hold: time.Minute, Logger: slog.New(slog.NewTextHandler(&logged, nil)), Batch: func(_ int, _ time.Duration, err error) {
				if err != nil {
					failed++
				} else {
					stored++
				}
			},
		})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); c.Run(ctx) }()
		if err := c.Submit(&Commit{Write: &record.Write{RunID: "held"}, Hold: true}).Wait(t.Context()); !errors.Is(err, record.ErrUnavailable) {
			t.Errorf("what was held: %v, want %v", err, record.ErrUnavailable)
		}
		store.hangs.Store(false)
		for _, id := range []string{"first", "second"} {
			if err := c.Submit(&Commit{Write: &record.Write{RunID: id}}).Wait(t.Context()); err != nil {
				t.Error(err)
			}
		}
		stop()
		<-done
		if failed == 0 || stored != 2 {
			t.Errorf("%d commits failed and %d did not, want some and 2", failed, stored)
		}
		if lines := strings.Count(logged.String(), "the database is available again"); lines != 1 {
			t.Errorf("%d lines say that the database is back, want 1:\n%s", lines, &logged)
		}
	})
}

// Each time that the log says that the database is away, it also says that it is back.
func TestAStoreIsBackAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var logged bytes.Buffer
		store := new(silentStore)
		c := NewCommitter(CommitterOptions{
			Store: store, Hold: time.Hour, Logger: slog.New(slog.NewTextHandler(&logged, nil)), Batch: func(int, time.Duration, error) {},
		})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); c.Run(ctx) }()
		for _, away := range []time.Duration{5 * writeWait, 3 * writeWait / 2} { // each has a line after one writeWait
			store.hangs.Store(true)
			held := c.Submit(&Commit{Write: &record.Write{RunID: "held"}, Hold: true})
			<-time.After(away)
			store.hangs.Store(false)
			if err := held.Wait(t.Context()); err != nil {
				t.Error(err)
			}
			<-time.After(seldom.Pause - 4*writeWait)
		}
		stop()
		<-done
		lines := func(of string) int { return strings.Count(logged.String(), of) }
		if away, back := lines("writes are held"), lines("writes are no longer held"); away != 2 || back != 2 {
			t.Errorf("%d lines say that the database is away and %d that it is back, want 2 of each:\n%s", away, back, &logged)
		}
	})
}
