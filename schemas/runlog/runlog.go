// Package runlog is the log of a run as services writes it and api shows it: one
// sequence of typed events, from which every dialect is made. Nothing here has a
// form on a wire or in the store: services/eventlog encodes events to store them,
// api's dialects to show them.
package runlog

import (
	"errors"
	"strings"
	"sync"
)

// AttemptSpan is the distance between the first sequence numbers of two
// attempts: attempt n numbers its events from (n-1)*AttemptSpan+1.
const AttemptSpan = 1_000_000

// ErrEnded is the outcome of following a run from its terminal event on: there
// is nothing more and there never will be.
var ErrEnded = errors.New("runlog: the cursor is at the end of the run")

// maxAhead is how many events a cursor may be past the newest one of a run under
// way and still be of that run: what readers saw before a crash, or on another
// replica, and what is not there yet.
const maxAhead = 1000

// Future reports whether a cursor is so far past the newest event of a run under
// way that no reader can have seen it, as after a restored database. Such a
// reader starts again from the first event. One within maxAhead waits for what is
// greater.
func Future(cursor, newest int64) bool { return cursor-newest > maxAhead }

// ErrInterrupted ends the events of a run that has not ended: it goes on later,
// and a reader comes back with its cursor.
var ErrInterrupted = errors.New("runlog: the run was interrupted")

// Event is one entry of a run's log. Events are immutable once appended.
type Event struct {
	// Seq is the sequence number, strictly increasing within the run.
	Seq int64
	// Time is milliseconds since the Unix epoch.
	Time int64
	At   Level
	Body Body
	// Frame is the event's frame in the dialect chat, encoded once when it was
	// appended; nil if each reader encodes it.
	Frame []byte
	// Shared is where the readers of a large event share its frames; nil of any
	// other.
	Shared *Frames
}

// Level is where an event belongs: the numbers of its thread, its group and its
// message (T1, B1, M1 on the wire); 0 means none.
type Level struct{ Thread, Group, Message uint32 }

// LargeEvent is the size in bytes of a body from which on an event is large: its
// frames are encoded once and not copied.
const LargeEvent = 16 << 10

// Size is about how many bytes the event's body takes.
func (e *Event) Size() int { return e.Body.size() }

// Large reports whether e is a large event.
func (e *Event) Large() bool { return e.Body.size() >= LargeEvent }

// Visible is the part of the answer's text that the event shows.
func (e *Event) Visible() string {
	switch b := e.Body.(type) {
	case *Text:
		return b.Text
	case *Marker:
		return b.Text
	default:
		return ""
	}
}

// Terminal reports whether the event ends its run.
func (e *Event) Terminal() bool {
	switch e.Body.(type) {
	case *Completed, *Failed, *Cancelled:
		return true
	default:
		return false
	}
}

// Frames are the frames of one event, by what distinguishes them. The zero value
// has none. It is safe for concurrent use.
type Frames struct {
	mu   sync.Mutex
	made map[string][]byte
}

// Get returns the frame of that name. It is encoded when it is first asked for;
// one that encode says is not final is encoded again the next time.
func (f *Frames) Get(name string, encode func() (frame []byte, final bool)) []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	if frame, ok := f.made[name]; ok {
		return frame
	}
	frame, final := encode()
	if final {
		if f.made == nil {
			f.made = make(map[string][]byte)
		}
		f.made[name] = frame
	}
	return frame
}

// Place is a place for content: blocks of a document, or the answer's block in the
// chat, whose DocumentID is empty.
type Place struct {
	// BlockIDs are comma separated.
	BlockIDs   string
	DocumentID string
	// Type is the content's, md where it is empty.
	Type string
}

// Target is where the answer goes.
type Target struct {
	Place

	// MessageID is the id of the chat's message that keeps the answer.
	MessageID string
	// Header comes before an answer that goes into a chart or an image.
	Header string
	// Awaited says that the client has chosen the blocks of the answer: it waits
	// for their end, also where nothing comes.
	Awaited bool
}

// Joiner joins the text of an answer without its tool markers: what a marker
// parts is parted by a blank line. The zero value is the beginning.
type Joiner struct {
	begun, gap bool
	newlines   int // at the end
}

// Marker says that a tool marker comes here.
func (j *Joiner) Marker() { j.gap = true }

// Text returns what visible text adds.
func (j *Joiner) Text(text string) string {
	if text == "" {
		return ""
	}
	if j.gap && j.begun && j.newlines < 2 {
		text = "\n\n"[j.newlines:] + text
	}
	j.begun, j.gap = true, false
	if trimmed := strings.TrimRight(text, "\n"); trimmed == "" {
		j.newlines += len(text)
	} else {
		j.newlines = len(text) - len(trimmed)
	}
	return text
}
