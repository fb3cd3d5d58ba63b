package concurrent_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/chattray/chattray/schemas/concurrent"
)

// Only one goroutine holds a lock at a time. Locks of other names are
// independent, and a wait ends with its context.
func TestLocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l concurrent.Locks
		unlock, err := l.Lock(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		other, err := l.Lock(t.Context(), "b")
		if err != nil {
			t.Fatal(err)
		}
		other()
		gone := errors.New("gone")
		ctx, cancel := context.WithCancelCause(t.Context())
		late := make(chan error, 1)
		go func() {
			_, err := l.Lock(ctx, "a")
			late <- err
		}()
		held := make(chan func(), 2)
		for range 2 {
			go func() {
				if unlock, err := l.Lock(t.Context(), "a"); err == nil {
					held <- unlock
				}
			}()
		}
		synctest.Wait()
		if n := len(held); n != 0 {
			t.Fatalf("%d goroutines hold the lock that another one has, want none", n)
		}
		cancel(gone)
		if err := <-late; !errors.Is(err, gone) {
			t.Errorf("a wait that ended gave %v, want %v", err, gone)
		}
		unlock()
		next := <-held
		synctest.Wait()
		if n := len(held); n != 0 {
			t.Errorf("%d other goroutines hold the lock too, want none", n)
		}
		next()
		(<-held)()
	})
}
