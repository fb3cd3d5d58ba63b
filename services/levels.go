package services

import (
	"maps"
	"slices"
	"strings"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/schemas/turn"
)

// levels opens and closes the threads, blocks and messages that a run's events
// belong to (spec 004): a block for each call of the model and for each phase
// of tools, in it a message for each stretch of text or reasoning, for each
// call and for each payload; parallel calls have a thread each. Every start has
// exactly one end, properly nested within its thread.
type levels struct {
	rec    *recorder
	offset uint32 // numbers of an attempt follow those of the one before
	thread uint32 // counters
	blocks uint32
	msgs   uint32

	block uint32 // open block, 0 none
	kind  string
	text  uint32 // open message of text or reasoning, 0 none
	what  string // its type
	calls []openCall
	tools map[int]openCall
}

// openCall is the message of a call that is being written or run.
type openCall struct {
	index           int
	thread, message uint32
}

func (l *levels) next(counter *uint32) uint32 {
	*counter++
	return l.offset + *counter
}

// openBlock begins a block, ending the one before.
func (l *levels) openBlock(kind, label string) {
	l.closeBlock("completed")
	l.block, l.kind = l.next(&l.blocks), kind
	l.rec.emitData(runlog.BlockStart, 0, l.block, 0, runlog.Level{Type: kind, Label: label})
}

// closeBlock ends the open block with everything in it.
func (l *levels) closeBlock(status string) {
	if l.block == 0 {
		return
	}
	for _, index := range slices.Sorted(maps.Keys(l.tools)) {
		l.endTool(index, status)
	}
	l.endText(status)
	for i := len(l.calls) - 1; i >= 0; i-- {
		l.endMessage(0, l.calls[i].message, status)
	}
	l.calls = nil
	l.rec.emitData(runlog.BlockEnd, 0, l.block, 0, runlog.Level{Type: l.kind, Status: status})
	l.block, l.kind = 0, ""
}

// write opens a message of the type for text or reasoning, unless it is open.
func (l *levels) write(what string) {
	if l.text != 0 && l.what == what {
		return
	}
	if l.block == 0 {
		l.openBlock("llm", "")
	}
	l.endText("completed")
	l.text, l.what = l.startMessage(0, runlog.Level{Type: what}), what
}

func (l *levels) endText(status string) {
	if l.text != 0 {
		l.endMessage(0, l.text, status)
		l.text, l.what = 0, ""
	}
}

func (l *levels) startMessage(thread uint32, level runlog.Level) uint32 {
	m := l.next(&l.msgs)
	l.rec.emitData(runlog.MessageStart, thread, l.block, m, level)
	return m
}

func (l *levels) endMessage(thread, message uint32, status string) {
	l.rec.emitData(runlog.MessageEnd, thread, l.block, message, runlog.Level{Status: status})
}

// callMessage returns the message of a call that the model is writing.
func (l *levels) callMessage(index int, id, name string) uint32 {
	for _, c := range l.calls {
		if c.index == index {
			return c.message
		}
	}
	if l.block == 0 {
		l.openBlock("llm", "")
	}
	l.endText("completed")
	m := l.startMessage(0, runlog.Level{Type: "tool_call", Tool: name, ToolUseID: id})
	l.calls = append(l.calls, openCall{index: index, message: m})
	l.rec.emitData(runlog.ToolArguments, 0, l.block, m, runlog.Call{ID: id, Name: name})
	return m
}

// wholeCall shows a call whose arguments did not come in pieces.
func (l *levels) wholeCall(index int, c turn.ToolCall) {
	for _, open := range l.calls {
		if open.index == index {
			return
		}
	}
	m := l.callMessage(index, c.ID, c.Name)
	l.rec.emit(runlog.Event{Kind: runlog.ToolArguments, Block: l.block, Message: m, Text: c.Arguments})
}

// payload shows a payload of the model's text as a message of its own.
func (l *levels) payload(thread uint32, p schemas.CustomPayload) {
	if thread == 0 {
		l.endText("completed")
	}
	m := l.startMessage(thread, runlog.Level{Type: p.Type, Ref: p.PayloadID})
	if !l.rec.silent {
		l.rec.emit(runlog.Event{Kind: runlog.Payload, Thread: thread, Block: l.block, Message: m, Data: p.AppendJSON(nil)})
	}
	l.endMessage(thread, m, "completed")
}

// openTool begins the message of a running call, in a thread of its own where
// calls run side by side.
func (l *levels) openTool(e turn.ToolStart, parallel bool) (thread, block, message uint32) {
	if l.block == 0 {
		kind := "tool"
		if strings.Contains(e.Name, "__") {
			kind = "mcp"
		}
		l.openBlock(kind, "")
	}
	if parallel {
		thread = l.next(&l.thread)
		l.rec.emitData(runlog.ThreadStart, thread, l.block, 0, runlog.Level{Label: e.Name})
	}
	message = l.startMessage(thread, runlog.Level{Type: "tool_result", Tool: e.Name, ToolUseID: e.ID})
	if l.tools == nil {
		l.tools = make(map[int]openCall)
	}
	l.tools[e.Index] = openCall{index: e.Index, thread: thread, message: message}
	return thread, l.block, message
}

// tool returns the levels of a running call.
func (l *levels) tool(index int) (thread, block, message uint32) {
	c := l.tools[index]
	return c.thread, l.block, c.message
}

// closeTool ends a call's message and thread, its payload between them.
func (l *levels) closeTool(index int, failed bool, p *schemas.CustomPayload) {
	c, open := l.tools[index]
	if !open {
		return
	}
	status := "completed"
	if failed {
		status = "error"
	}
	l.endMessage(c.thread, c.message, status)
	if p != nil {
		l.payload(c.thread, *p)
	}
	l.endThread(index, c.thread, status)
}

// endTool ends a call that has no outcome.
func (l *levels) endTool(index int, status string) {
	c := l.tools[index]
	l.endMessage(c.thread, c.message, status)
	l.endThread(index, c.thread, status)
}

func (l *levels) endThread(index int, thread uint32, status string) {
	delete(l.tools, index)
	if thread != 0 {
		l.rec.emitData(runlog.ThreadEnd, thread, l.block, 0, runlog.Level{Status: status})
	}
}

// closePrior ends the levels that an earlier attempt left open.
func (l *levels) closePrior(open []runlog.Event) {
	for _, e := range slices.Backward(open) {
		l.rec.emitData(levelEnds[e.Kind], e.Thread, e.Block, e.Message, runlog.Level{Status: "partial"})
	}
}
