// Package runlog has the log of a run, which services writes and api shows: one
// sequence of typed events, from which every dialect is made. It defines no
// encoding: services/eventlog encodes events for the store, api's dialects for
// readers.
package runlog

import (
	"errors"
	"strings"
	"sync"
	"time"
)

// AttemptSpan is the distance between the first sequence numbers of two
// attempts: attempt n numbers its events from (n-1)*AttemptSpan+1.
const AttemptSpan = 1_000_000

// ErrEnded is returned for following a run from its terminal event on: there
// will never be more events.
var ErrEnded = errors.New("runlog: the cursor is at the end of the run")

// maxAhead is how far a cursor may be past the newest event of a running run:
// readers may have seen later events before a crash or on another replica.
const maxAhead = 1000

// Future reports whether a cursor is so far past the newest event of a running
// run that no reader can have seen it, for example after the database was
// restored. Such a reader starts again from the first event. A reader within
// maxAhead waits for later events.
func Future(cursor, newest int64) bool { return cursor-newest > maxAhead }

// ErrInterrupted ends the events of a run that has not ended: it continues
// later, and a reader comes back with its cursor.
var ErrInterrupted = errors.New("runlog: the run was interrupted")

// Interrupted is ErrInterrupted for a reader that should come back after a time of its
// own, because many come back at once.
type Interrupted struct{ Retry time.Duration }

// Error implements error.
func (*Interrupted) Error() string { return ErrInterrupted.Error() }

// Is reports whether target is ErrInterrupted.
func (*Interrupted) Is(target error) bool { return target == ErrInterrupted }

// Event is one entry of a run's log. Events are immutable once appended.
type Event struct {
	// Seq is the sequence number, strictly increasing within the run.
	Seq int64
	// Time is milliseconds since the Unix epoch.
	Time int64
	At   Level
	Body Body
	// Shared has the frames that readers share of a large event, or of a log's last one;
	// nil for any other event.
	Shared *Frames
}

// Level is the place of an event: the numbers of its thread, its group and its
// message (T1, B1, M1 on the wire); 0 means none.
type Level struct{ Thread, Group, Message uint32 }

// LargeEvent is the size in bytes from which a body makes its event large: its
// frames are encoded once and not copied.
const LargeEvent = 16 << 10

// Size estimates the bytes of the event's body.
func (e *Event) Size() int { return e.Body.size() }

// Large reports whether e is a large event.
func (e *Event) Large() bool { return e.Body.size() >= LargeEvent }

// Visible returns the part of the answer's text that the event shows.
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

// Frames are the frames of one event, by name. The zero value has none. It is
// safe for concurrent use.
type Frames struct {
	mu   sync.Mutex
	made map[string]*frame
}

// frame is a frame that has been encoded when done is closed.
type frame struct {
	done chan struct{}
	data []byte
}

// Get returns the frame of that name. It is encoded when it is first needed; a frame that
// is not final, according to encode, is only for those who ask for it meanwhile.
func (f *Frames) Get(name string, encode func() (data []byte, final bool)) []byte {
	f.mu.Lock()
	made := f.made[name]
	if made != nil {
		f.mu.Unlock()
		<-made.done
		return made.data
	}
	if f.made == nil {
		f.made = make(map[string]*frame)
	}
	made = &frame{done: make(chan struct{})}
	f.made[name] = made
	f.mu.Unlock()
	final := false
	defer func() {
		if !final {
			f.mu.Lock()
			delete(f.made, name)
			f.mu.Unlock()
		}
		close(made.done)
	}()
	made.data, final = encode()
	return made.data
}

// Place is a place for content: blocks of a document, or the answer's block in the
// chat, whose DocumentID is empty.
type Place struct {
	// BlockIDs are comma separated.
	BlockIDs   string
	DocumentID string
	// Type is the type of the content; empty means md.
	Type string
}

// Target is where the answer goes.
type Target struct {
	Place

	// MessageID is the id of the chat's message that keeps the answer.
	MessageID string
	// Header comes before an answer that goes into a chart or an image.
	Header string
	// Awaited is true if the client has chosen the blocks of the answer: it
	// waits for their end, even if nothing is written.
	Awaited bool
}

// Joiner joins the text of an answer without its tool markers, and puts a blank
// line where a marker was. The zero value is ready.
type Joiner struct {
	begun, gap bool
	newlines   int // line breaks at the end
}

// Marker records a tool marker at this place.
func (j *Joiner) Marker() { j.gap = true }

// Text returns the text to append for a piece of visible text.
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
