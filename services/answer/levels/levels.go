// Package levels gives the events of a run their places: it opens, numbers and
// closes the threads, groups and messages of its log. Every start has exactly one
// end, and the levels of a thread are properly nested.
package levels

import (
	"maps"
	"slices"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/schemas/turn"
)

// The types of groups.
const (
	reply    = "llm"      // a call of the model
	tool     = "tool"     // a phase of tools
	mcp      = "mcp"      // one of tools of MCP servers alone, and a call of such a tool
	document = "document" // a block that the model writes into a document
)

// call is the type of the message of a call: of one that the model writes, and of one
// that runs.
const call = "tool_call"

// line is the type of the message of a status line.
const line = "loading"

// completed is the status of a level that ended normally.
const completed = "completed"

// Options describes the attempt of the levels. All fields must be set.
type Options struct {
	// Emit appends an event to the log.
	Emit func(at runlog.Level, b runlog.Body)
	// Lookup returns the tool that a call names, the zero Tool for an unknown
	// name.
	Lookup func(name string) turn.Tool
	// Status is the status of a thread that ended with an error.
	Status func(err error) string
	// Attempt counts from 1. Each attempt has its own range of numbers for levels.
	Attempt int
	// Ref is the id in the start of a level that has none of its own: the id of
	// the answer's message.
	Ref string
}

// Levels are the open levels of one attempt. It holds the main loop, and beside
// it the threads that tools open. Only the run's goroutine uses it.
type Levels struct {
	Options
	loop // the main one

	offset                    uint32
	threads, groups, messages uint32 // how many there are

	thinking    runlog.Slab[runlog.Thinking]
	pieces      runlog.Slab[runlog.Arguments]
	threadTexts runlog.Slab[runlog.ThreadText]
}

// New returns the levels of an attempt; none is open.
func New(o Options) *Levels {
	l := &Levels{Options: o, offset: uint32(max(o.Attempt, 1)-1) * runlog.AttemptSpan} //nolint:gosec // attempts are few
	l.loop = loop{all: l, ref: o.Ref}
	return l
}

func (l *Levels) next(counter *uint32) uint32 {
	*counter++
	return l.offset + *counter
}

// BeginReply opens a group for a call of the model, and closes the one before.
func (l *Levels) BeginReply() { l.openGroup(reply) }

// EndReply closes the group of a call of the model, if that is open.
func (l *Levels) EndReply() {
	if l.kind == reply {
		l.Close(completed)
	}
}

// Text returns the place of the answer's text; it opens a message if none is
// open.
func (l *Levels) Text() runlog.Level { return l.open("text") }

// Wait returns the place of a line that says that the model waits.
func (l *Levels) Wait() runlog.Level { return l.open(line) }

// Waited closes that place.
func (l *Levels) Waited() {
	if l.what == line {
		l.endText(completed)
	}
}

// Payload shows a payload of the model's text, after that many calls, as a message of
// its own.
func (l *Levels) Payload(p schemas.CustomPayload, calls int) {
	l.payload(l.at(0), &runlog.Payload{CustomPayload: p, Index: calls})
}

// OpenWait opens the message of a call that waits, where its result will be.
func (l *Levels) OpenWait(e turn.ToolWaiting, kind string) runlog.Level {
	c := l.callOf(e.Index, e.ID, e.Name)
	c.message = l.startMessage(l.groupOf(c), runlog.LevelStart{Type: kind, Tool: e.Name, ToolUseID: e.ID})
	return l.levelOf(c)
}

// CloseWait closes the message of a call that waited; the message of the call
// itself follows.
func (l *Levels) CloseWait(index int) {
	if c := l.calls[index]; c != nil {
		l.endMessage(l.levelOf(c), completed)
		c.message = 0
	}
}

// OpenDocument opens a thread for a block that the model writes into a document and
// returns the place of the block's content; where no group is open, it is a group
// without a thread. Name is the tool's name, block the block's id, and kind its type.
func (l *Levels) OpenDocument(name, block, kind string) runlog.Level {
	at := runlog.Level{Group: l.next(&l.groups), Message: l.next(&l.messages)}
	if l.group != 0 {
		at.Thread = l.next(&l.threads)
		l.Emit(runlog.Level{Thread: at.Thread, Group: l.group}, &runlog.LevelStart{Depth: runlog.ThreadLevel, Label: name, Ref: block})
	}
	l.Emit(runlog.Level{Thread: at.Thread, Group: at.Group}, &runlog.LevelStart{Depth: runlog.GroupLevel, Type: document, Label: "Document", Ref: block})
	l.Emit(at, &runlog.LevelStart{Depth: runlog.MessageLevel, Type: kind, Ref: block})
	return at
}

// CloseDocument closes what OpenDocument opened.
func (l *Levels) CloseDocument(at runlog.Level, status string) {
	l.Emit(at, &runlog.LevelEnd{Depth: runlog.MessageLevel, Status: status})
	l.Emit(runlog.Level{Thread: at.Thread, Group: at.Group}, &runlog.LevelEnd{Depth: runlog.GroupLevel, Type: document, Status: status})
	if at.Thread != 0 {
		l.Emit(runlog.Level{Thread: at.Thread, Group: l.group}, &runlog.LevelEnd{Depth: runlog.ThreadLevel, Status: status})
	}
}

// CloseEarlier closes the levels that the stored log leaves open, the innermost
// first: a reader may have seen them.
func (l *Levels) CloseEarlier(log []runlog.Event) {
	type level struct {
		at    runlog.Level
		depth runlog.Depth
	}
	var open []level
	for i := range log {
		switch b := log[i].Body.(type) {
		case *runlog.LevelStart:
			open = append(open, level{log[i].At, b.Depth})
		case *runlog.LevelEnd:
			open = slices.DeleteFunc(open, func(o level) bool { return o == level{log[i].At, b.Depth} })
		default:
		}
	}
	for _, o := range slices.Backward(open) {
		l.Emit(o.at, &runlog.LevelEnd{Depth: o.depth, Status: "partial"})
	}
}

// Inner shows an event of a thread that a call has opened.
func (l *Levels) Inner(e turn.ThreadEvent) {
	c := l.calls[e.Index]
	if c == nil {
		return
	}
	switch event := e.Event.(type) {
	case turn.ThreadStart:
		l.openThread(c, e.Thread, event.Label)
		return
	case turn.ThreadEnd:
		l.closeThread(c, e.Thread, l.Status(event.Err))
		return
	}
	if t := c.threads[e.Thread]; t != nil {
		t.handle(e.Event)
	}
}

// sorted returns the keys of m in order.
func sorted[V any](m map[int]V) []int { return slices.Sorted(maps.Keys(m)) }
