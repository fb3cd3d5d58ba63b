package wirestest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"slices"
	"time"

	"github.com/chattray/chattray/api/wires"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/runlog"
)

// Run is an ended run, as it is stored.
type Run struct {
	ID     string
	Events []runlog.Event
	Waits  []schemas.Wait
}

// Table makes a table of a wire.
type Table = func(wires.Params) wires.Table

// Stretch is one response of a run to a client that gives the stored answers at each pause.
type Stretch struct {
	run   Run
	given map[int]bool // the calls that its request answered; nil of the first one
	last  int64        // when the newest event before it happened, in milliseconds
}

// Frames returns the frames of the response after the cursor. If number is not nil, each
// frame that has a number gets an id line.
func (s Stretch) Frames(table Table, cursor int64, number func(dst []byte, number int64) []byte) ([]byte, error) {
	known := func(w schemas.Wait) bool {
		return s.given != nil && (s.given[w.Index] || w.AnsweredAt != nil && w.AnsweredAt.UnixMilli() < s.last)
	}
	return s.run.serve(wires.Response{Table: table, Given: wires.Given{Calls: s.given}, Cursor: cursor, Number: number}, schemas.RunRunning, known)
}

// Stretches returns the responses of the run, as a client gets them that gives the stored
// answers at each pause, and their frames. The first response begins with the run. beginnings
// has, for each later response, the number of the event after which it begins; paused has the
// calls that waited at any pause.
func (r Run) Stretches(table Table) (list []Stretch, responses [][]byte, beginnings []int64, paused map[int]bool, err error) {
	paused = make(map[int]bool)
	for next := (Stretch{run: r}); ; {
		watch := &watcher{}
		response, err := next.Frames(watch.table(table), 0, nil)
		if err != nil {
			return nil, nil, nil, nil, err
		}
		list, responses = append(list, next), append(responses, response)
		if next.given != nil {
			beginnings = append(beginnings, watch.began)
		}
		if watch.open == nil {
			return list, responses, beginnings, paused, nil
		}
		next = Stretch{run: r, given: make(map[int]bool), last: watch.last}
		for _, w := range watch.open {
			next.given[w.Index], paused[w.Index] = true, true
		}
	}
}

// SoFar returns the frames after the cursor that a client has when the events up to through
// have happened and its connection is cut.
func (r Run) SoFar(table Table, through, cursor int64, number func(dst []byte, number int64) []byte) ([]byte, error) {
	so := r
	if later := slices.IndexFunc(r.Events, func(e runlog.Event) bool { return e.Seq > through }); later >= 0 {
		so.Events = r.Events[:later]
	}
	frames, err := so.serve(wires.Response{Table: table, Cursor: cursor, Number: number}, schemas.RunRunning, func(schemas.Wait) bool { return true })
	if errors.Is(err, errAborted) {
		err = nil
	}
	return frames, err
}

// Replay returns the frames after the cursor, for a client that resumes the run when it has
// ended. If number is not nil, each frame gets an id line.
func (r Run) Replay(table Table, cursor int64, number func(dst []byte, number int64) []byte) ([]byte, error) {
	return r.serve(wires.Response{Table: table, Cursor: cursor, Number: number}, schemas.RunCompleted, func(schemas.Wait) bool { return true })
}

// Rests reports whether a response can begin after the event.
func (r Run) Rests(after int64) (bool, error) {
	s := &stored{run: r, state: schemas.RunCompleted}
	run, err := s.Run(context.Background(), schemas.User{}, r.ID)
	if err != nil {
		return false, err
	}
	return (&wires.Service{Runs: s}).Rests(context.Background(), schemas.User{}, run, after)
}

// errAborted says that a response has no end.
var errAborted = errors.New("the response was aborted")

// serve returns a response. The answers of the known waits are stored when it begins, those of
// the others are stored later.
func (r Run) serve(response wires.Response, state schemas.RunState, known func(schemas.Wait) bool) (frames []byte, err error) {
	var to stream
	defer func() {
		if p := recover(); p != nil {
			frames, err = to.Bytes(), fmt.Errorf("%w: %v", errAborted, p)
		}
	}()
	call := &wires.Call{
		Request: httptest.NewRequestWithContext(context.Background(), http.MethodPost, "/", http.NoBody), Response: httptest.NewRecorder(),
		Service: &wires.Service{Runs: &stored{run: r, state: state, known: known}}, Done: func() {},
	}
	response.Run = schemas.Run{RunID: r.ID}
	err = call.Service.Serve(call, &to, response)
	return to.Bytes(), err
}

// stored has one ended run. Its other methods are not called.
type stored struct {
	wires.Runs
	run   Run
	state schemas.RunState
	known func(schemas.Wait) bool
	begun bool // the waits have been read
}

// Waits implements wires.Runs.
func (s *stored) Waits(context.Context, schemas.User, string) ([]schemas.Wait, error) {
	list := make([]schemas.Wait, len(s.run.Waits))
	for i, w := range s.run.Waits {
		switch {
		case s.begun:
		case !s.known(w):
			w.Answer, w.AnsweredAt = "", nil
		case w.Answer == "": // the run ended while the call waited
			w.Answer = schemas.WaitDenied
		}
		list[i] = w
	}
	s.begun = true
	return list, nil
}

// Run implements wires.Runs.
func (s *stored) Run(context.Context, schemas.User, string) (schemas.Run, error) {
	last := s.run.Events[len(s.run.Events)-1].Seq
	return schemas.Run{RunID: s.run.ID, State: s.state, Attempt: int(last/runlog.AttemptSpan) + 1, LastSequence: last}, nil
}

// Follow implements wires.Runs.
func (s *stored) Follow(context.Context, schemas.User, string, int64, time.Duration) (iter.Seq2[[]runlog.Event, error], error) {
	return func(yield func([]runlog.Event, error) bool) { yield(slices.Clone(s.run.Events), nil) }, nil
}

// stream collects a response.
type stream struct{ bytes.Buffer }

// Context implements wires.Stream.
func (*stream) Context() context.Context { return context.Background() }

// Write implements wires.Stream.
func (s *stream) Write(frames []byte) bool { s.Buffer.Write(frames); return true }

// Close implements wires.Stream.
func (*stream) Close() {}

// watcher is a table that records where its response begins and pauses.
type watcher struct {
	wires.Table
	began int64          // the number of the event after which it begins
	last  int64          // when the newest event happened, in milliseconds
	open  []schemas.Wait // the calls that wait at the pause; nil at the end of the run
}

// table makes tables that w watches.
func (w *watcher) table(table Table) Table {
	return func(p wires.Params) wires.Table {
		w.Table = table(p)
		switch t := w.Table.(type) {
		case wires.Keeper:
			return struct {
				*watcher
				wires.Keeper
			}{w, t}
		case wires.Stayer:
			return struct {
				*watcher
				wires.Stayer
			}{w, t}
		case wires.Replacer:
			return struct {
				*watcher
				wires.Replacer
			}{w, t}
		}
		return w
	}
}

// Event implements wires.Table.
func (w *watcher) Event(out *wires.Frames, e *runlog.Event) {
	w.last = e.Time
	w.Table.Event(out, e)
}

// Begin implements wires.Table.
func (w *watcher) Begin(out *wires.Frames, after int64) {
	w.began = after
	w.Table.Begin(out, after)
}

// Pause implements wires.Table.
func (w *watcher) Pause(out *wires.Frames, waiting []schemas.Wait) {
	w.open = waiting
	w.Table.Pause(out, waiting)
}
