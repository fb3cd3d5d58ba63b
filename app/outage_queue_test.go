package app

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/services"
	"github.com/chattray/chattray/store"
)

// unsureStore begins the first queued run and does not say so, as a database
// does whose connection breaks after the commit.
type unsureStore struct {
	*store.Store
	lost atomic.Bool
}

func (s *unsureStore) Claim(ctx context.Context, id string, attempt int) error {
	err := s.Store.Claim(ctx, id, attempt)
	if err == nil && s.lost.CompareAndSwap(false, true) {
		return errors.Join(record.ErrUnavailable, errors.New("no answer came"))
	}
	return err
}

// waitsBehind asks two questions in one chat, the second while the first is
// written, and opens the gate once both are accepted.
func (w *world) waitsBehind(t *testing.T, meanwhile func()) {
	t.Helper()
	gate := make(chan struct{})
	first, second := w.gated("chat", "queue", gate), w.newTalk("chat", "queue")
	second.patient = true
	firstDone := first.going(t)
	w.writing(t, first)
	secondDone := second.going(t)
	eventually(t, "the second is accepted", second.answered.Load)
	meanwhile()
	close(gate)
	for _, done := range []<-chan error{firstDone, secondDone} {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	holds(t, first, second)
	w.checkScripted()
}

// A queued run that was begun without our knowing goes on all the same.
func TestQueueWithALostAnswer(t *testing.T) {
	for _, d := range apptest.Databases() {
		t.Run(d.Name, func(t *testing.T) {
			t.Parallel()
			w, s := newWorld(t, d.Fresh(t)), new(unsureStore)
			w.serveHere(Options{Runs: func(o *services.RunsOptions) {
				s.Store, _ = o.Store.(*store.Store)
				o.Store = s
			}})
			w.waitsBehind(t, func() {})
			if !s.lost.Load() {
				t.Error("no run was begun from the queue")
			}
		})
	}
}

// A run that waits here, and that another process has begun, has readers who are
// told to come back: nobody waits forever at the process that is replaced.
func TestQueueTakenOver(t *testing.T) {
	for _, d := range apptest.Databases() {
		t.Run(d.Name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, d.Fresh(t))
			w.serveHere(Options{})
			w.waitsBehind(t, func() { w.serveHere(Options{}) })
			if status, err := w.call(t.Context(), http.MethodGet, "/readyz", nil); err != nil || status != http.StatusOK {
				t.Errorf("the second process: status %d, %v", status, err)
			}
		})
	}
}
