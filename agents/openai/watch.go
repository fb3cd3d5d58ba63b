package openai

import (
	"context"
	"errors"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"time"
)

// How long to wait at a reply's end.
const (
	// tailWait is how long the usage chunk and [DONE] may take after the
	// finish_reason. The reply is complete without them.
	tailWait = 2 * time.Second
	// drainWait is how long the body may take to end after [DONE], so that its
	// connection can be used again.
	drainWait = 50 * time.Millisecond
)

// watch ends a call, by cancelling its context with a cause, when the upstream
// is silent for too long. It needs no goroutine and touches its timer once a
// phase, not once a token.
type watch struct {
	cancel  context.CancelCauseFunc
	connect *time.Timer
	begun   time.Time
	// waits is when the current read of the upstream began, in nanoseconds
	// after begun, plus 1; 0 while nothing is read. Time that the consumer
	// takes does not count as silence.
	waits atomic.Int64

	mu    sync.Mutex
	timer *time.Timer
	idle  time.Duration
	cause error // cause of the current phase
}

// watched returns ctx with a watch over its call. The caller stops the watch.
func watched(ctx context.Context, cfg *Config) (context.Context, *watch) {
	ctx, cancel := context.WithCancelCause(ctx)
	w := &watch{cancel: cancel, begun: time.Now(), idle: cfg.Idle, cause: errFirstToken}
	w.connect = time.AfterFunc(cfg.Connect, func() { cancel(errConnect) })
	w.mu.Lock()
	w.timer = time.AfterFunc(cfg.FirstToken, w.fired)
	w.mu.Unlock()
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { w.connect.Stop() },
	})
	return ctx, w
}

func (w *watch) fired() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if errors.Is(w.cause, errIdle) {
		var silent time.Duration
		if since := w.waits.Load(); since != 0 {
			silent = time.Since(w.begun) - time.Duration(since-1)
		}
		if silent < w.idle {
			w.timer.Reset(w.idle - silent)
			return
		}
	}
	w.cancel(w.cause)
}

// wait is called before each read of the upstream, got after it.
func (w *watch) wait() { w.waits.Store(int64(time.Since(w.begun)) + 1) }
func (w *watch) got()  { w.waits.Store(0) }

// token records a token: from now on silences are limited.
func (w *watch) token() { w.phase(errIdle, w.idle) }

// phase ends the call with cause after d.
func (w *watch) phase(cause error, d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cause = cause
	w.timer.Reset(d)
}

func (w *watch) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.connect.Stop()
	w.timer.Stop()
	w.cancel(nil)
}
