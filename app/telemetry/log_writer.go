package telemetry

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"time"
)

// logWait is how long a line of the log waits for whoever reads the log.
const logWait = time.Second

// logWriter writes the log for as long as it is read: otherwise each request and each run
// would wait for its next line. While a write is under way for longer than logWait, lines are
// left out; the next line that is written then says how many.
type logWriter struct {
	to      io.Writer
	handler func(io.Writer) slog.Handler // writes the line about those that were left out
	// late is closed at the end of a write that takes longer; nil if there is none.
	late    chan struct{}
	leftOut int
}

// Write writes one line. A handler calls it once at a time.
func (w *logWriter) Write(line []byte) (int, error) {
	select {
	case <-w.late:
		w.late = nil
	default:
	}
	if w.late != nil {
		w.leftOut++
		return len(line), nil
	}
	var text bytes.Buffer
	if w.leftOut > 0 {
		said := slog.NewRecord(time.Now(), slog.LevelWarn, "lines of the log were left out: whoever reads it took nothing for a time", 0)
		said.Add("left_out", w.leftOut)
		_ = w.handler(&text).Handle(context.Background(), said) // at any level of the log; a buffer takes everything
		w.leftOut = 0
	}
	text.Write(line) // the handler uses its bytes again
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, err = w.to.Write(text.Bytes())
	}()
	wait := time.NewTimer(logWait)
	defer wait.Stop()
	select {
	case <-done:
		return len(line), err
	case <-wait.C:
		w.late = done
		return len(line), nil
	}
}
