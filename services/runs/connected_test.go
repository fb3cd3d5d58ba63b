package runs_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/chattray/chattray/services/exchange"
	"github.com/chattray/chattray/services/runs"
)

// stalled is a carrier whose connection takes nothing: each message takes a second, and
// whoever asks for its state waits for that.
type stalled struct {
	exchange.Carrier

	turn chan struct{} // a lock that the time of a bubble passes
}

func (s *stalled) Up() bool {
	s.turn <- struct{}{}
	<-s.turn
	return true
}

func (s *stalled) SendAll([]byte) error {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	<-time.After(time.Second)
	return nil
}

func (*stalled) Receive(string, func([]byte)) error { return nil }

// Who asks whether the process is ready waits for no message.
func TestConnectedWhileAMessageStalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := runs.New(runs.Options{Store: runs.Stores{Commit: tended{}, Logs: unread{}}, Carrier: &stalled{turn: make(chan struct{}, 1)}})
		defer r.Shutdown(t.Context())
		synctest.Wait()
		r.Tell("a")
		synctest.Wait() // it is being sent
		began := time.Now()
		if up, took := r.Connected(), time.Since(began); !up || took > 0 {
			t.Errorf("connected: %v after %v, want true at once", up, took)
		}
	})
}
