package segments

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chattray/chattray/schemas/record"
)

// A segment that nobody has used for a minute is dropped, one that was used since stays.
func TestUnusedIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(func(context.Context, string, int64) (record.Segment, error) {
			return record.Segment{First: 1, Last: 4, Data: make([]byte, 100)}, nil
		}, 1<<20)
		use := func(run string, wantLoaded int) {
			t.Helper()
			s, err := c.Use(t.Context(), run, 0)
			if err != nil {
				t.Fatal(err)
			}
			c.Release(s)
			if n := c.Stats().Loaded; n != wantLoaded {
				t.Errorf("after the use of %s %d segments have been loaded, want %d", run, n, wantLoaded)
			}
		}
		pass := func(d time.Duration) {
			<-time.After(d)
			synctest.Wait()
		}
		use("a", 1)
		use("b", 2)
		pass(unusedStays / 2)
		use("b", 2)
		pass(unusedStays / 2)
		if got := c.Stats(); got.Runs != 1 {
			t.Errorf("after a minute the cache has %+v, want only the run that was used since", got)
		}
		use("b", 2)
		use("a", 3)
		pass(unusedStays)
		if got := c.Stats(); got != (Stats{Loaded: 3}) || c.expires != nil {
			t.Errorf("when nothing has been used for a minute, the cache has %+v, want nothing", got)
		}
	})
}

// A segment in use is never dropped.
func TestUsedStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(func(context.Context, string, int64) (record.Segment, error) {
			return record.Segment{First: 1, Last: 4, Data: make([]byte, 100)}, nil
		}, 0)
		a, err := c.Use(t.Context(), "a", 0)
		if err != nil {
			t.Fatal(err)
		}
		b, err := c.Use(t.Context(), "b", 0)
		if err != nil {
			t.Fatal(err)
		}
		c.Release(b)
		<-time.After(2 * unusedStays)
		synctest.Wait()
		if got := c.Stats(); got.Used != 1 || got.Segments != 1 {
			t.Errorf("the cache has %+v, want the segment in use", got)
		}
		c.Release(a)
	})
}

// A reader that leaves while it reads a segment for others does not end their wait.
func TestReaderLeavesWhileItLoads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		loads := 0
		c := New(func(ctx context.Context, _ string, _ int64) (record.Segment, error) {
			if loads++; loads == 1 {
				<-ctx.Done()
				return record.Segment{}, errors.New("the connection is closed")
			}
			return record.Segment{First: 1, Last: 4, Data: make([]byte, 100)}, nil
		}, 0)
		first, leave := context.WithCancel(t.Context())
		left := make(chan error, 1)
		go func() {
			_, err := c.Use(first, "a", 0)
			left <- err
		}()
		synctest.Wait()
		found := make(chan error, 1)
		go func() {
			_, err := c.Use(t.Context(), "a", 0)
			found <- err
		}()
		synctest.Wait()
		leave()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("the reader that left got %v, want %v", err, context.Canceled)
		}
		if err := <-found; err != nil || loads != 2 {
			t.Errorf("the other reader got %v after %d loads, want the segment after 2", err, loads)
		}
	})
}

// Readers at different places of a segment share it, also if they read it at the same time.
func TestOneSegmentOfSeveralLoads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ready := make(chan struct{})
		c := New(func(context.Context, string, int64) (record.Segment, error) {
			<-ready
			return record.Segment{First: 1, Last: 4, Data: make([]byte, 100)}, nil
		}, 0)
		used := make(chan *Segment, 3)
		for after := range int64(3) {
			go func() {
				s, err := c.Use(t.Context(), "a", after)
				if err != nil {
					t.Error(err)
				}
				used <- s
			}()
		}
		synctest.Wait()
		close(ready)
		first, second, third := <-used, <-used, <-used
		if first != second || second != third {
			t.Error("the readers use several copies of the segment")
		}
		if got := c.Stats(); got.Segments != 1 || got.Bytes != 100+overhead || got.Loaded != 3 {
			t.Errorf("the cache has %+v, want one segment", got)
		}
	})
}

// A segment that is larger than the limit is kept while it is used, and no longer. Another
// one waits for room, but not forever.
func TestLargerThanTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(func(context.Context, string, int64) (record.Segment, error) {
			return record.Segment{First: 1, Last: 4, Data: make([]byte, 100)}, nil
		}, 50)
		large, err := c.Use(t.Context(), "a", 0)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if _, err := c.Use(t.Context(), "b", 0); !errors.Is(err, ErrBusy) || time.Since(began) != Wait {
			t.Errorf("the next one gets %v after %v, want %v after %v", err, time.Since(began), ErrBusy, Wait)
		}
		waited := make(chan error, 1)
		go func() {
			s, err := c.Use(t.Context(), "b", 0)
			if err == nil {
				c.Release(s)
			}
			waited <- err
		}()
		synctest.Wait()
		c.Release(large)
		if err := <-waited; err != nil {
			t.Errorf("one that waited gets %v, want the room of the first", err)
		}
		if got := c.Stats(); got.Bytes != 0 || got.Runs != 0 {
			t.Errorf("the cache keeps %+v, want nothing", got)
		}
	})
}
