// Package visible has the visible text of one answer: the text of earlier
// attempts and of this one.
package visible

import (
	"strings"

	"github.com/chattray/chattray/schemas/text"
)

// Text is the visible text of an answer. As long as it equals the beginning of
// the first reply, it shares the reply's memory. The zero value is empty.
type Text struct {
	shared   string
	own      strings.Builder // used if separate
	separate bool            // the text no longer equals the beginning of the reply
	// shown is true if there is any text, worded if some of it can be seen.
	shown, worded bool
	newlines      int // at the end
	atMarker      bool
}

// Put adds text that is shown. Reply is the text of the current reply, empty if
// there is none.
func (t *Text) Put(s, reply string) {
	t.shown, t.atMarker = true, false
	t.worded = t.worded || !text.Blank(s)
	if trimmed := strings.TrimRight(s, "\n"); trimmed == "" {
		t.newlines += len(s)
	} else {
		t.newlines = len(s) - len(trimmed)
	}
	if end := len(t.shared) + len(s); !t.separate && len(reply) >= end && reply[len(t.shared):end] == s {
		t.shared = reply[:end]
		return
	}
	t.Part()
	t.own.WriteString(s)
}

// Part ends the sharing, because the text of the reply ends or is dropped.
func (t *Text) Part() {
	if !t.separate && t.shown {
		t.separate = true
		t.own.WriteString(t.shared)
		t.shared = ""
	}
}

// EndMarker records that the text ends with a tool marker, so that a blank line
// comes before the next text.
func (t *Text) EndMarker() { t.atMarker = true }

// AtMarker reports whether the text ends with a tool marker.
func (t *Text) AtMarker() bool { return t.atMarker }

// Gap returns the line breaks that the text lacks for a blank line at its end;
// none at its beginning.
func (t *Text) Gap() string {
	if !t.shown || t.newlines >= 2 {
		return ""
	}
	return "\n\n"[t.newlines:]
}

// Shown reports whether there is some text.
func (t *Text) Shown() bool { return t.shown }

// Worded reports whether some of the text can be seen.
func (t *Text) Worded() bool { return t.worded }

// Keep replaces the text.
func (t *Text) Keep(s string) {
	newlines := len(s) - len(strings.TrimRight(s, "\n"))
	*t = Text{separate: true, shown: s != "", worded: !text.Blank(s), newlines: newlines, atMarker: t.atMarker}
	t.own.WriteString(s)
}

// String returns the text so far.
func (t *Text) String() string {
	if t.separate {
		return t.own.String()
	}
	return t.shared
}

// Whole returns the text without the white space around it.
func (t *Text) Whole() string { return strings.TrimSpace(t.String()) }
