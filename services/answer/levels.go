package answer

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/schemas/turn"
)

// levels opens and closes the threads, blocks and messages that a run's events
// belong to. It numbers them and holds the main stream; threads that tools open
// are streams beside it. Every start has exactly one end, properly nested
// within its thread.
type levels struct {
	wr     *Writer
	offset uint32 // numbers of an attempt follow those of the one before
	thread uint32 // counters
	blocks uint32
	msgs   uint32
	stream // the main one

	thinking    runlog.Slab[runlog.Thinking]
	pieces      runlog.Slab[runlog.Arguments]
	threadTexts runlog.Slab[runlog.ThreadText]
}

func (l *levels) next(counter *uint32) uint32 {
	*counter++
	return l.offset + *counter
}

// stream is what one loop shows: a block for each call of the model and for each
// phase of tools, in it a message for each stretch of text or reasoning, for
// each call and for each payload; parallel calls have a thread each.
type stream struct {
	all *levels
	own uint32 // its thread, 0 is the main stream
	by  string // the call that opened the thread

	block uint32 // open block, 0 none
	kind  string
	text  uint32 // open message of text or reasoning, 0 none
	what  string // its type
	calls []*openCall
	tools map[int]*openCall
}

// openCall is the message of a call that is being written or run.
type openCall struct {
	index           int
	thread, message uint32
	name, id        string
	threads         map[int]*thread // that the running call has opened
}

// ref is the global id behind what has none of its own: the answer's message,
// which is a block of the chat, or the call that a thread belongs to.
func (s *stream) ref() string { return cmp.Or(s.by, s.all.wr.run.MessageID) }

// blockLabels name the blocks of the built-in loop for people.
var blockLabels = map[string]string{"llm": "Answer", "tool": "Tools", "mcp": "MCP tools"}

// at is the level of a message in the open block; 0 is the block itself.
func (s *stream) at(message uint32) runlog.Level {
	return runlog.Level{Thread: s.own, Group: s.block, Message: message}
}

// openBlock begins a block, ending the one before.
func (s *stream) openBlock(kind string) {
	s.closeBlock("completed")
	s.block, s.kind = s.all.next(&s.all.blocks), kind
	s.all.wr.emit(s.at(0), &runlog.LevelStart{Depth: runlog.GroupLevel, Type: kind, Label: blockLabels[kind], Ref: s.ref()})
}

// closeBlock ends the open block with everything in it.
func (s *stream) closeBlock(status string) {
	if s.block == 0 {
		return
	}
	for _, index := range slices.Sorted(maps.Keys(s.tools)) {
		s.endTool(s.tools[index], status)
	}
	s.endText(status)
	for _, c := range slices.Backward(s.calls) {
		s.endMessage(s.own, c.message, status)
	}
	s.calls = nil
	s.all.wr.emit(s.at(0), &runlog.LevelEnd{Depth: runlog.GroupLevel, Type: s.kind, Status: status})
	s.block, s.kind = 0, ""
}

// write opens a message of the type for text or reasoning, unless it is open.
func (s *stream) write(what string) {
	if s.text != 0 && s.what == what {
		return
	}
	if s.block == 0 {
		s.openBlock("llm")
	}
	s.endText("completed")
	s.text, s.what = s.startMessage(s.own, runlog.LevelStart{Type: what}), what
}

func (s *stream) endText(status string) {
	if s.text != 0 {
		s.endMessage(s.own, s.text, status)
		s.text, s.what = 0, ""
	}
}

func (s *stream) startMessage(thread uint32, start runlog.LevelStart) uint32 {
	m := s.all.next(&s.all.msgs)
	start.Depth, start.Ref = runlog.MessageLevel, cmp.Or(start.Ref, start.ToolUseID, s.ref())
	s.all.wr.emit(runlog.Level{Thread: thread, Group: s.block, Message: m}, &start)
	return m
}

func (s *stream) endMessage(thread, message uint32, status string) {
	s.all.wr.emit(runlog.Level{Thread: thread, Group: s.block, Message: message}, &runlog.LevelEnd{Depth: runlog.MessageLevel, Status: status})
}

// written returns the message of a call that the model is writing, 0 for none.
func (s *stream) written(index int) uint32 {
	for _, c := range s.calls {
		if c.index == index {
			return c.message
		}
	}
	return 0
}

// arguments shows a piece of the arguments of a call that the model is writing.
func (s *stream) arguments(index int, id, name, fragment string) {
	m := s.written(index)
	if m == 0 {
		if s.block == 0 {
			s.openBlock("llm")
		}
		s.endText("completed")
		m = s.startMessage(s.own, runlog.LevelStart{Type: "tool_call", Tool: name, ToolUseID: id})
		s.calls = append(s.calls, &openCall{index: index, message: m})
		s.all.wr.emit(s.at(m), &runlog.Call{ID: id, Name: name})
	}
	if fragment != "" {
		s.all.wr.emit(s.at(m), s.all.pieces.New(runlog.Arguments{Text: fragment}))
	}
}

// wholeCall shows a call whose arguments did not come in pieces.
func (s *stream) wholeCall(index int, c turn.ToolCall) {
	if s.written(index) == 0 {
		s.arguments(index, c.ID, c.Name, c.Arguments)
	}
}

// payload shows a payload of the model's text as a message of its own.
func (s *stream) payload(thread uint32, p schemas.CustomPayload) {
	if thread == s.own {
		s.endText("completed")
	}
	m := s.startMessage(thread, runlog.LevelStart{Type: p.Type, Ref: p.PayloadID})
	s.all.wr.emit(runlog.Level{Thread: thread, Group: s.block, Message: m}, &runlog.Payload{CustomPayload: p})
	s.endMessage(thread, m, "completed")
}

// openTool begins the message of a running call, in a thread of its own where
// calls run side by side.
func (s *stream) openTool(e turn.ToolStart, parallel bool) runlog.Level {
	c := s.tools[e.Index] // one that has waited is there already
	if c == nil {
		c = s.openCall(e.Index, e.ID, e.Name, parallel)
	}
	c.message = s.startMessage(c.thread, runlog.LevelStart{Type: "tool_result", Tool: e.Name, ToolUseID: e.ID})
	return s.levelOf(c)
}

// openCall opens the place of a call.
func (s *stream) openCall(index int, id, name string, parallel bool) *openCall {
	if s.block == 0 {
		kind := "tool"
		if strings.Contains(name, "__") {
			kind = "mcp"
		}
		s.openBlock(kind)
	}
	c := &openCall{index: index, thread: s.own, name: name, id: id}
	if parallel {
		c.thread = s.all.next(&s.all.thread)
		s.all.wr.emit(runlog.Level{Thread: c.thread, Group: s.block}, &runlog.LevelStart{Depth: runlog.ThreadLevel, Label: name, Ref: id})
	}
	if s.tools == nil {
		s.tools = make(map[int]*openCall)
	}
	s.tools[index] = c
	return c
}

// openWait begins the message of a call that waits, in the call's place.
func (s *stream) openWait(e turn.ToolWaiting, kind string, parallel bool) runlog.Level {
	c := s.openCall(e.Index, e.ID, e.Name, parallel)
	c.message = s.startMessage(c.thread, runlog.LevelStart{Type: kind, Tool: e.Name, ToolUseID: e.ID})
	return s.levelOf(c)
}

// closeWait ends the message of a call that waited; the call's own follows.
func (s *stream) closeWait(index int, status string) {
	if c := s.tools[index]; c != nil {
		s.endMessage(c.thread, c.message, status)
		c.message = 0
	}
}

// tool returns the levels of a running call.
func (s *stream) tool(index int) runlog.Level {
	if c := s.tools[index]; c != nil {
		return s.levelOf(c)
	}
	return s.at(0)
}

// levelOf is the level of a call's message.
func (s *stream) levelOf(c *openCall) runlog.Level {
	return runlog.Level{Thread: c.thread, Group: s.block, Message: c.message}
}

// closeTool ends a call's threads, its message and its own thread, its payload
// between them.
func (s *stream) closeTool(index int, failed bool, p *schemas.CustomPayload) {
	c := s.tools[index]
	if c == nil {
		return
	}
	status := "completed"
	if failed {
		status = "error"
	}
	s.endMessageOf(c, status)
	if p != nil {
		s.payload(c.thread, *p)
	}
	s.endThread(c, status)
}

// endTool ends a call that has no outcome.
func (s *stream) endTool(c *openCall, status string) {
	s.endMessageOf(c, status)
	s.endThread(c, status)
}

// endMessageOf ends a call's message behind the threads that it left open.
func (s *stream) endMessageOf(c *openCall, status string) {
	for _, n := range slices.Sorted(maps.Keys(c.threads)) {
		s.closeThread(c, n, status)
	}
	if c.message != 0 { // else it has waited and not begun
		s.endMessage(c.thread, c.message, status)
	}
}

func (s *stream) endThread(c *openCall, status string) {
	delete(s.tools, c.index)
	if c.thread != s.own {
		s.all.wr.emit(runlog.Level{Thread: c.thread, Group: s.block}, &runlog.LevelEnd{Depth: runlog.ThreadLevel, Status: status})
	}
}

// closePrior ends the levels that an earlier attempt left open.
func (l *levels) closePrior(open []openLevel) {
	for _, o := range slices.Backward(open) {
		l.wr.emit(o.at, &runlog.LevelEnd{Depth: o.depth, Status: "partial"})
	}
}
