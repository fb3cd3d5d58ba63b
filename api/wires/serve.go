package wires

import (
	"context"
	"errors"
	"iter"
	"net/http"
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
