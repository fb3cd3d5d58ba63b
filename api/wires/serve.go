package wires

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"slices"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/runlog"
)

// Response is the answer to a request: a part of a run that ends with the run, or when the
// run waits for the user or for the page.
type Response struct {
	Run   schemas.Run
	Table func(p Params) Table
	// Given is what the answers of the request did: the response leaves out what was shown
	// before. Without answers it begins after the event After, 0 being the run's beginning.
	Given Given
	After int64
	// Cursor is the number of the last frame that the client has. Number, which may be nil,
	// appends the line before a frame that has its number.
	Cursor int64
	Number func(dst []byte, number int64) []byte
	// Leaves says that a client that closes the connection does not come back: a run that
	// ends with its last reader ends without a grace period if it was that. One that only
	// waits continues.
	Leaves bool
	// Asked is called when the run asks the user for an approval; may be nil.
	Asked func(index int) error
	// Header sets headers; Opening is the start of the body; both may be empty.
	Header  func(h http.Header)
	Opening string
}

// maxFrames is the number of buffered bytes at which frames are written, without further
// frames.
const maxFrames = 16 << 10

// keepAlive is an SSE comment.
var keepAlive = []byte(": keep-alive\n\n")

// Serve answers with a part of a user's run. If it returns an error, nothing has been sent.
// A response that ends neither with the run nor at a pause aborts the connection, because
// these clients take a clean end for success.
func (s *Service) Serve(c *Call, to Stream, r Response) error {
	ctx, stop := context.WithCancel(to.Context())
	defer stop()
	f, events, err := s.follow(ctx, c, r, s.KeepAlive)
	if err != nil {
		s.missed(c, to, r)
		return cutOff(to, r, err)
	}
	h := c.Response.Header()
	stream(h)
	h.Set("X-Run-Id", f.run.RunID)
	if r.Header != nil {
		r.Header(h)
	}
	if r.Opening == "" {
		c.Response.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(c.Response).Flush() // the first frame may be long in coming
	} else {
		to.Write([]byte(r.Opening)) // a client that has gone is a reader that leaves, below
	}
	err = f.serve(to, events)
	if err == nil {
		return nil
	}
	if !f.ended { // else the client may have closed the connection because it has read the end
		f.breakOff(to, err)
		s.gone(c, to, r)
	}
	panic(http.ErrAbortHandler)
}

// errGone ends a response whose client does not read any more.
var errGone = errors.New("the client has gone")

// serve writes the frames of events up to the end of the response. The error says why it
// has no end.
func (f *fold) serve(to Stream, events iter.Seq2[[]runlog.Event, error]) error {
	f.out.write = to.Write
	for batch, err := range events {
		if err != nil {
			return err
		}
		if len(batch) == 0 && !to.Write(keepAlive) {
			return errGone
		}
		if err := f.write(batch); err != nil || f.ended {
			return err
		}
	}
	return runlog.ErrInterrupted
}

// breakOff tells a client that still reads why its response has no end.
func (f *fold) breakOff(to Stream, err error) {
	t, ok := f.table.(Breaker)
	if !ok || errors.Is(to.Context().Err(), context.Canceled) {
		return
	}
	e, ok := errors.AsType[*schemas.Error](err)
	switch {
	case ok:
	case to.Context().Err() != nil:
		e = TokenExpired(f.run.RunID)
	default:
		e = interrupted(f.run)
	}
	f.out.event(0, false)
	t.Broken(&f.out, e)
	f.out.flush()
}

// ServeFrames answers with frames that are from no run.
func (s *Service) ServeFrames(c *Call, to Stream, frames *Frames) error {
	stream(c.Response.Header())
	to.Write(frames.take())
	return nil
}

// stream sets the headers of a body that is a stream.
func stream(h http.Header) {
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
}

// Collect passes a part of a user's run to a table whose frames nobody reads: its response
// is made from the table at the end. With soFar it ends at the run's newest event and does
// not wait for more. It returns the number of the event after which the response begins.
func (s *Service) Collect(c *Call, to Stream, r Response, soFar bool) (after int64, err error) {
	ctx, stop := context.WithCancel(to.Context())
	defer stop()
	f, events, err := s.follow(ctx, c, r, 0)
	if err != nil {
		s.missed(c, to, r)
		return 0, cutOff(to, r, err)
	}
	c.Response.Header().Set("X-Run-Id", f.run.RunID)
	f.out.Mute()
	if soFar && f.run.LastSequence == 0 {
		return f.after, nil
	}
	var failed error
	for batch, err := range events {
		if errors.Is(err, runlog.ErrInterrupted) {
			break
		}
		if err != nil {
			failed = err
			break
		}
		list := f.ready(batch)
		for i := range list {
			if err := f.event(&list[i]); errors.Is(err, runlog.ErrInterrupted) {
				return f.after, interrupted(f.run)
			} else if err != nil || f.ended || soFar && list[i].Seq >= f.run.LastSequence {
				return f.after, err
			}
		}
	}
	if failed != nil { // only now is it no reader any more
		s.gone(c, to, r)
		return f.after, cutOff(to, r, failed)
	}
	if soFar {
		return f.after, nil
	}
	return f.after, interrupted(f.run)
}

// interrupted is the error for a run that continues later.
func interrupted(run schemas.Run) *schemas.Error {
	e := schemas.NewError(schemas.CodeInterrupted, "the answer was interrupted and continues; send the request again")
	e.RunID = run.RunID
	return e
}

// follow begins to read the run of a response.
func (s *Service) follow(ctx context.Context, c *Call, r Response, idle time.Duration) (*fold, iter.Seq2[[]runlog.Event, error], error) {
	waits, err := s.Runs.Waits(ctx, c.User, r.Run.RunID)
	if err != nil {
		return nil, nil, err
	}
	run, err := s.Runs.Run(ctx, c.User, r.Run.RunID)
	if err != nil {
		return nil, nil, err
	}
	at := r.Cursor / EventSpan
	future := run.State.Terminal() && at > run.LastSequence
	if !run.State.Terminal() && runlog.Future(at, run.LastSequence) {
		if future, err = s.Runs.Future(ctx, c.User, run.RunID, at); err != nil {
			return nil, nil, err
		}
	}
	if future {
		r.Cursor = 0 // as of a database that has been restored: the response is shown whole
	}
	events, err := s.Runs.Follow(ctx, c.User, run.RunID, 0, idle)
	if err != nil {
		return nil, nil, err
	}
	c.Done()
	return newFold(run, waits, r, func() ([]schemas.Wait, error) { return s.Runs.Waits(ctx, c.User, run.RunID) }), events, nil
}

// write writes the frames of events, up to the end of the response.
func (f *fold) write(batch []runlog.Event) error {
	list := f.ready(batch)
	var err error
	for i := range list {
		if err = f.event(&list[i]); err != nil || f.ended || f.out.failed {
			break
		}
	}
	f.out.flush()
	if err == nil && f.out.failed {
		err = errGone
	}
	return err
}

// fold turns the events of a run into the frames of one response.
type fold struct {
	run    schemas.Run
	given  Given
	first  []schemas.Wait // the waits when the response began
	before map[int]bool   // calls that no longer waited then
	waits  func() ([]schemas.Wait, error)
	table  Table
	stays  func(schemas.Wait) bool
	keeps  bool // the events of every attempt are shown
	asked  func(index int) error
	calls  calls
	// resumed are the calls that waited where a response of a Keeper begins. Those that
	// were answered by the time of an event were answered by the response's request.
	resumed map[int]bool
	// seen are the calls whose waits the client has seen before the response begins.
	seen map[int]bool
	out  Frames

	held  []runlog.Event // until it is known where the response begins
	begun bool
	after int64 // the number of the event after which the response begins
	ended bool

	again bool // the newest attempt is not the first
	// shownAt are the times at which waits were shown first, in milliseconds.
	shownAt map[int]int64
}

func newFold(run schemas.Run, waits []schemas.Wait, r Response, again func() ([]schemas.Wait, error)) *fold {
	f := &fold{run: run, given: r.Given, first: waits, before: make(map[int]bool), waits: again, asked: r.Asked, after: r.After}
	p := Params{Run: run.RunID, Answered: r.Given.Differ}
	for _, w := range waits {
		if w.Answer != "" || run.State.Terminal() { // nothing waits any more
			f.before[w.Index] = true
		}
	}
	if r.Given.Calls == nil {
		p.Answered = f.before
	}
	f.out.after, f.out.number = r.Cursor, r.Number
	f.use(r.Table(p))
	return f
}

// use sets the table.
func (f *fold) use(t Table) {
	f.table, f.stays = t, func(schemas.Wait) bool { return false }
	if s, ok := t.(Stayer); ok {
		f.stays = s.Stays
	}
	if _, f.keeps = t.(Keeper); f.keeps {
		f.before = make(map[int]bool) // a response that is read again ends where it ended
	}
}

// ready returns the events that can be shown. It holds events back until the newest
// attempt has begun, so that nothing of an earlier attempt is shown, and until it is known
// where the response to a request with answers begins.
func (f *fold) ready(batch []runlog.Event) []runlog.Event {
	if f.begun || f.keeps && f.given.Calls == nil {
		return batch
	}
	f.held = append(f.held, batch...)
	if !f.complete() {
		return nil
	}
	list := f.held
	f.attempts(list)
	if !f.keeps {
		list = kept(slices.Clone(list))
	}
	if f.given.Calls != nil {
		f.after = begin(list, f.first, f.stays, f.given)
		if f.after > 0 && !f.keeps {
			f.seen = rested(f.held, f.given.Calls)
		}
	}
	if !f.keeps {
		f.replaced(list)
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
	if f.given.Calls != nil && (last.Seq < f.run.LastSequence || !shows(kept(slices.Clone(f.held)), f.first, f.given)) {
		return false
	}
	return f.run.Attempt <= 1 || last.Seq > int64(f.run.Attempt-1)*runlog.AttemptSpan
}

// later reports whether an attempt began after the response. Of a run that had ended, it is
// all that is kept of the log: the answer, as one more attempt.
func (f *fold) later(a *runlog.Attempt) bool { return a.Number > max(f.run.Attempt, 1) }

// event adds the frames of an event, and those of a pause after it.
func (f *fold) event(e *runlog.Event) error {
	if a, ok := e.Body.(*runlog.Attempt); ok {
		if f.later(a) && !f.run.State.Terminal() && !f.keeps {
			return runlog.ErrInterrupted
		}
		f.again = true
	}
	e = f.calls.indexed(e)
	hidden := e.Seq <= f.after
	if f.after > 0 && !hidden && !f.out.shown {
		f.out.shown = true
		f.out.event(0, false)
		f.table.Begin(&f.out, f.after)
	}
	f.show(e, hidden)
	if a, ok := e.Body.(*runlog.ApprovalRequest); ok && f.asked != nil && !f.before[a.Index] {
		if err := f.asked(a.Index); err != nil {
			return err
		}
	}
	rests := f.calls.event(e)
	if f.keeps && rests && hidden {
		f.rest(e)
	}
	switch {
	case e.Terminal():
		f.ended = true
	case rests && !hidden:
		return f.pause(e)
	}
	return nil
}

// show gives the event to the table. A later attempt shows every wait again, which is not a
// second wait: what the client has already is hidden, and a table that cannot take back what
// it has shown does not get it.
func (f *fold) show(e *runlog.Event, hidden bool) {
	index, wait := waitOf(e)
	seen := wait && f.seen[index]
	f.out.event(e.Seq, hidden || seen)
	if wait && !f.calls.repeats(index) {
		set(&f.shownAt, index, e.Time)
	}
	if !wait || !f.calls.repeats(index) && (hidden || !f.keeps || !seen) {
		f.table.Event(&f.out, e)
	}
	f.out.hidden = hidden
}

// pause ends the response after the event if the run waits there. Calls that were answered
// before the response began do not count: the run has continued after them.
func (f *fold) pause(e *runlog.Event) error {
	waits, err := f.waits()
	if err != nil {
		return err
	}
	open, ok := f.calls.open(waits, f.stays, func(w schemas.Wait) bool {
		return f.before[w.Index] || f.given.Calls[w.Index] || answeredBefore(w, e) && !f.lost(w) || f.resumed[w.Index] && answeredBy(w, e)
	})
	if ok {
		f.table.Pause(&f.out, open)
		f.ended = true
	}
	return nil
}
