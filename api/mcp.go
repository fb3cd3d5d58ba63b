package api

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
)

// postMCP passes one message to the user's handler of the Model Context Protocol.
// It counts as a stream and as a request that starts work.
func (s *server) postMCP(c echo.Context) error {
	ctx, user := caller(c)
	if s.MCP == nil {
		return errNoRoute
	}
	body := bodyOf(c)
	body = bytes.TrimSpace(body)
	release, err := s.streams.acquire(user.ID)
	if err != nil {
		return err
	}
	defer release()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if until := expiry(c); !until.IsZero() {
		ctx, cancel = context.WithDeadline(ctx, until)
		defer cancel()
	}
	r := c.Request().Clone(ctx)
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	r.Header.Del(echo.HeaderAuthorization)                                 // the handler needs no token
	r.Header.Set(echo.HeaderAccept, "application/json, text/event-stream") // the handler requires both
	w := &promptWriter{ResponseWriter: c.Response(), wire: http.NewResponseController(c.Response().Writer), wait: s.WriteWait, fail: cancel}
	s.MCP(user).ServeHTTP(w, r)
	return nil
}

// promptWriter bounds each write to a client that may not read.
type promptWriter struct {
	http.ResponseWriter
	wire *http.ResponseController
	wait time.Duration
	fail context.CancelFunc
}

// Unwrap lets http.ResponseController reach the connection.
func (w *promptWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Write implements http.ResponseWriter.
func (w *promptWriter) Write(p []byte) (int, error) {
	_ = w.wire.SetWriteDeadline(time.Now().Add(w.wait)) // a writer in a test may have none
	n, err := w.ResponseWriter.Write(p)
	if err != nil {
		w.fail()
	}
	return n, err
}
