package outage

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chattray/chattray/app"
	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/services/runs"
	"github.com/chattray/chattray/store"
)

// unsureStore begins the first queued run and returns an error, like a database
// whose connection breaks after the commit.
type unsureStore struct {
	*store.Store
	lost atomic.Bool
}

func (s *unsureStore) BeginQueued(ctx context.Context, id, replica string, names []string) (record.Begun, error) {
	begun, err := s.Store.BeginQueued(ctx, id, replica, names)
	if err == nil && s.lost.CompareAndSwap(false, true) {
		return record.Begun{}, errors.Join(record.ErrUnavailable, errors.New("no answer came"))
	}
	return begun, err
}

// queueSecond asks two questions in one chat, the second while the first is
// written, and opens the gate once both are accepted.
func queueSecond(system *apptest.System, t *testing.T, meanwhile func()) {
	t.Helper()
	gate := make(chan struct{})
	first, second := system.Gated("chat", "queue", gate), system.NewConversation("chat", "queue")
	second.Patient = true
	firstDone := first.Start(t)
	system.AwaitModel(t, first)
	secondDone := second.Start(t)
	apptest.Eventually(t, "the second is accepted", second.Accepted.Load)
	meanwhile()
	close(gate)
	for _, done := range []<-chan error{firstDone, secondDone} {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	apptest.CheckAll(t, first, second)
	system.CheckScripted()
}

// A queued run continues even if the confirmation of its start was lost.
func TestQueueWithALostAnswer(t *testing.T) {
	apptest.OnDatabases(t, func(t *testing.T, system *apptest.System) {
		s := new(unsureStore)
		system.ServeHere(app.Options{Runs: func(o *runs.Options) {
			s.Store, _ = o.Store.Runs.(*store.Store)
			o.Store = app.StoresOf(s)
		}})
		queueSecond(system, t, func() {})
		if !s.lost.Load() {
			t.Error("0 runs were begun from the queue, want 1")
		}
	})
}

// The readers of a waiting run that another process has begun are told to
// reconnect: no reader waits forever for the replaced process.
func TestQueueTakenOver(t *testing.T) {
	apptest.OnDatabases(t, func(t *testing.T, system *apptest.System) {
		if strings.HasPrefix(system.Database(), "sqlite:") {
			t.Skip("no other process takes over an SQLite file")
		}
		system.ServeHere(app.Options{})
		queueSecond(system, t, func() { system.ServeHere(app.Options{}) })
		if status, err := system.Call(t.Context(), http.MethodGet, "/readyz", nil); err != nil || status != http.StatusOK {
			t.Errorf("the second process: status %d, %v, want 200", status, err)
		}
	})
}
