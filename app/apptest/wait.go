package apptest

import (
	"testing"
	"time"
)

// Limit bounds each wait of a test. It ends only waits that hang: even a busy
// machine is never that slow.
const Limit = 3 * time.Minute

// Eventually checks the condition repeatedly until it holds.
func Eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(Limit); !holds(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("after %v this is still not true: %s", Limit, what)
		}
	}
}
