// Package visible has the visible text of one answer: the text of earlier
// attempts and of this one.
package visible

import "strings"

// Text is the visible text of an answer. As long as it equals the beginning of
// the first reply, it shares the reply's memory. The zero value is empty.
type Text struct {
	shared   string
	own      strings.Builder // used if separate
	separate bool            // the text no longer equals the beginning of the reply
	// shown is true if there is any text, worded if it has more than white
	// space.
	shown, worded bool
	newlines      int // at the end
	atMarker      bool
}

// Put adds text that is shown. Reply is the text of the current reply, empty if
// there is none.
func (t *Text) Put(text, reply string) {
	t.shown, t.atMarker = true, false
	t.worded = t.worded || strings.TrimSpace(text) != ""
	if trimmed := strings.TrimRight(text, "\n"); trimmed == "" {
		t.newlines += len(text)
	} else {
		t.newlines = len(text) - len(trimmed)
	}
	if end := len(t.shared) + len(text); !t.separate && len(reply) >= end && reply[len(t.shared):end] == text {
		t.shared = reply[:end]
		return
	}
	t.Part()
	t.own.WriteString(text)
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

// Worded reports whether the text has more than white space.
func (t *Text) Worded() bool { return t.worded }

// Keep replaces the text.
func (t *Text) Keep(text string) {
	newlines := len(text) - len(strings.TrimRight(text, "\n"))
	*t = Text{separate: true, shown: text != "", worded: strings.TrimSpace(text) != "", newlines: newlines, atMarker: t.atMarker}
	t.own.WriteString(text)
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
