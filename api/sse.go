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

// feed is what the library's server writes to its one connection: frames of a
// dialect, one library event for all that is there, the next one only when it
// has been written. Between two writes the log grows, and a slow client gets
// larger writes, not a longer queue.
type feed struct {
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

// newEvents returns the library's server in the way in which it holds: no
// replay and no shared streams.
func newEvents() *sse.Server {
	server := sse.New()
	server.AutoReplay = false
	server.BufferSize = 1
	server.Headers = map[string]string{"Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no"}
	return server
}

var feeds atomic.Int64

// serve writes the events of seq as server-sent events until seq ends, ctx ends
// or the client cannot be written to.
func (f *feed) serve() {
	f.server.ServeHTTP(f.out, f.subscription())
	f.cancel(nil)
	<-f.done
}

// subscription makes the library's stream and the request for it. The library
// takes the stream's name from the query and would read the cursor, which is
// ours, from the header.
func (f *feed) subscription() *http.Request {
	stream := f.server.CreateStream(f.id)
	stream.OnSubscribe = func(string, *sse.Subscriber) { f.pump(f.ctx) }
	stream.OnUnsubscribe = func(id string, _ *sse.Subscriber) { f.server.RemoveStream(id) }
	inner := &http.Request{Method: http.MethodGet, URL: &url.URL{RawQuery: "stream=" + f.id}, Header: http.Header{}}
	return inner.WithContext(f.ctx)
}

// close lets go of all that the feed holds.
func (f *feed) close() {
	for _, end := range slices.Backward(f.ends) {
		end()
	}
}

// pump publishes what the sequence yields; the library calls it once the
// connection is subscribed.
func (f *feed) pump(ctx context.Context) {
	defer close(f.done)
	var broken error
	for events, err := range f.seq {
		if broken = err; err != nil {
			break
		}
		if len(events) == 0 {
			if !f.publish(ctx, &sse.Event{Comment: []byte("keep-alive")}) {
				return
			}
			continue
		}
		for len(events) > 0 {
			var ok bool
			if events, ok = f.batch(ctx, events); !ok {
				return
			}
		}
	}
	if broken != nil && ctx.Err() == nil {
		// The line rides on a comment and repeats the last id, so that the
		// reader's cursor stays.
		f.publish(ctx, &sse.Event{ID: strconv.AppendInt(nil, f.last, 10), Data: []byte(": interrupted"), Retry: []byte(retryMillis)})
	}
	f.server.Publish(f.id, &sse.Event{}) // the library's sign to end
}

// batch publishes frames of the first events, as many as are written at once,
// and returns the rest.
func (f *feed) batch(ctx context.Context, events []runlog.Event) ([]runlog.Event, bool) {
	if e := &events[0]; e.Shared != nil {
		f.last = e.Seq
		frame := e.Shared.Get(f.form, func() ([]byte, bool) {
			f.reader.missing = false
			frame := f.encoder.Append(nil, e)
			return frame, !f.reader.missing
		})
		return events[1:], f.write(ctx, frame)
	}
	buf := buffers.Get().(*[]byte)
	frames, n := (*buf)[:0], 0
	for n < len(events) && len(frames) < maxFrames && events[n].Shared == nil {
		frames = f.encoder.Append(frames, &events[n])
		n++
	}
	f.last = events[n-1].Seq
	rest, ok := events[n:], f.write(ctx, frames)
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
func (f *feed) write(ctx context.Context, frames []byte) bool {
	if len(frames) == 0 {
		return true
	}
	f.out.frames = frames
	return f.publish(ctx, &sse.Event{ID: standIn, Data: standIn})
}

// publish hands one event to the library and waits until it is written.
func (f *feed) publish(ctx context.Context, e *sse.Event) bool {
	f.server.Publish(f.id, e)
	select {
	case <-f.out.written:
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

// Header is of http.ResponseWriter.
func (w *streamWriter) Header() http.Header { return w.response.Header() }

// WriteHeader is of http.ResponseWriter.
func (w *streamWriter) WriteHeader(status int) { w.response.WriteHeader(status) }

// Write is of http.ResponseWriter. After a failure it takes everything, so that
// the library comes to its end.
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

// Flush is of http.Flusher.
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
