// Package logtest is for tests that wait for lines of the log.
package logtest

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"
)

// Patience bounds every wait of the tests of MCP; only a failing test waits that long.
const Patience = 3 * time.Minute

// Book is a slog.Handler that collects the log lines, as "message key=value …".
type Book struct {
	slog.Handler
	lines chan string
	attrs string
}

// NewBook returns an empty Book.
func NewBook() *Book { return &Book{lines: make(chan string, 1000)} }

// Enabled implements slog.Handler.
func (b *Book) Enabled(context.Context, slog.Level) bool { return true }

// WithAttrs implements slog.Handler.
func (b *Book) WithAttrs(attrs []slog.Attr) slog.Handler {
	with := *b
	for _, a := range attrs {
		with.attrs += " " + a.String()
	}
	return &with
}

// Handle implements slog.Handler.
func (b *Book) Handle(_ context.Context, r slog.Record) error {
	line := r.Message + b.attrs
	r.Attrs(func(a slog.Attr) bool { line += " " + a.String(); return true })
	select {
	case b.lines <- line:
	default: // the buffer is full: no test waits for that many lines
	}
	return nil
}

// Await reads the lines until one has all the parts.
func (b *Book) Await(t *testing.T, parts ...string) string {
	t.Helper()
	late := time.After(Patience)
	for {
		select {
		case line := <-b.lines:
			if !slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(line, p) }) {
				return line
			}
		case <-late:
			t.Fatalf("the log never says %q", parts)
		}
	}
}
