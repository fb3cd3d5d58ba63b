package wires_test

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chattray/chattray/api/wires"
	"github.com/chattray/chattray/api/wires/all"
	"github.com/chattray/chattray/api/wires/wirestest"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/runlog"
)

// live is a run whose events come in batches, with an error after them.
type live struct {
	wires.Runs

	run     schemas.Run
	batches [][]runlog.Event
	err     error
	waits   func() ([]schemas.Wait, error)
	future  bool
}

func (l live) Future(context.Context, schemas.User, string, int64) (bool, error) {
	return l.future, nil
}

func (l live) Run(context.Context, schemas.User, string) (schemas.Run, error) { return l.run, nil }

func (l live) Waits(context.Context, schemas.User, string) ([]schemas.Wait, error) {
	if l.waits != nil {
		return l.waits()
	}
	return nil, nil
}

func (l live) Follow(context.Context, schemas.User, string, int64, time.Duration) (iter.Seq2[[]runlog.Event, error], error) {
	return func(yield func([]runlog.Event, error) bool) {
		for _, b := range l.batches {
			if !yield(b, nil) {
				return
			}
		}
		if l.err != nil {
			yield(nil, l.err)
		}
	}, nil
}

// shown is the body of a response, of a client that has gone after some writes.
type shown struct {
	bytes.Buffer

	ctx  context.Context //nolint:containedctx // the stream's
	gone context.CancelFunc
	left int // writes until the client goes; negative for one that stays
}

func (s *shown) Context() context.Context { return s.ctx }

func (s *shown) Write(frames []byte) bool {
	if s.left == 0 {
		s.gone()
		return false
	}
	s.left--
	s.Buffer.Write(frames)
	return true
}

func (*shown) Close() {}

// beginning is the beginning of an answer: its text is not whole.
func beginning(base int64, number int) []runlog.Event {
	target, at := runlog.Target{MessageID: "a"}, runlog.Level{Group: uint32(base) + 1, Message: uint32(base) + 2}
	first := runlog.Event{Seq: base + 1, Body: &runlog.Started{Run: runlog.Run{RunID: "r"}, Target: target}}
	if number > 1 {
		first.Body = &runlog.Attempt{Run: runlog.Run{RunID: "r"}, Target: target, Number: number}
	}
	return []runlog.Event{
		first,
		{Seq: base + 2, At: runlog.Level{Group: at.Group}, Body: &runlog.LevelStart{Depth: runlog.GroupLevel, Type: "llm"}},
		{Seq: base + 3, At: at, Body: &runlog.LevelStart{Depth: runlog.MessageLevel, Type: "text"}},
		{Seq: base + 4, At: at, Body: &runlog.Text{Text: "half"}},
	}
}

// ended is the end of an answer after its beginning.
func ended(base int64) []runlog.Event {
	at := runlog.Level{Group: uint32(base) + 1, Message: uint32(base) + 2}
	return []runlog.Event{
		{Seq: base + 5, At: at, Body: &runlog.Text{Text: " and half"}},
		{Seq: base + 6, At: at, Body: &runlog.LevelEnd{Depth: runlog.MessageLevel, Type: "text"}},
		{Seq: base + 7, At: runlog.Level{Group: at.Group}, Body: &runlog.LevelEnd{Depth: runlog.GroupLevel, Type: "llm"}},
		{Seq: base + 8, Body: &runlog.Completed{Payload: schemas.ChatResponsePayload{Message: "half and half", StopReason: schemas.EndTurn}}},
	}
}

// asking is the beginning of an answer that asks the user.
func asking() []runlog.Event {
	return append(beginning(0, 1),
		runlog.Event{Seq: 5, At: runlog.Level{Group: 1}, Body: &runlog.Call{ID: "c", Name: "order"}},
		runlog.Event{Seq: 6, Body: &runlog.ApprovalRequest{ApprovalID: "p", ToolUseID: "c", Tool: "order"}},
		runlog.Event{Seq: 7, Body: &runlog.Status{Message: "Waiting..."}},
	)
}

// TestNoResponseEndsWithoutASign breaks responses in every way: a connection is cut, since
// clients take a clean end for success, and the clients of chat completions, which cannot
// resume, first get an error and [DONE].
func TestNoResponseEndsWithoutASign(t *testing.T) {
	const tooMany = "too many earlier answers"
	running := schemas.Run{RunID: "r", State: schemas.RunRunning, Attempt: 1, LastSequence: 4}
	expired, stop := context.WithDeadline(t.Context(), time.Unix(1, 0))
	defer stop()
	refused := func() func() ([]schemas.Wait, error) {
		begun := false
		return func() ([]schemas.Wait, error) {
			if begun {
				return nil, schemas.NewError(schemas.CodeStoreUnavailable, "the store is away")
			}
			begun = true
			return nil, nil
		}
	}
	for _, tt := range []struct {
		name string
		runs live
		ctx  context.Context //nolint:containedctx // of the case
		left int
		want string // in the last frames of chat completions
	}{
		{"the run continues later", live{run: running, batches: [][]runlog.Event{beginning(0, 1)}, err: runlog.ErrInterrupted}, t.Context(), -1, `"interrupted"`},
		{"the process stops", live{run: running, batches: [][]runlog.Event{beginning(0, 1)}, err: &runlog.Interrupted{Retry: 1}}, t.Context(), -1, `"interrupted"`},
		{"another process takes the run over", live{run: running, batches: [][]runlog.Event{beginning(0, 1), beginning(1_000_000, 2)}}, t.Context(), -1, `"interrupted"`},
		{"the log cannot be read", live{run: running, err: schemas.NewError(schemas.CodeTooManyStreams, tooMany)}, t.Context(), -1, tooMany},
		{"the rest of the log cannot be read", live{run: running, batches: [][]runlog.Event{beginning(0, 1)}, err: errors.New("disk")}, t.Context(), -1, `"interrupted"`},
		{"the log ends early", live{run: running, batches: [][]runlog.Event{beginning(0, 1)}}, t.Context(), -1, `"interrupted"`},
		{"the log is empty", live{run: running}, t.Context(), -1, `"interrupted"`},
		{"the waits cannot be read", live{run: running, batches: [][]runlog.Event{asking()}, waits: refused()}, t.Context(), -1, `"store_unavailable"`},
		{"the token expires", live{run: running, batches: [][]runlog.Event{beginning(0, 1)}, err: context.DeadlineExceeded}, expired, -1, `"unauthorized"`},
		{"the client goes", live{run: running, batches: [][]runlog.Event{beginning(0, 1), ended(0)}}, t.Context(), 1, ""},
		{"the client goes in silence", live{run: running, batches: [][]runlog.Event{beginning(0, 1), {}}}, t.Context(), 1, ""},
	} {
		for _, w := range all.Wires() {
			for _, v := range w.Tables {
				t.Run(tt.name+"/"+w.Name+" "+v.Name, func(t *testing.T) {
					if w.Name == "responses" && tt.name == "another process takes the run over" {
						tt.runs.err = runlog.ErrInterrupted // it shows all attempts
					}
					if waits := tt.runs.waits; waits != nil {
						tt.runs.waits = refused()
					}
					to := &shown{left: tt.left}
					to.ctx, to.gone = context.WithCancel(tt.ctx)
					defer to.gone()
					cut := serveOne(t, w, v, tt.runs, to)
					if !cut {
						t.Errorf("the response ends cleanly with\n%s", to)
					}
					if w.Name != "completions" {
						return
					}
					if got := to.String(); tt.want != "" && (!strings.Contains(got, tt.want) || !strings.HasSuffix(got, "data: [DONE]\n\n")) {
						t.Errorf("the client gets\n%s\nwant an error with %s and [DONE]", got, tt.want)
					}
				})
			}
		}
	}
}

// serveOne serves a run to a client of the wire, as the wire does. It reports whether the
// connection was cut.
func serveOne(t *testing.T, w wires.Wire, v wires.Version, runs live, to *shown) (cut bool) {
	t.Helper()
	defer func() {
		switch p := recover(); p {
		case nil:
		case http.ErrAbortHandler:
			cut = true
		default:
			panic(p)
		}
	}()
	c := &wires.Call{Request: httptest.NewRequest(http.MethodPost, "/", http.NoBody), Response: httptest.NewRecorder(), Done: func() {}, Service: &wires.Service{Runs: runs}}
	r := wires.Response{Run: runs.run, Table: v.Table}
	if w.Name == "completions" { // an approval is denied, which may fail
		r.Asked = func(int) error {
			_, err := runs.Waits(t.Context(), c.User, runs.run.RunID)
			return err
		}
	}
	if err := c.Service.Serve(c, to, r); err != nil {
		t.Error(err)
	}
	return false
}

// TestALogThatIsNoLongerKept reads runs that have ended, of which only the answer is kept:
// it is written as one more attempt, with the log's last numbers.
func TestALogThatIsNoLongerKept(t *testing.T) {
	kept := append(beginning(92, 2), ended(92)...)
	run := schemas.Run{RunID: "r", State: schemas.RunCompleted, Attempt: 1, LastSequence: 100}
	for _, w := range all.Wires() {
		for _, v := range w.Tables {
			for _, cursor := range []int64{0, 50_000, 92_999, 93_001, 96_000, 99_000} {
				to := &shown{ctx: t.Context(), left: -1}
				c := &wires.Call{Request: httptest.NewRequest(http.MethodPost, "/", http.NoBody), Response: httptest.NewRecorder(), Done: func() {}}
				c.Service = &wires.Service{Runs: live{run: run, batches: [][]runlog.Event{kept}}}
				if err := c.Service.Serve(c, to, wires.Response{Run: run, Table: v.Table, Cursor: cursor}); err != nil {
					t.Fatal(err)
				}
				got := to.String()
				if cursor == 0 {
					if text, err := wirestest.Check(w.Name, v.Name, [][]byte{to.Bytes()}); text != "half and half" || err != nil {
						t.Errorf("%s/%s shows %q (%v), want the answer\n%s", w.Name, v.Name, text, err, got)
					}
				} else if w.Name == "agui" && (!strings.Contains(got, "MESSAGES_SNAPSHOT") || !strings.Contains(got, "RUN_FINISHED")) {
					t.Errorf("%s/%s after the frame %d gets\n%s\nwant the messages and the end", w.Name, v.Name, cursor, got)
				}
			}
		}
	}
}

// TestACursorFarAhead reads runs of which less is known than the client has seen: it gets
// what follows, and everything if nobody can have seen its frame.
func TestACursorFarAhead(t *testing.T) {
	run := schemas.Run{RunID: "r", State: schemas.RunRunning, Attempt: 1, LastSequence: 100}
	for _, w := range all.Wires() {
		for _, v := range w.Tables {
			for _, future := range []bool{false, true} {
				to := &shown{ctx: t.Context(), left: -1}
				c := &wires.Call{Request: httptest.NewRequest(http.MethodPost, "/", http.NoBody), Response: httptest.NewRecorder(), Done: func() {}}
				c.Service = &wires.Service{Runs: live{run: run, batches: [][]runlog.Event{append(beginning(92, 2), ended(92)...)}, future: future}}
				if err := c.Service.Serve(c, to, wires.Response{Run: run, Table: v.Table, Cursor: 5_000 * wires.EventSpan}); err != nil {
					t.Fatal(err)
				}
				if got := to.String(); strings.Contains(got, "half") != future {
					t.Errorf("%s/%s shows\n%s\nwant the text of earlier frames: %t", w.Name, v.Name, got, future)
				}
			}
		}
	}
}

// TestACursorOfARunThatHasEnded reads runs that have ended: a client that has seen the end gets
// nothing again, and one that has seen more than there is gets everything.
func TestACursorOfARunThatHasEnded(t *testing.T) {
	run := schemas.Run{RunID: "r", State: schemas.RunCompleted, Attempt: 1, LastSequence: 100}
	for _, w := range all.Wires() {
		for _, v := range w.Tables {
			for seen, whole := range map[int64]bool{0: true, 100: false, 101: true, 5_000: true} {
				to := &shown{ctx: t.Context(), left: -1}
				serveFrom(t, to, v, live{run: run, batches: [][]runlog.Event{append(beginning(92, 1), ended(92)...)}}, seen*wires.EventSpan)
				if got := to.String(); strings.Contains(got, "half") != whole {
					t.Errorf("%s/%s after the event %d shows\n%s\nwant the text: %t", w.Name, v.Name, seen, got, whole)
				}
			}
		}
	}
}

// TestAWaitOfARunThatHasEnded reads a run that was stopped while it waited: the response does
// not end where nobody can answer any more. Responses that can be read again end where they
// ended.
func TestAWaitOfARunThatHasEnded(t *testing.T) {
	run := schemas.Run{RunID: "r", State: schemas.RunCancelled, Attempt: 1, LastSequence: 8}
	events := append(asking(), runlog.Event{Seq: 8, Body: &runlog.Cancelled{}})
	for _, w := range all.Wires() {
		if w.Name == "responses" {
			continue
		}
		for _, v := range w.Tables {
			runs, waiting, over := live{run: run, batches: [][]runlog.Event{events}}, &shown{ctx: t.Context(), left: -1}, &shown{ctx: t.Context(), left: -1}
			serveFrom(t, over, v, runs, 0)
			runs.waits = func() ([]schemas.Wait, error) {
				return []schemas.Wait{{Index: 0, Kind: schemas.WaitApproval, Tool: "order"}}, nil
			}
			serveFrom(t, waiting, v, runs, 0)
			frames := strings.SplitAfter(over.String(), "\n\n")
			if end := strings.Join(frames[max(0, len(frames)-3):], ""); !strings.HasSuffix(waiting.String(), end) {
				t.Errorf("%s/%s shows\n%s\nwant at its end\n%s", w.Name, v.Name, waiting.String(), end)
			}
		}
	}
}

func serveFrom(t *testing.T, to *shown, v wires.Version, runs live, cursor int64) {
	t.Helper()
	c := &wires.Call{Request: httptest.NewRequest(http.MethodPost, "/", http.NoBody), Response: httptest.NewRecorder(), Done: func() {}}
	c.Service = &wires.Service{Runs: runs}
	if err := c.Service.Serve(c, to, wires.Response{Run: runs.run, Table: v.Table, Cursor: cursor}); err != nil {
		t.Fatal(err)
	}
}
