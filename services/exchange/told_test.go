package exchange

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A long list is told in parts, so that no message is longer than others take.
func TestLongListsAreToldInParts(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		ids := make([]string, 2*maxItems+1)
		for i := range ids {
			ids[i] = fmt.Sprint(i)
		}
		w.Tell(Free, ids...)
		var got []string
		for _, m := range w.take() {
			if m.Kind != Free || len(m.Items) > maxItems {
				t.Errorf("a message of the kind %v with %d items, want at most %d", m.Kind, len(m.Items), maxItems)
			}
			for _, item := range m.Items {
				got = append(got, item.ID)
			}
		}
		if len(got) != len(ids) || got[len(got)-1] != ids[len(ids)-1] {
			t.Errorf("%d items were told, want %d", len(got), len(ids))
		}
	})
}

// What is said right before the end is sent.
func TestLastWordsAreSent(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for range 50 { // the wake or the end may be seen first
		w := &wire{}
		x := New(Options{Carrier: w, Logger: slog.New(slog.DiscardHandler), Me: func() string { return "a" }})
		x.Tell(Loose)
		x.Run(ctx, Handlers{})
		if len(w.sent) != 1 || w.sent[0].Kind != Loose {
			t.Fatalf("sent %+v, want what was told", w.sent)
		}
	}
}

// stalled is a carrier whose connection takes nothing: a message takes seconds, and whoever
// asks for its state waits for that.
type stalled struct {
	wire
	turn chan struct{}
}

func (s *stalled) Up() bool {
	s.turn <- struct{}{}
	<-s.turn
	return true
}

func (s *stalled) SendAll(raw []byte) error {
	s.turn <- struct{}{}
	<-time.After(time.Minute)
	<-s.turn
	return s.wire.SendAll(raw)
}

// Nobody but the sending goroutine waits for a connection that takes nothing.
func TestStalledCarrier(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stalled{turn: make(chan struct{}, 1)}
		x := New(Options{Carrier: s, Logger: slog.New(slog.DiscardHandler), Me: func() string { return "a" }})
		ctx, cancel := context.WithCancel(t.Context())
		var work sync.WaitGroup
		work.Go(func() { x.Run(ctx, Handlers{}) })
		synctest.Wait()
		began := time.Now()
		for range 3 {
			x.Tell(Loose)
			synctest.Wait() // the first one is being sent
			if !x.Up() {
				t.Error("the carrier is down, want it up")
			}
		}
		if took := time.Since(began); took > 0 {
			t.Errorf("to tell others took %v, want no time", took)
		}
		cancel()
		work.Wait()
		if len(s.sent) != 3 {
			t.Errorf("%d messages were sent, want all", len(s.sent))
		}
	})
}
