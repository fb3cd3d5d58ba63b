package api

import (
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
)

// boundWrites gives each write of an answer a deadline, so that a client that does not
// read holds neither the connection nor what is being written. The whole answer has
// none: it may be long and the line slow. Streams set their own deadlines instead.
func (s *server) boundWrites(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		w := &promptWriter{ResponseWriter: c.Response().Writer, wire: http.NewResponseController(c.Response().Writer), wait: s.WriteWait}
		c.Response().Writer = w
		err := next(c)
		w.deadline() // the server still writes what it has buffered
		return err
	}
}

// promptWriter bounds each write to a client that may not read. A long one is split, so
// that a slow client that still reads gets it.
type promptWriter struct {
	http.ResponseWriter
	wire *http.ResponseController
	wait time.Duration
	left bool // whoever writes sets the deadlines
}

// leaveDeadlines lets the caller set the deadlines of writes to w. What the server still
// writes when the handler has returned has the time to wait.
func leaveDeadlines(w http.ResponseWriter, wait time.Duration) {
	for {
		if p, ok := w.(*promptWriter); ok {
			p.left, p.wait = true, wait
			return
		}
		outer, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			return // a writer in a test
		}
		w = outer.Unwrap()
	}
}

// Unwrap lets http.ResponseController reach the connection.
func (w *promptWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Write implements http.ResponseWriter.
func (w *promptWriter) Write(p []byte) (n int, err error) {
	if w.left {
		return w.ResponseWriter.Write(p)
	}
	for {
		w.deadline()
		piece := p[n:min(len(p), n+maxPiece)]
		wrote, err := w.ResponseWriter.Write(piece)
		if n += wrote; err != nil || n == len(p) {
			return n, err
		}
	}
}

// FlushError flushes as http.ResponseController does.
func (w *promptWriter) FlushError() error {
	if !w.left {
		w.deadline()
	}
	return w.wire.Flush()
}

func (w *promptWriter) deadline() {
	_ = w.wire.SetWriteDeadline(time.Now().Add(w.wait)) // a writer in a test may have none
}
