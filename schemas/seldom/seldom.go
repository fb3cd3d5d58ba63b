// Package seldom keeps the log short while the same thing happens again and again.
package seldom

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"time"
)

// Pause is the time between two lines of a Log about the same thing.
const Pause = time.Minute

// maxThings is how many things a Log writes about in a Pause.
const maxThings = 8

// Log writes at most one line in a Pause about the same thing, and about at most maxThings
// things. Each line says with left_out how many about its thing were left out since the one
// before, and how many of things that had no place. The zero value is ready; it is safe for
// concurrent use.
type Log struct {
	mu      sync.Mutex
	things  map[string]*thing
	leftOut int // of things that had no place, or have been forgotten
}

type thing struct {
	last    time.Time // of the last line
	leftOut int       // since then
}

// Write writes a line to the logger, or leaves it out. It is about its message.
func (l *Log) Write(ctx context.Context, to *slog.Logger, level slog.Level, message string, attrs ...slog.Attr) (written bool) {
	return l.About(ctx, message, to, level, message, attrs...)
}

// About writes a line about a thing to the logger, or leaves it out.
func (l *Log) About(ctx context.Context, about string, to *slog.Logger, level slog.Level, message string, attrs ...slog.Attr) (written bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.things[about]
	if t == nil && len(l.things) == maxThings {
		maps.DeleteFunc(l.things, func(_ string, t *thing) bool {
			over := time.Since(t.last) >= Pause
			if over {
				l.leftOut += t.leftOut
			}
			return over
		})
	}
	switch {
	case t != nil && time.Since(t.last) < Pause:
		t.leftOut++
		return false
	case t == nil && len(l.things) == maxThings:
		l.leftOut++
		return false
	case t == nil:
		t = &thing{}
		if l.things == nil {
			l.things = make(map[string]*thing)
		}
		l.things[about] = t
	}
	to.LogAttrs(ctx, level, message, append(attrs, slog.Int("left_out", t.leftOut+l.leftOut))...)
	t.last, t.leftOut, l.leftOut = time.Now(), 0, 0
	return true
}
