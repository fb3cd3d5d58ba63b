package apptest

import (
	"testing"
	"time"
)

// Limit bounds each wait of a test. It is only for what hangs: a busy machine
// is never so slow.
const Limit = 3 * time.Minute

// Eventually asks again until the condition holds.
func Eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(Limit); !holds(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("after %v not yet: %s", Limit, what)
		}
	}
}
