package concurrent_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/chattray/chattray/schemas/concurrent"
)

// One holds a lock at a time; those of other names wait for nobody, and a wait ends
// with its context.
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
			t.Fatalf("%d hold a lock that is held", n)
		}
		cancel(gone)
		if err := <-late; !errors.Is(err, gone) {
			t.Errorf("a wait that ended gave %v, want %v", err, gone)
		}
		unlock()
		next := <-held
		synctest.Wait()
		if n := len(held); n != 0 {
			t.Errorf("%d hold the lock beside the one that has it", n)
		}
		next()
		(<-held)()
	})
}
