// Package visible has the visible text of one answer: what earlier attempts have
// shown, and what the log of this attempt shows.
package visible

import (
	"iter"
	"strings"

	"github.com/chattray/chattray/services/eventlog"
)

// Text is the visible text of an answer. The text of this attempt is in its log.
type Text struct {
	log  *eventlog.Log
	kept strings.Builder // the text of earlier attempts
	// shown says that there is some text, worded that it has more than white space.
	shown, worded bool
	newlines      int // at the end
	atMarker      bool
}

// New returns the text of an attempt with this log.
func New(log *eventlog.Log) *Text { return &Text{log: log} }

// Put notes text that is shown. Earlier says that an earlier attempt has shown it.
func (t *Text) Put(text string, earlier bool) {
	t.shown, t.atMarker = true, false
	t.worded = t.worded || strings.TrimSpace(text) != ""
	if earlier {
		t.kept.WriteString(text)
	}
	if trimmed := strings.TrimRight(text, "\n"); trimmed == "" {
		t.newlines += len(text)
	} else {
		t.newlines = len(text) - len(trimmed)
	}
}

// EndMarker notes that the text ends with a tool marker, so that a blank line comes
// before the next text.
func (t *Text) EndMarker() { t.atMarker = true }

// AtMarker reports whether the text ends with a tool marker.
func (t *Text) AtMarker() bool { return t.atMarker }

// Gap is what the text lacks of a blank line at its end; nothing at its beginning.
func (t *Text) Gap() string {
	if !t.shown || t.newlines >= 2 {
		return ""
	}
	return "\n\n"[t.newlines:]
}

// Shown reports whether there is some text.
func (t *Text) Shown() bool { return t.shown }

// Worded reports whether the text has more than white space.
func (t *Text) Worded() bool { return t.worded }

// Kept is the text of earlier attempts.
func (t *Text) Kept() string { return t.kept.String() }

// Keep replaces the text of earlier attempts.
func (t *Text) Keep(text string) {
	t.kept.Reset()
	t.kept.WriteString(text)
	t.shown, t.worded = text != "", strings.TrimSpace(text) != ""
}

// pieces are the pieces of this attempt's text.
func (t *Text) pieces() iter.Seq[string] {
	events, _ := t.log.Since(0)
	return func(yield func(string) bool) {
		for i := range events {
			if piece := events[i].Visible(); piece != "" && !yield(piece) {
				return
			}
		}
	}
}

// Whole is the text without the white space around it. If all of it is in reply,
// which is then the only one, Whole shares that reply's memory.
func (t *Text) Whole(reply string) string {
	rest, same := reply, t.kept.Len() == 0
	for piece := range t.pieces() {
		if !same {
			break
		}
		rest, same = strings.CutPrefix(rest, piece)
	}
	if same && strings.TrimSpace(rest) == "" {
		return strings.TrimSpace(reply)
	}
	size := t.kept.Len()
	for piece := range t.pieces() {
		size += len(piece)
	}
	var b strings.Builder
	b.Grow(size)
	b.WriteString(t.kept.String())
	for piece := range t.pieces() {
		b.WriteString(piece)
	}
	return strings.TrimSpace(b.String())
}
