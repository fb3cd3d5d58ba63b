package api

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/r3labs/sse/v2"

	"github.com/chattray/chattray/schemas/runlog"
)

// The limits of a stream.
const (
	// defaultKeepAlive is the silence after which a comment is sent.
	defaultKeepAlive = 15 * time.Second

	// defaultWriteWait is how long a write to a client may take.
	defaultWriteWait = 10 * time.Second

	maxFrames   = 16 << 10 // bytes from which on frames are written and no more are put to them
	maxPiece    = 64 << 10 // bytes that are written within one deadline
	keepBuffer  = 32 << 10 // a buffer that has grown beyond is not used again
	retryMillis = "1000"   // the hint to a client whose run was interrupted
)

// errWrite is the cause of a stream whose client does not read.
var errWrite = errors.New("the client does not read")

// sseResponse writes a run's events to one connection through the library's server.
// All events that are available become one library event, and the next one follows
// only when it is written: a slow client gets larger writes, not a longer queue.
type sseResponse struct {
	server *sse.Server
	id     string
	// ctx is the one that seq follows with; it ends when the client cannot be
	// written to.
	ctx     context.Context //nolint:containedctx // lives as long as the request
	cancel  context.CancelCauseFunc
	seq     iter.Seq2[[]runlog.Event, error]
	reader  *reader
	encoder encoder
	form    string // the same for all readers to whom encoder shows the same
	out     *streamWriter
	last    int64
	done    chan struct{}
	ends    []func() // what close calls
}

// buffers are for frames on their way, so that a stream on which nothing happens
// has none.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// newEvents returns the library's server, configured to be safe: no replay, no
// shared streams.
func newEvents() *sse.Server {
	server := sse.New()
	server.AutoReplay = false
	server.BufferSize = 1
	server.Headers = map[string]string{"Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no"}
	return server
}

var streamIDs atomic.Int64

// serve writes the events of seq as server-sent events until seq ends, ctx ends
// or the client cannot be written to.
func (r *sseResponse) serve() {
	r.server.ServeHTTP(r.out, r.subscription())
	r.cancel(nil)
	<-r.done
}

// subscription makes the library's stream and the request for it. The library
// takes the stream's name from the query and would read the cursor, which is
// ours, from the header.
func (r *sseResponse) subscription() *http.Request {
	stream := r.server.CreateStream(r.id)
	stream.OnSubscribe = func(string, *sse.Subscriber) { r.copyEvents(r.ctx) }
	stream.OnUnsubscribe = func(id string, _ *sse.Subscriber) { r.server.RemoveStream(id) }
	inner := &http.Request{Method: http.MethodGet, URL: &url.URL{RawQuery: "stream=" + r.id}, Header: http.Header{}}
	return inner.WithContext(r.ctx)
}

// close releases all that the response holds.
func (r *sseResponse) close() {
	for _, end := range slices.Backward(r.ends) {
		end()
	}
}

// copyEvents publishes the events of the sequence. The library calls it once the
// connection is subscribed.
func (r *sseResponse) copyEvents(ctx context.Context) {
	defer close(r.done)
	var broken error
	for events, err := range r.seq {
		if broken = err; err != nil {
			break
		}
		if len(events) == 0 {
			if !r.publish(ctx, &sse.Event{Comment: []byte("keep-alive")}) {
				return
			}
			continue
		}
		for len(events) > 0 {
			var ok bool
			if events, ok = r.batch(ctx, events); !ok {
				return
			}
		}
	}
	if broken != nil && ctx.Err() == nil {
		// The line rides on a comment and repeats the last id, so that the
		// reader's cursor stays.
		r.publish(ctx, &sse.Event{ID: strconv.AppendInt(nil, r.last, 10), Data: []byte(": interrupted"), Retry: []byte(retryMillis)})
	}
	r.server.Publish(r.id, &sse.Event{}) // the library's sign to end
}

// batch publishes the frames of the first events, as many as one write takes, and
// returns the other events.
func (r *sseResponse) batch(ctx context.Context, events []runlog.Event) ([]runlog.Event, bool) {
	if e := &events[0]; e.Shared != nil {
		r.last = e.Seq
		frame := e.Shared.Get(r.form, func() ([]byte, bool) {
			r.reader.missing = false
			frame := r.encoder.Append(nil, e)
			return frame, !r.reader.missing
		})
		return events[1:], r.write(ctx, frame)
	}
	buf := buffers.Get().(*[]byte)
	frames, n := (*buf)[:0], 0
	for n < len(events) && len(frames) < maxFrames && events[n].Shared == nil {
		frames = r.encoder.Append(frames, &events[n])
		n++
	}
	r.last = events[n-1].Seq
	rest, ok := events[n:], r.write(ctx, frames)
	if ok && cap(frames) <= keepBuffer { // else it may still be in use
		*buf = frames
		buffers.Put(buf)
	}
	return rest, ok
}

// standIn is what the library writes where frames are due: the writer below it
// puts them in its place, so that they are not copied.
var standIn = []byte("-")

// write publishes frames.
func (r *sseResponse) write(ctx context.Context, frames []byte) bool {
	if len(frames) == 0 {
		return true
	}
	r.out.frames = frames
	return r.publish(ctx, &sse.Event{ID: standIn, Data: standIn})
}

// publish hands one event to the library and waits until it is written.
func (r *sseResponse) publish(ctx context.Context, e *sse.Event) bool {
	r.server.Publish(r.id, e)
	select {
	case <-r.out.written:
		return true
	case <-ctx.Done():
		return false
	}
}

// streamWriter is the writer under the library: a deadline for each write, in
// pieces where it is long so that a slow client which reads gets it, the error
// checked, the request cancelled when a write fails. An event for which there are
// frames is written as these. Of the library's flushes the first, of the bare
// header, is left out: an event follows.
type streamWriter struct {
	response http.ResponseWriter
	wire     *http.ResponseController
	wait     time.Duration
	fail     context.CancelCauseFunc
	written  chan struct{}
	frames   []byte // to be written in the place of an event; nil is the event
	placed   bool   // they have been
	filled   bool
	broken   bool
}

// Header implements http.ResponseWriter.
func (w *streamWriter) Header() http.Header { return w.response.Header() }

// WriteHeader implements http.ResponseWriter.
func (w *streamWriter) WriteHeader(status int) { w.response.WriteHeader(status) }

// Write implements http.ResponseWriter. After a failure it accepts everything, so
// that the library ends.
func (w *streamWriter) Write(p []byte) (int, error) {
	n := len(p)
	if w.frames != nil {
		if p = w.frames; w.placed {
			return n, nil
		}
		w.placed = true
	}
	for len(p) > 0 && !w.broken {
		piece := p[:min(len(p), maxPiece)]
		if p = p[len(piece):]; !w.filled || len(piece) == maxPiece {
			w.filled = true
			w.deadline()
		}
		if _, err := w.response.Write(piece); err != nil {
			w.breakOff(err)
		}
	}
	return n, nil
}

// Flush implements http.Flusher.
func (w *streamWriter) Flush() {
	if !w.filled {
		return
	}
	w.filled, w.placed, w.frames = false, false, nil
	if !w.broken {
		if err := w.wire.Flush(); err != nil {
			w.breakOff(err)
		}
	}
	select {
	case w.written <- struct{}{}:
	default:
	}
}

func (w *streamWriter) deadline() {
	_ = w.wire.SetWriteDeadline(time.Now().Add(w.wait)) // a writer in a test may have none
}

func (w *streamWriter) breakOff(err error) {
	w.broken = true
	w.fail(errors.Join(errWrite, err))
}
