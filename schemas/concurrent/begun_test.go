package concurrent_test

import (
	"testing"
	"testing/synctest"

	"github.com/chattray/chattray/schemas/concurrent"
)

func TestBegun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b concurrent.Begun
		b.Wait("a") // it has not begun
		b.Done("a")
		b.Add("a")
		b.Add("a")
		b.Wait("b")
		waited := false
		go func() {
			b.Wait("a")
			waited = true
		}()
		synctest.Wait()
		if waited || !b.Has("a") || b.Has("b") {
			t.Errorf("before its end: waited %t, has a %t, has b %t, want only a", waited, b.Has("a"), b.Has("b"))
		}
		b.Done("a")
		synctest.Wait()
		if !waited || b.Has("a") {
			t.Errorf("after its end: waited %t, has a %t, want waited", waited, b.Has("a"))
		}
	})
}
