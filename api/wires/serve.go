package wires

import (
	"context"
	"net/http"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/runlog"
)

// Table turns the events of a run into the frames of a wire. Its output depends only on
// the log and its Params. It gets the run's events in order, from the first one.
type Table interface {
	// Event adds the frames of an event.
	Event(out *Frames, e *runlog.Event)
	// Begin adds the first frames of a response that continues a run. The table resets
	// its counters, but keeps what it knows from the events before.
	Begin(out *Frames)
	// Pause ends a response whose calls wait for the user or for the page.
	Pause(out *Frames, waiting []schemas.Wait)
}

// Params is what a table knows besides the log.
type Params struct {
	Run string
	// Answered are the calls that already have their answer: they are shown, but the
	// client is not asked again. It is empty if the client's request brought the answers.
	Answered map[int]bool
}

// Response is the answer to a request: a part of a run that ends with the run, or when the
// run waits for the user or for the page.
type Response struct {
	Run   schemas.Run
	Table func(p Params) Table
	// Given are the calls whose answers came with the request: the response leaves out
	// what was shown before. If nil, it begins with the run.
	Given map[int]bool
	// Header sets headers; Opening is the start of the body.
	Header  func(h http.Header)
	Opening string
}

// maxFrames is the number of buffered bytes at which frames are written.
const maxFrames = 16 << 10

// keepAlive is an SSE comment.
var keepAlive = []byte(": keep-alive\n\n")

// Serve answers with a part of a user's run. If it returns an error, nothing has been sent.
// It aborts the connection if the run is interrupted, because these clients take a clean
// end for success.
func (s *Service) Serve(c *Call, to Stream, r Response) error {
	waits, err := s.Runs.Waits(c.Context(), c.User, r.Run.RunID)
	if err != nil {
		return err
	}
	run, err := s.Runs.Run(c.Context(), c.User, r.Run.RunID)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(to.Context())
	defer stop()
	events, err := s.Runs.Follow(ctx, c.User, run.RunID, 0, s.KeepAlive)
	if err != nil {
		return err
	}
	c.Done()
	h := c.Response.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
	h.Set("X-Run-Id", run.RunID)
	r.Header(h)
	f := newFold(run, waits, r, func() ([]schemas.Wait, error) { return s.Runs.Waits(ctx, c.User, run.RunID) })
	if r.Opening != "" && !to.Write([]byte(r.Opening)) {
		return nil
	}
	for batch, err := range events {
		if err != nil || len(batch) == 0 && !to.Write(keepAlive) {
			break
		}
		ended, ok := f.write(to, batch)
		if ended && ok {
			return nil
		}
		if !ok {
			break
		}
	}
	panic(http.ErrAbortHandler)
}

// write writes the frames of events. It reports whether the response has ended, and
// whether every write succeeded.
func (f *fold) write(to Stream, batch []runlog.Event) (ended, ok bool) {
	for _, e := range f.ready(batch) {
		if err := f.event(&e); err != nil {
			return false, false
		}
		if frames := f.out.buf; f.ended || len(frames) >= maxFrames {
			if !to.Write(f.out.take()) {
				return f.ended, false
			}
		}
		if f.ended {
			return true, true
		}
	}
	if len(f.out.buf) > 0 {
		ok = to.Write(f.out.take())
		return false, ok
	}
	return false, true
}

// fold turns the events of a run into the frames of one response.
type fold struct {
	run    schemas.Run
	given  map[int]bool
	first  []schemas.Wait // the waits when the response began
	before map[int]bool   // calls that were answered by then
	waits  func() ([]schemas.Wait, error)
	table  Table
	calls  calls
	out    Frames

	held  []runlog.Event // until it is known where the response begins
	begun bool
	after int64 // the number of the event after which the response begins
	ended bool
}

func newFold(run schemas.Run, waits []schemas.Wait, r Response, again func() ([]schemas.Wait, error)) *fold {
	f := &fold{run: run, given: r.Given, first: waits, before: make(map[int]bool), waits: again}
	for _, w := range waits {
		if w.Answer != "" {
			f.before[w.Index] = true
		}
	}
	p := Params{Run: run.RunID}
	if r.Given == nil {
		p.Answered = f.before
	}
	f.table = r.Table(p)
	return f
}

// ready returns the events that can be shown. It holds events back until the newest
// attempt has begun, so that nothing of an earlier attempt is shown, and until it is known
// where the response to a request with answers begins.
func (f *fold) ready(batch []runlog.Event) []runlog.Event {
	if f.begun {
		return batch
	}
	f.held = append(f.held, batch...)
	if !f.complete() {
		return nil
	}
	list := kept(f.held)
	if f.given != nil {
		f.after = begin(list, f.first, f.given)
	}
	f.held, f.begun = nil, true
	return list
}

// complete reports whether enough events are held to begin the response.
func (f *fold) complete() bool {
	if len(f.held) == 0 {
		return false
	}
	last := &f.held[len(f.held)-1]
	if last.Terminal() {
		return true
	}
	if f.given != nil && last.Seq < f.run.LastSequence {
		return false
	}
	return f.run.Attempt <= 1 || last.Seq > int64(f.run.Attempt-1)*runlog.AttemptSpan
}

// event adds the frames of an event, and those of a pause after it.
func (f *fold) event(e *runlog.Event) error {
	if a, ok := e.Body.(*runlog.Attempt); ok && a.Number > max(f.run.Attempt, 1) {
		return runlog.ErrInterrupted
	}
	e = f.calls.indexed(e)
	hidden := e.Seq <= f.after
	if f.after > 0 && !hidden && !f.out.shown {
		f.out.shown = true
		f.out.event(0, false)
		f.table.Begin(&f.out)
	}
	f.out.event(e.Seq, hidden)
	f.table.Event(&f.out, e)
	rests := f.calls.event(e)
	switch {
	case e.Terminal():
		f.ended = true
	case rests && !hidden:
		return f.pause(e)
	}
	return nil
}

// pause ends the response after the event if the run waits there. Calls that were answered
// before the response began do not count: the run has continued after them.
func (f *fold) pause(e *runlog.Event) error {
	waits, err := f.waits()
	if err != nil {
		return err
	}
	open, ok := f.calls.open(waits, func(w schemas.Wait) bool { return f.before[w.Index] || answeredBefore(w, e) })
	if ok && len(open) > 0 {
		f.table.Pause(&f.out, open)
		f.ended = true
	}
	return nil
}
