package apptest

import (
	"testing"
	"time"
)

// Limit bounds each wait of a test. It ends only waits that hang: even a busy
// machine is never that slow.
const Limit = 3 * time.Minute

// patient are the settings with which a service bears a busy machine: its own limits of
// time are for what hangs.
var patient = []string{"DATABASE_TIMEOUT=2m", "MODEL_CONNECT_TIMEOUT=2m", "MODEL_FIRST_TOKEN_TIMEOUT=10m", "MODEL_IDLE_TIMEOUT=10m", "MAX_PDF_TIME=2m"}

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
