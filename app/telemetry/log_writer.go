package telemetry

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"sync"
	"time"
)

// Limits of a log whose reader is slow.
const (
	// logRoom is how many bytes of lines wait for the reader; further lines are left out.
	logRoom = 4 << 20
	// logWait is how long the end of the process waits for the reader.
	logWait = time.Second
)

// logWriter writes the log in a goroutine of its own: otherwise each request and each run
// would wait until its line is read. Lines without room are left out; the next line that
// has room comes after one that says how many.
type logWriter struct {
	to      io.Writer
	handler func(io.Writer) slog.Handler // writes the line about those that were left out

	mu      sync.Mutex
	lines   bytes.Buffer
	leftOut int
	// idle is closed when all lines are written; nil if none is.
	idle chan struct{}
}

// Write takes one line. It never waits for the reader.
func (w *logWriter) Write(line []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lines.Len() > 0 && w.lines.Len()+len(line) > logRoom {
		w.leftOut++
		return len(line), nil
	}
	if w.leftOut > 0 {
		said := slog.NewRecord(time.Now(), slog.LevelWarn, "lines of the log were left out: whoever reads it is too slow", 0)
		said.Add("left_out", w.leftOut)
		_ = w.handler(&w.lines).Handle(context.Background(), said) // at any level of the log; a buffer takes everything
		w.leftOut = 0
	}
	w.lines.Write(line)
	if w.idle == nil {
		w.idle = make(chan struct{})
		go w.write()
	}
	return len(line), nil
}

// write writes lines until none is left.
func (w *logWriter) write() {
	for {
		w.mu.Lock()
		if w.lines.Len() == 0 {
			close(w.idle)
			w.idle = nil
			w.mu.Unlock()
			return
		}
		taken := w.lines
		w.lines = bytes.Buffer{}
		w.mu.Unlock()
		_, _ = w.to.Write(taken.Bytes()) // there is nowhere to say that the log cannot be written
	}
}

// flush returns when all lines are written, and after logWait at the latest.
func (w *logWriter) flush() {
	w.mu.Lock()
	idle := w.idle
	w.mu.Unlock()
	if idle == nil {
		return
	}
	select {
	case <-idle:
	case <-time.After(logWait):
	}
}
