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

	"github.com/chattray/chattray/api/dialects"
	"github.com/chattray/chattray/schemas/concurrent"
	"github.com/chattray/chattray/schemas/runlog"
)

// The limits of a stream.
const (
	// defaultKeepAlive is the silence after which a comment is sent.
	defaultKeepAlive = 15 * time.Second

	// defaultWriteWait is how long a write to a client may take, and defaultStreamWait one
	// to a stream. A full receive buffer reports room only when a large part of it is
	// free: 200 KB on Linux, 100 s for a program that reads 2 KB/s. A stream that waits
	// holds one batch of events and its buffers.
	defaultWriteWait, defaultStreamWait = 10 * time.Second, 2 * time.Minute

	maxFrames  = 16 << 10 // bytes from which a batch is written, without further frames
	maxPiece   = 64 << 10 // bytes that are written within one deadline
	keepBuffer = 32 << 10 // a larger buffer is not used again

	// defaultRetry is the hint to a client whose run was interrupted, when to come back.
	defaultRetry = time.Second
)

// errWrite is the cause of a stream whose client does not read.
var errWrite = errors.New("the client does not read")

// sseResponse writes a run's events to one connection, on the goroutine of its
// handler: a token wakes only that goroutine. All available events become one
// write, and the next write follows only when it is done: a slow client gets
// larger writes, not a longer queue.
type sseResponse struct {
	server *sse.Server
	id     string
	// ctx is the context with which seq follows; it ends when writing to the
	// client fails.
	ctx     context.Context //nolint:containedctx // lives as long as the request
	cancel  context.CancelCauseFunc
	seq     iter.Seq2[[]runlog.Event, error]
	reader  *dialects.Reader
	encoder dialects.Encoder
	form    string // equal for all readers for whom encoder gives the same frames
	out     *streamWriter
	last    int64
	ends    []func() // functions that close calls
}

// buffers hold frames while they are written, so that an idle stream has no
// buffer.
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
// or writing to the client fails.
func (r *sseResponse) serve() {
	r.open()
	r.copyEvents()
	r.cancel(nil)
}

// over is a context that has ended.
var over = func() context.Context {
	ctx, end := context.WithCancel(context.Background())
	end()
	return ctx
}()

// open lets the library send the status and the headers of an event stream. The
// request it is given has ended, so the library ends the subscription at once,
// and with it three goroutines that would only pass each write on: an open
// stream has five goroutines instead of eight, and a token costs a fifth less.
// The library takes the stream's name from the query. The request has no
// headers, because the library would take the cursor, which is ours, from one.
func (r *sseResponse) open() {
	stream := r.server.CreateStream(r.id)
	stream.OnUnsubscribe = func(id string, _ *sse.Subscriber) { r.server.RemoveStream(id) }
	inner := &http.Request{Method: http.MethodGet, URL: &url.URL{RawQuery: "stream=" + r.id}, Header: http.Header{}}
	r.server.ServeHTTP(r.out, inner.WithContext(over))
}

// close releases all that the response holds.
func (r *sseResponse) close() {
	for _, end := range slices.Backward(r.ends) {
		end()
	}
}

// copyEvents writes the events of the sequence.
func (r *sseResponse) copyEvents() {
	var broken error
	for events, err := range r.seq {
		if broken = err; err != nil {
			break
		}
		if len(events) == 0 && !r.write(keepAlive) {
			return
		}
		for len(events) > 0 {
			var ok bool
			if events, ok = r.batch(events); !ok {
				return
			}
		}
	}
	if broken != nil && r.ctx.Err() == nil {
		// The comment repeats the last id, so that the reader's cursor stays.
		retry := defaultRetry
		if later, ok := errors.AsType[*runlog.Interrupted](broken); ok {
			retry = later.Retry
		}
		line := strconv.AppendInt([]byte("id: "), r.last, 10)
		line = strconv.AppendInt(append(line, "\n: interrupted\nretry: "...), retry.Milliseconds(), 10)
		r.write(append(line, "\n\n"...))
	}
}

// keepAlive is a comment.
var keepAlive = []byte(": keep-alive\n\n")

// batch writes the frames of the first events, as many as one write takes, and
// returns the other events.
func (r *sseResponse) batch(events []runlog.Event) ([]runlog.Event, bool) {
	if e := &events[0]; e.Shared != nil {
		r.last = e.Seq
		frame := e.Shared.Get(r.form, func() ([]byte, bool) {
			r.reader.Missing = false
			frame := r.encoder.Append(nil, e)
			return frame, !r.reader.Missing
		})
		return events[1:], r.write(frame)
	}
	buf := buffers.Get().(*[]byte)
	frames, n := (*buf)[:0], 0
	for n < len(events) && len(frames) < maxFrames && events[n].Shared == nil {
		frames = r.encoder.Append(frames, &events[n])
		n++
	}
	r.last = events[n-1].Seq
	ok := r.write(frames)
	if cap(frames) <= keepBuffer {
		*buf = frames
		buffers.Put(buf)
	}
	return events[n:], ok
}

// write writes frames and flushes them; it returns false when the stream is
// over.
func (r *sseResponse) write(frames []byte) bool {
	if len(frames) > 0 {
		_, _ = r.out.Write(frames) // Flush reports the error
		r.out.Flush()
	}
	return r.ctx.Err() == nil
}

// streamWriter is the writer of a stream: each write has a deadline, a long one
// is split so that a slow client that still reads gets it, and the request is
// cancelled when a write fails. A flush with nothing to write, such as the
// library's after the header, is left out: an event follows.
type streamWriter struct {
	response http.ResponseWriter
	wire     *http.ResponseController
	wait     time.Duration
	fail     context.CancelCauseFunc
	bound    time.Time // when the deadline was set
	filled   bool
	begun    bool // the headers have been sent
	broken   bool
}

// Header implements http.ResponseWriter.
func (w *streamWriter) Header() http.Header { return w.response.Header() }

// WriteHeader implements http.ResponseWriter.
func (w *streamWriter) WriteHeader(status int) { w.response.WriteHeader(status) }

// Write implements http.ResponseWriter. After a failure it accepts everything: the
// context has ended.
func (w *streamWriter) Write(p []byte) (int, error) {
	n := len(p)
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
	w.filled = false
	if w.broken {
		return
	}
	if err := w.send(); err != nil {
		w.breakOff(err)
	}
}

// send flushes. To write the headers takes 3 KiB of the stack, which would then have 16
// instead of 8 for as long as the stream is open.
func (w *streamWriter) send() error {
	if w.begun {
		return w.wire.Flush()
	}
	w.begun = true
	return concurrent.OnFreshStack(w.wire.Flush)
}

// deadline gives a write the time to wait, and up to a sixteenth more. It is not set for each
// write, which would take a twentieth of the time of one.
func (w *streamWriter) deadline() {
	more := w.wait / 16
	if now := time.Now(); now.Sub(w.bound) >= more {
		w.bound = now
		_ = w.wire.SetWriteDeadline(now.Add(w.wait + more)) // a writer in a test may have none
	}
}

func (w *streamWriter) breakOff(err error) {
	w.broken = true
	w.fail(errors.Join(errWrite, err))
}
