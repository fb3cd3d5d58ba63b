package wires_test

import (
	"context"
	"iter"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/chattray/chattray/api/wires"
	"github.com/chattray/chattray/api/wires/all"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/runlog"
)

// silent is a run that has no event yet.
type silent struct {
	live

	read func()
}

func (s silent) Follow(context.Context, schemas.User, string, int64, time.Duration) (iter.Seq2[[]runlog.Event, error], error) {
	return func(yield func([]runlog.Event, error) bool) {
		s.read()
		yield(ended(0), nil)
	}, nil
}

// TestAResponseOpensBeforeItsFirstEvent has a client that waits for a run's next event: it
// has the headers before that.
func TestAResponseOpensBeforeItsFirstEvent(t *testing.T) {
	for _, w := range all.Wires() {
		opens := map[string]string{"ui": ": stream-open\n\n"}[w.Name]
		response, to := httptest.NewRecorder(), &shown{ctx: t.Context(), left: -1}
		begun := false
		run := schemas.Run{RunID: "r", State: schemas.RunRunning, Attempt: 1}
		c := &wires.Call{Request: httptest.NewRequest(http.MethodPost, "/", http.NoBody), Response: response, Done: func() {}}
		c.Service = &wires.Service{Runs: silent{live: live{run: run}, read: func() { begun = response.Flushed || to.Len() > 0 }}}
		part := wires.Response{Run: run, Table: w.Tables[0].Table, Opening: opens}
		if err := c.Service.Serve(c, to, part); err != nil {
			t.Fatal(err)
		}
		if !begun {
			t.Errorf("a client of %s has nothing of a response whose run has no event, want its headers", w.Name)
		}
	}
}

// TestTakenOverBeforeItsFirstEvent has a reader of a run whose process is killed, and which
// another one takes over. Nothing has been shown: the response goes on with the new attempt.
// One that has shown something breaks off, as what it has shown no longer counts.
func TestTakenOverBeforeItsFirstEvent(t *testing.T) {
	later := append(beginning(runlog.AttemptSpan, 2), ended(runlog.AttemptSpan)...)
	for _, tt := range []struct {
		name    string
		batches [][]runlog.Event
		aborts  bool
	}{
		{"nothing was stored", [][]runlog.Event{later}, false},
		{"what was stored comes together with what replaces it", [][]runlog.Event{slices.Concat(beginning(0, 1), later)}, false},
		{"what was stored has been shown", [][]runlog.Event{beginning(0, 1), later}, true},
	} {
		for _, w := range all.Wires() {
			for _, v := range w.Tables {
				t.Run(tt.name+"/"+w.Name+" "+v.Name, func(t *testing.T) {
					run := schemas.Run{RunID: "r", State: schemas.RunRunning, Attempt: 1, LastSequence: 4}
					to := &shown{ctx: t.Context(), left: -1}
					c := &wires.Call{Request: httptest.NewRequest(http.MethodPost, "/", http.NoBody), Response: httptest.NewRecorder(), Done: func() {}}
					c.Service = &wires.Service{Runs: live{run: run, batches: tt.batches}}
					aborted := false
					func() {
						defer func() { aborted = recover() != nil }()
						if err := c.Service.Serve(c, to, wires.Response{Run: run, Table: v.Table}); err != nil {
							t.Fatal(err)
						}
					}()
					if want := tt.aborts && w.Name != "responses"; aborted != want { // which shows every attempt
						t.Errorf("the connection is aborted: %t, want %t; the client got\n%s", aborted, want, to.String())
					}
				})
			}
		}
	}
}
