package upstream

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync"
)

// Transport returns a round tripper that s serves in memory; each write of the
// script is one read of the client. It follows the contract of net/http's
// transport: cancelling a request's context ends its body with the cause.
func (s *Server) Transport() http.RoundTripper { return memory{s} }

type memory struct{ *Server }

var errAborted = errors.New("upstream: connection cut by the script")

// RoundTrip serves req.
func (m memory) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := context.Cause(req.Context()); err != nil {
		return nil, err
	}
	if trace := httptrace.ContextClientTrace(req.Context()); trace != nil && trace.GotConn != nil {
		trace.GotConn(httptrace.GotConnInfo{})
	}
	ctx, cancel := context.WithCancelCause(req.Context())
	body, out := io.Pipe()
	w := &writer{header: http.Header{}, out: out, started: make(chan struct{})}
	stop := context.AfterFunc(ctx, func() { out.CloseWithError(context.Cause(ctx)) })
	served := req.Clone(ctx)
	if served.Body == nil {
		served.Body = http.NoBody
	}
	go func() {
		defer stop()
		defer func() {
			if p := recover(); p != nil {
				w.abort = errAborted
				out.CloseWithError(io.ErrUnexpectedEOF)
			}
			w.WriteHeader(http.StatusOK)
			out.Close() // never fails
		}()
		m.ServeHTTP(w, served)
	}()
	select {
	case <-w.started:
	case <-ctx.Done():
		defer cancel(nil)
		return nil, context.Cause(ctx)
	}
	if w.status == 0 {
		defer cancel(nil)
		return nil, errAborted
	}
	return &http.Response{
		StatusCode: w.status, Status: http.StatusText(w.status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.sent, Body: &reader{body, cancel}, ContentLength: -1, Request: req,
	}, nil
}

// reader is a response's body; closing it means that the client disconnects.
type reader struct {
	*io.PipeReader
	cancel context.CancelCauseFunc
}

// Close ends the request.
func (r *reader) Close() error {
	r.cancel(context.Canceled)
	return r.PipeReader.Close()
}

// writer is a response in memory.
type writer struct {
	header, sent http.Header
	out          *io.PipeWriter
	once         sync.Once
	started      chan struct{}
	status       int
	abort        error // the script cut the connection before the header
}

func (w *writer) Header() http.Header { return w.header }

func (w *writer) WriteHeader(status int) {
	w.once.Do(func() {
		if w.abort == nil {
			w.status = status
		}
		w.sent = w.header.Clone()
		close(w.started)
	})
}

func (w *writer) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.out.Write(p)
}

func (w *writer) Flush() { w.WriteHeader(http.StatusOK) }
