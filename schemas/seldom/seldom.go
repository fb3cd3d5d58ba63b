// Package seldom keeps the log short while the same thing happens again and again.
package seldom

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Pause is the time between two lines of a Log.
const Pause = time.Minute

// Log writes at most one line in a Pause; each says with left_out how many were left out
// since the one before. The zero value is ready; it is safe for concurrent use.
type Log struct {
	mu      sync.Mutex
	last    time.Time // of the last line
	leftOut int       // since then
}

// Write writes a line to the logger, or leaves it out.
func (l *Log) Write(ctx context.Context, to *slog.Logger, level slog.Level, message string, attrs ...slog.Attr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.last.IsZero() && time.Since(l.last) < Pause {
		l.leftOut++
		return
	}
	to.LogAttrs(ctx, level, message, append(attrs, slog.Int("left_out", l.leftOut))...)
	l.last, l.leftOut = time.Now(), 0
}
