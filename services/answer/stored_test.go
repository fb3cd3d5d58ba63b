package answer_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/services/answer"
	"github.com/chattray/chattray/services/eventlog"
	"github.com/chattray/chattray/services/modeltext"
	"github.com/chattray/chattray/services/usage"
)

// disk is what is stored of one run; it may be away.
type disk struct {
	mu     sync.Mutex
	away   bool
	writes []record.Write
}

func (d *disk) Commit(_ context.Context, writes []*record.Write) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.away {
		return record.ErrUnavailable
	}
	for _, w := range writes {
		d.writes = append(d.writes, *w)
	}
	return nil
}

func (*disk) Tend(context.Context) error { return nil }

func (d *disk) setAway(away bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.away = away
}

// has reports whether a write with such a part is stored.
func (d *disk) has(part func(w *record.Write) bool) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.ContainsFunc(d.writes, func(w record.Write) bool { return part(&w) })
}

func replies(w *record.Write) bool { return w.Checkpoint != nil }

func finished(w *record.Write) bool {
	return w.ToolCall != nil && w.ToolCall.State == record.ToolFinished
}

// The tools of the run: two that only read, one that writes and may run again, and one that
// may not.
var (
	reads  = turn.Tool{Name: "read", Idempotent: true}
	notes  = turn.Tool{Name: "note", Idempotent: true, Document: true}
	posts  = turn.Tool{Name: "post", Effects: true, Idempotent: true}
	orders = turn.Tool{Name: "order"}
)

// writing is the writer of a run, and what it works with.
type writing struct {
	*answer.Writer
	*disk
	log  *eventlog.Log
	stop context.CancelCauseFunc
}

// inWriting runs a test in a bubble with the writer of a run.
func inWriting(t *testing.T, test func(t *testing.T, w *writing)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &writing{disk: new(disk), log: eventlog.New(1, func() int64 { return 1 })}
		committer := eventlog.NewCommitter(eventlog.CommitterOptions{Store: w.disk, Logger: slog.New(slog.DiscardHandler), Batch: func(int, time.Duration, error) {}})
		ctx, end := context.WithCancel(context.Background())
		var work sync.WaitGroup
		work.Go(func() { committer.Run(ctx) })
		defer work.Wait()
		defer end()
		run, stop := context.WithCancelCause(t.Context())
		defer stop(nil)
		w.stop = stop
		w.Writer = answer.New(run, answer.Run{ID: "run", Attempt: 1, ChatID: 1, MessageID: "message", Request: new(schemas.ChatRequest)}, answer.Deps{
			Log: w.log, Commit: committer, Spent: usage.NewLedger(nil), Text: modeltext.New(modeltext.Limits{}.Or(1000, 1)).Count(), Clock: clock{}, Now: time.Now,
			Idle: func(bool) {}, Stop: stop, Logger: slog.New(slog.DiscardHandler),
		})
		w.Use(&answer.Prepared{Filter: noText{}, Request: turn.Request{Tools: []turn.Tool{reads, notes, posts, orders}}})
		w.Ask()
		test(t, w)
	})
}

// asks is a reply that calls the tool, and starts how the call begins.
func asks(index int, tool turn.Tool) turn.Reply {
	return turn.Reply{FirstIndex: index, ToolCalls: []turn.ToolCall{{ID: "c", Name: tool.Name}}}
}

func starts(index int, tool turn.Tool) turn.ToolStart {
	return turn.ToolStart{Index: index, ID: "c", Name: tool.Name, Input: []byte(`{}`)}
}

func ends(index int, tool turn.Tool) turn.ToolComplete {
	return turn.ToolComplete{Index: index, ID: "c", Name: tool.Name, Result: turn.Result{Text: "done"}, ModelText: "done"}
}

func (w *writing) handle(t *testing.T, events ...turn.Event) {
	t.Helper()
	for _, e := range events {
		if err := w.Handle(e); err != nil {
			t.Fatalf("%T: %v", e, err)
		}
	}
}

// completed reports whether the log shows the end of a call.
func (w *writing) completed() bool {
	for tail := w.log.Tail(0); ; {
		events, _ := tail.Next()
		if len(events) == 0 {
			return false
		}
		for _, e := range events {
			if _, ok := e.Body.(*runlog.ToolComplete); ok {
				return true
			}
		}
	}
}

// A reply is on disk before its first call is shown, unless all its calls only read; then it
// is stored a little later, with their outcomes.
func TestReplyIsStoredBeforeItsCalls(t *testing.T) {
	for _, tt := range []struct {
		tool  turn.Tool
		first bool
	}{{reads, false}, {notes, true}, {posts, true}, {orders, true}} {
		t.Run(tt.tool.Name, func(t *testing.T) {
			inWriting(t, func(t *testing.T, w *writing) {
				w.handle(t, turn.CallStart{}, asks(0, tt.tool), starts(0, tt.tool))
				if got := w.has(replies); got != tt.first {
					t.Errorf("as the call is shown its reply is stored: %t, want %t", got, tt.first)
				}
				w.handle(t, ends(0, tt.tool))
				if got := w.has(finished); got != tt.first {
					t.Errorf("as its outcome is shown, that is stored: %t, want %t", got, tt.first)
				}
				<-time.After(time.Second)
				if !w.has(replies) || !w.has(finished) {
					t.Error("a second later they are not stored")
				}
			})
		})
	}
}

// What a run has shown is stored as soon as it only waits, without a flush: clients of wires
// name the place. If the process ended first, a later attempt would not have that place.
func TestPauseIsStored(t *testing.T) {
	waits := turn.ToolWaiting{Index: 1, ID: "d", Name: orders.Name}
	for name, last := range map[string][]turn.Event{
		"the call that waits is last":     {starts(0, reads), ends(0, reads), waits},
		"the call that has ended is last": {starts(0, reads), waits, ends(0, reads)},
	} {
		t.Run(name, func(t *testing.T) {
			inWriting(t, func(t *testing.T, w *writing) {
				both := asks(0, reads)
				both.ToolCalls = append(both.ToolCalls, turn.ToolCall{ID: "d", Name: orders.Name})
				w.handle(t, append([]turn.Event{turn.CallStart{}, both}, last...)...)
				synctest.Wait() // no time passes
				shown := w.log.Last()
				if !w.has(func(o *record.Write) bool { return o.Segment != nil && o.Segment.Last == shown }) {
					t.Errorf("the last event, %d, is not stored", shown)
				}
			})
		})
	}
}

// The outcome of a call is stored and shown although the run is being stopped.
func TestOutcomeOfAStoppedRun(t *testing.T) {
	inWriting(t, func(t *testing.T, w *writing) {
		w.handle(t, turn.CallStart{}, asks(0, orders), starts(0, orders))
		w.stop(answer.ErrCancelled)
		w.handle(t, ends(0, orders))
		if !w.has(finished) || !w.completed() {
			t.Errorf("stored: %t, shown: %t, want both", w.has(finished), w.completed())
		}
	})
}

// If a write that nobody waited for has failed, the attempt ends before it calls the model
// again, and before it ends; nothing that comes after it is stored without it.
func TestLaterWriteThatFails(t *testing.T) {
	for name, next := range map[string]turn.Event{"the next call of the model": turn.CallStart{Iteration: 1}, "the end": turn.LoopComplete{StopReason: schemas.EndTurn}} {
		t.Run(name, func(t *testing.T) {
			inWriting(t, func(t *testing.T, w *writing) {
				w.setAway(true)
				w.handle(t, turn.CallStart{}, asks(0, reads), starts(0, reads), ends(0, reads))
				<-time.After(time.Minute) // longer than a write is held
				w.setAway(false)
				if err := w.Handle(next); !errors.Is(err, record.ErrUnavailable) {
					t.Errorf("got %v, want %v", err, record.ErrUnavailable)
				}
				if err := w.Write(new(record.Write)).Wait(t.Context()); !errors.Is(err, record.ErrUnavailable) {
					t.Errorf("the next write: got %v, want %v", err, record.ErrUnavailable)
				}
				if len(w.writes) > 0 {
					t.Errorf("stored %+v, want nothing", w.writes)
				}
			})
		})
	}
}

// What could not be stored is kept for the next attempt, with the reply that waits for a
// write. A call that may not run twice and whose start was not stored has not begun.
func TestUnsaved(t *testing.T) {
	inWriting(t, func(t *testing.T, w *writing) {
		w.setAway(true)
		w.handle(t, turn.CallStart{}, asks(0, orders))
		if err := w.Handle(starts(0, orders)); !errors.Is(err, record.ErrUnavailable) {
			t.Fatalf("got %v, want %v", err, record.ErrUnavailable)
		}
		lost := w.Unsaved()
		if len(lost) != 1 || lost[0].Write.Checkpoint == nil || lost[0].Write.ToolCall != nil {
			t.Errorf("%d writes are left, the first %+v; want one with the reply and without the call", len(lost), lost[0].Write)
		}
	})
	inWriting(t, func(t *testing.T, w *writing) {
		w.handle(t, turn.CallStart{}, asks(0, orders), starts(0, orders), ends(0, orders), turn.CallStart{Iteration: 1}, turn.Reply{FirstIndex: 1})
		w.setAway(true)
		lost := w.Unsaved()
		if len(lost) != 1 || lost[0].Write.Checkpoint == nil || lost[0].Write.Checkpoint.N != 2 {
			t.Errorf("%d writes are left, want the second reply", len(lost))
		}
	})
}
