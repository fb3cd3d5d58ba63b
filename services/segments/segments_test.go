package segments

import (
	"context"
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
