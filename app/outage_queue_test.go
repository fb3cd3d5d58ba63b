package app

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

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
	for _, d := range testDatabases() {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			w, s := newWorld(t, d.fresh(t)), new(unsureStore)
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
// told to come back: nobody waits for ever at the process that is replaced.
func TestQueueTakenOver(t *testing.T) {
	for _, d := range testDatabases() {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, d.fresh(t))
			w.serveHere(Options{})
			w.waitsBehind(t, func() { w.serveHere(Options{}) })
			if status, err := w.call(t.Context(), http.MethodGet, "/readyz", nil); err != nil || status != http.StatusOK {
				t.Errorf("the second process: status %d, %v", status, err)
			}
		})
	}
}

// lateStore has carried out nothing of what a process that was killed had told
// it when the next one looks, and all of it later.
type lateStore struct {
	*store.Store
	looks atomic.Int64
}

func (s *lateStore) Unfinished(ctx context.Context) ([]record.Run, error) {
	if s.looks.Add(1) == 1 {
		return nil, nil
	}
	return s.Store.Unfinished(ctx)
}

// A run that is stored only after its successor has looked for unfinished runs
// goes on all the same, once, and so does the one that waits behind it.
func TestRunsStoredLate(t *testing.T) {
	onStage(t, "say \"Half\"\nhang\n\nsay \"Mine\"\nhang\n\nsay \"Whole.\"\nfinish stop\n\nsay \"Second.\"\nfinish stop\n", func(s *stage) {
		ask := func(message string) {
			s.do(step{verb: http.MethodPost, name: message, arg: "/api/chat/stream", user: "una", body: `{"message":"` + message + `","chat_id":"chat","if_busy":"queue"}`})
		}
		ask("first")
		ask("second")
		s.stop()
		late := new(lateStore)
		s.options = func(o *services.RunsOptions) {
			late.Store, _ = o.Store.(*store.Store)
			o.Store = late
		}
		s.start()
		time.Sleep(9 * time.Second) //nolint:forbidigo // the time of the bubble: it passes at once
		if n := s.up.Calls(); n != 1 {
			t.Fatalf("the model was asked %d times before the second look, want 1", n)
		}
		s.do(step{verb: http.MethodPost, name: "own", arg: "/api/chat/stream", user: "una", body: `{"message":"mine"}`})
		time.Sleep(time.Minute) //nolint:forbidigo // the time of the bubble: it passes at once
		if got := s.do(step{verb: http.MethodGet, arg: "/api/chats/1", user: "una"}); strings.Count(got, `"status": "complete"`) != 4 ||
			!strings.Contains(got, `"Whole."`) || !strings.Contains(got, `"Second."`) {
			t.Errorf("the chat of the late runs is %s", got)
		}
		if n, looks := s.up.Calls(), late.looks.Load(); n != 4 || looks != 2 {
			t.Errorf("the model was asked %d times, want 4; %d looks, want 2", n, looks)
		}
		s.leave()
	})
}
