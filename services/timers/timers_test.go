package timers_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chattray/chattray/services/timers"
)

// passes lets time pass in a bubble.
func passes(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // the time of the bubble: it passes at once
}

// The time in which a run waits for its user does not count.
func TestLimitPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l timers.Limit
		expired := make(chan time.Time, 1)
		began := time.Now()
		l.Start(3*time.Second, func() { expired <- time.Now() })
		passes(time.Second)
		l.Pause()
		l.Pause()
		passes(time.Hour)
		l.Resume()
		passes(time.Hour)
		l.Resume()
		if took := (<-expired).Sub(began); took != 2*time.Hour+3*time.Second {
			t.Errorf("the limit expired after %v, want 2h0m3s", took)
		}
		l.Pause()
		l.Resume()
		passes(time.Hour)
		synctest.Wait()
		if n := len(expired); n != 0 {
			t.Errorf("an expired limit expired again %d times", n)
		}
	})
}

// What earlier attempts have used is taken off, and used time is counted without the time
// in which the run waits.
func TestLimitOverAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var first, second timers.Limit
		used := func(l *timers.Limit, want time.Duration) {
			t.Helper()
			if got := l.Used(); got != want {
				t.Errorf("used %v, want %v", got, want)
			}
		}
		expired := make(chan time.Time, 2)
		first.Start(5*time.Second, func() { expired <- time.Now() })
		passes(time.Second)
		used(&first, time.Second)
		first.Pause()
		passes(time.Hour)
		used(&first, time.Second)
		first.Resume()
		passes(2 * time.Second)
		used(&first, 3*time.Second)
		first.Stop()

		second.Restore(first.Used())
		used(&second, 3*time.Second)
		began := time.Now()
		second.Start(5*time.Second, func() { expired <- time.Now() })
		if took := (<-expired).Sub(began); took != 2*time.Second {
			t.Errorf("the second attempt had %v, want the 2s that were left", took)
		}
		var third timers.Limit
		third.Restore(time.Hour)
		third.Start(5*time.Second, func() { expired <- time.Now() })
		if took := (<-expired).Sub(began); took != 2*time.Second {
			t.Errorf("an attempt without time left expired after %v, want at once", took-2*time.Second)
		}
	})
}

// A reader that comes back in time keeps its run; each absence has its own grace.
func TestGraces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g timers.Graces[string]
		gone := make(map[string]time.Duration)
		began := time.Now()
		var mu sync.Mutex
		leaves := func(run string) {
			g.Begin(run, 5*time.Second, func() {
				mu.Lock()
				defer mu.Unlock()
				gone[run] = time.Since(began)
			})
		}
		leaves("back")
		leaves("away")
		leaves("twice")
		passes(3 * time.Second)
		g.End("back")
		leaves("twice")
		passes(time.Minute)
		leaves("closed")
		g.Close()
		leaves("late")
		passes(time.Minute)
		synctest.Wait()
		if len(gone) != 2 || gone["away"] != 5*time.Second || gone["twice"] != 8*time.Second {
			t.Errorf("gone = %v, want away after 5s and twice after 8s", gone)
		}
	})
}

// A limit that is up when the run begins to wait, but has not said so, says it when the run
// continues.
func TestLimitThatIsUpAsItPauses(t *testing.T) {
	for range 100 { // mostly Pause comes before the timer has run
		var l timers.Limit
		expired := make(chan struct{}, 2)
		l.Restore(time.Minute)
		l.Start(time.Minute, func() { expired <- struct{}{} })
		l.Pause()
		l.Resume()
		select {
		case <-expired:
		case <-time.After(10 * time.Second):
			t.Fatal("the limit has not expired, want that it has")
		}
		if len(expired) > 0 {
			t.Error("the limit has expired twice, want once")
		}
	}
}
