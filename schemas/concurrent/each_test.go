package concurrent_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chattray/chattray/schemas/concurrent"
)

func TestEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, calls := time.Now(), make([]atomic.Int64, 10)
		concurrent.Each(len(calls), 4, func(i int) {
			time.Sleep(time.Second) //nolint:forbidigo // the time of the bubble: it passes at once
			calls[i].Add(1)
		})
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("10 calls, 4 at a time, took %v, want 3s", took)
		}
		for i := range calls {
			if n := calls[i].Load(); n != 1 {
				t.Errorf("%d calls for %d, want 1", n, i)
			}
		}
	})
}
