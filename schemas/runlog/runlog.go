// Package runlog is the log of a run as services writes it and api shows it:
// one sequence of events, from which every dialect is made. Nothing here goes
// on a wire as it stands.
package runlog

import (
	"encoding/json"
	"errors"
	"strings"
	"sync"

	"github.com/chattray/chattray/schemas"
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

// Kind says what an event is. Each kind gives at most one frame per dialect.
type Kind uint8

// The kinds. The comment names what Event.Data holds as JSON, or that
// Event.Text holds the content.
const (
	Started       Kind = iota + 1 // schemas.StatusEvent with the run's ids; Text: Target of the answer as JSON
	Status                        // schemas.StatusEvent
	Attempt                       // schemas.StatusEvent with attempt, kept_through and text; Text: as of Started
	ThreadStart                   // Level
	BlockStart                    // Level
	MessageStart                  // Level
	MessageEnd                    // Level
	BlockEnd                      // Level
	ThreadEnd                     // Level
	Text                          // Text: visible text of the answer
	Marker                        // Text: [[tool:N]] or the blank line around it
	Thinking                      // Text: reasoning
	ToolArguments                 // Text: a piece of a call's arguments; the first has Call as data
	Standing                      // Text: the visible text that stands after a recovery, without markers
	ToolStart                     // schemas.ToolStartEvent
	ToolProgress                  // schemas.ToolProgressEvent
	ToolComplete                  // schemas.ToolCompleteEvent
	Payload                       // schemas.CustomPayload
	Completed                     // schemas.ChatResponsePayload, without diagnostics
	Failed                        // schemas.ErrorEvent
	Cancelled                     // schemas.CancelledEvent

	// What goes on in a thread that a tool has opened: it is no part of the
	// answer. Reasoning and arguments there are Thinking and ToolArguments.
	ThreadText         // Text: what a model writes
	ThreadToolStart    // schemas.ToolStartEvent
	ThreadToolProgress // schemas.ToolProgressEvent
	ThreadToolComplete // schemas.ToolCompleteEvent

	ApprovalRequest  // schemas.ApprovalRequestEvent
	ApprovalResolved // schemas.ApprovalResolvedEvent
	ClientToolCall   // schemas.ClientToolCallEvent

	// What is written into blocks of documents while the model writes it.
	BlockReset   // Target: a block that the page shows begins anew
	BlockHeader  // Target; Text: the block's metadata, one JSON object
	BlockContent // Target; Text: a piece of the block's content
	BlockDone    // Target
	kinds
)

// Valid says whether k is one of the kinds above.
func (k Kind) Valid() bool { return k > 0 && k < kinds }

// Terminal says whether an event of this kind ends its run.
func (k Kind) Terminal() bool { return k >= Completed && k <= Cancelled }

// Event is one entry of a run's log. Events are immutable once appended.
type Event struct {
	// Seq is the sequence number, strictly increasing within the run.
	Seq int64
	// Time is milliseconds since the Unix epoch.
	Time int64
	Kind Kind
	// Thread, Block and Message are the numbers of the levels the event belongs
	// to (T1, B1, M1 on the wire); 0 is none.
	Thread, Block, Message uint32
	Text                   string
	Data                   json.RawMessage
	// Frame is the event's frame in the dialect chat, encoded once when it was
	// appended; nil when it is to be encoded by who needs it.
	Frame []byte
	// Shared is where the readers of a large event share its frames; nil of any
	// other.
	Shared *Frames
}

// LargeEvent is the size in bytes of text and data from which on an event is
// large: its frames are encoded once and not copied.
const LargeEvent = 16 << 10

// Large says whether e is a large event.
func (e *Event) Large() bool { return len(e.Text)+len(e.Data) >= LargeEvent }

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

// Level describes a thread, block or message where it starts and ends.
type Level struct {
	// Type is llm, tool or mcp for a block, the message type for a message.
	Type  string `json:"type,omitempty"`
	Label string `json:"label,omitempty"`
	// Ref is the global id that starts carry: of the answer's message, a block of a
	// document, a payload, a call.
	Ref string `json:"ref,omitempty"`
	// Status is set at the end: completed, partial, error or cancelled.
	Status string `json:"status,omitempty"`
	// Tool and ToolUseID name the call that a message of type tool_call shows.
	Tool      string `json:"tool,omitempty"`
	ToolUseID string `json:"tool_use_id,omitempty"`
}

// AppendJSON appends what json.Marshal would give, on a stack that has little
// room left: levels start while text streams.
func (l Level) AppendJSON(dst []byte) []byte {
	dst = append(dst, '{')
	dst = schemas.AppendField(dst, "type", l.Type)
	dst = schemas.AppendField(dst, "label", l.Label)
	dst = schemas.AppendField(dst, "ref", l.Ref)
	dst = schemas.AppendField(dst, "status", l.Status)
	dst = schemas.AppendField(dst, "tool", l.Tool)
	dst = schemas.AppendField(dst, "tool_use_id", l.ToolUseID)
	return append(dst, '}')
}

// Call is the data of a call's first ToolArguments event.
type Call struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// Target says where content goes: to blocks of a document, or to the answer's
// block in the chat, whose DocumentID is empty.
type Target struct {
	// BlockIDs are comma separated.
	BlockIDs   string `json:"block_ids"`
	DocumentID string `json:"document_id,omitempty"`
	// Type is the content's, md where it is empty.
	Type string `json:"type,omitempty"`
	// MessageID is the id of the chat's message that keeps the answer.
	MessageID string `json:"message_id,omitempty"`
	// Header comes before an answer that goes into a chart or an image.
	Header string `json:"header,omitempty"`
	// Awaited says that the client has chosen the blocks of the answer: it waits
	// for their end, also where nothing comes.
	Awaited bool `json:"awaited,omitempty"`
}

// Joiner joins the text of an answer without its tool markers: what a marker
// parts is parted by a blank line. The zero value is the beginning.
type Joiner struct {
	begun, gap bool
	newlines   int // at the end
}

// Text returns what an event adds.
func (j *Joiner) Text(e *Event) string {
	if e.Kind == Marker {
		j.gap = true
	}
	if e.Kind != Text || e.Text == "" {
		return ""
	}
	text := e.Text
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
