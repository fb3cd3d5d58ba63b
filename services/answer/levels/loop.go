package levels

import (
	"cmp"
	"slices"
	"strings"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/schemas/turn"
)

// groupLabels are the labels that users see of the built-in loop's groups.
var groupLabels = map[string]string{reply: "Answer", "tool": "Tools", "mcp": "MCP tools"}

// loop has the levels of one loop of model and tools:
//   - a group for each call of the model and for each phase of tools,
//   - in it a message for each stretch of text or reasoning, each call and each payload,
//   - a thread for each of several calls that run side by side.
type loop struct {
	all *Levels
	own uint32 // its thread; 0 is the main thread
	ref string // the id in starts that have none of their own

	group uint32 // the open group, 0 for none
	kind  string // its type

	message uint32 // the open message of text or reasoning, 0 for none
	what    string // its type

	written []writtenCall
	calls   map[int]*openCall
}

// writtenCall is the message of a call that the model writes.
type writtenCall struct {
	index   int
	message uint32
}

// openCall is the message of a call that runs or waits.
type openCall struct {
	index           int
	thread, message uint32
	name, id        string
	threads         map[int]*thread // threads that the running call has opened
}

// at is the level of a message in the open group; 0 is the group itself.
func (lp *loop) at(message uint32) runlog.Level {
	return runlog.Level{Thread: lp.own, Group: lp.group, Message: message}
}

// openGroup begins a group, ending the one before.
func (lp *loop) openGroup(kind string) {
	lp.Close(completed)
	lp.group, lp.kind = lp.all.next(&lp.all.groups), kind
	lp.all.Emit(lp.at(0), &runlog.LevelStart{Depth: runlog.GroupLevel, Type: kind, Label: groupLabels[kind], Ref: lp.ref})
}

// Close closes the open group with everything in it.
func (lp *loop) Close(status string) {
	if lp.group == 0 {
		return
	}
	for _, index := range sorted(lp.calls) {
		lp.endCall(lp.calls[index], status)
	}
	lp.endText(status)
	for _, c := range slices.Backward(lp.written) {
		lp.endMessage(lp.own, c.message, status)
	}
	lp.written = nil
	lp.all.Emit(lp.at(0), &runlog.LevelEnd{Depth: runlog.GroupLevel, Type: lp.kind, Status: status})
	lp.group, lp.kind = 0, ""
}

// open returns the level of the open message of text or reasoning; an open one
// of another type is closed first.
func (lp *loop) open(what string) runlog.Level {
	if lp.message == 0 || lp.what != what {
		if lp.group == 0 {
			lp.openGroup(reply)
		}
		lp.endText(completed)
		lp.message, lp.what = lp.startMessage(lp.own, runlog.LevelStart{Type: what}), what
	}
	return lp.at(lp.message)
}

func (lp *loop) endText(status string) {
	if lp.message != 0 {
		lp.endMessage(lp.own, lp.message, status)
		lp.message, lp.what = 0, ""
	}
}

// Think shows a piece of reasoning.
func (lp *loop) Think(text string) {
	lp.all.Emit(lp.open("thinking"), lp.all.thinking.New(runlog.Thinking{Text: text}))
}

func (lp *loop) startMessage(thread uint32, start runlog.LevelStart) uint32 {
	m := lp.all.next(&lp.all.messages)
	start.Depth, start.Ref = runlog.MessageLevel, cmp.Or(start.Ref, start.ToolUseID, lp.ref)
	lp.all.Emit(runlog.Level{Thread: thread, Group: lp.group, Message: m}, &start)
	return m
}

func (lp *loop) endMessage(thread, message uint32, status string) {
	lp.all.Emit(runlog.Level{Thread: thread, Group: lp.group, Message: message}, &runlog.LevelEnd{Depth: runlog.MessageLevel, Status: status})
}

// messageOf returns the message of a call that the model writes, 0 for none.
func (lp *loop) messageOf(index int) uint32 {
	for _, c := range lp.written {
		if c.index == index {
			return c.message
		}
	}
	return 0
}

// Arguments shows a piece of the arguments of a call that the model writes.
func (lp *loop) Arguments(e turn.ToolArguments) {
	m := lp.messageOf(e.Index)
	if m == 0 {
		if lp.group == 0 {
			lp.openGroup(reply)
		}
		lp.endText(completed)
		m = lp.startMessage(lp.own, runlog.LevelStart{Type: "tool_call", Tool: e.Name, ToolUseID: e.ID})
		lp.written = append(lp.written, writtenCall{index: e.Index, message: m})
		lp.all.Emit(lp.at(m), &runlog.Call{ID: e.ID, Name: e.Name, Index: e.Index})
	}
	if e.Fragment != "" {
		lp.all.Emit(lp.at(m), lp.all.pieces.New(runlog.Arguments{Text: e.Fragment}))
	}
}

// Whole shows the calls of a reply whose arguments did not arrive in pieces.
func (lp *loop) Whole(e *turn.Reply) {
	for i, c := range e.ToolCalls {
		if index := e.FirstIndex + i; lp.messageOf(index) == 0 {
			lp.Arguments(turn.ToolArguments{Index: index, ID: c.ID, Name: c.Name, Fragment: c.Arguments})
		}
	}
}

// payload shows a payload as a message of its own.
func (lp *loop) payload(thread uint32, p schemas.CustomPayload) {
	if thread == lp.own {
		lp.endText(completed)
	}
	m := lp.startMessage(thread, runlog.LevelStart{Type: p.Type, Ref: p.PayloadID})
	lp.all.Emit(runlog.Level{Thread: thread, Group: lp.group, Message: m}, &runlog.Payload{CustomPayload: p})
	lp.endMessage(thread, m, completed)
}

// OpenTool opens the message of a call that begins to run, in a thread of its own
// if calls run side by side.
func (lp *loop) OpenTool(e turn.ToolStart, parallel bool) runlog.Level {
	c := lp.calls[e.Index] // a call that has waited already has a place
	if c == nil {
		c = lp.openCall(e.Index, e.ID, e.Name, parallel)
	}
	c.message = lp.startMessage(c.thread, runlog.LevelStart{Type: "tool_result", Tool: e.Name, ToolUseID: e.ID})
	return lp.levelOf(c)
}

// openCall opens the place of a call, in a thread of its own if other calls run
// at the same time.
func (lp *loop) openCall(index int, id, name string, parallel bool) *openCall {
	if lp.group == 0 {
		kind := "tool"
		if strings.Contains(name, "__") {
			kind = "mcp"
		}
		lp.openGroup(kind)
	}
	c := &openCall{index: index, thread: lp.own, name: name, id: id}
	if parallel {
		c.thread = lp.all.next(&lp.all.threads)
		lp.all.Emit(runlog.Level{Thread: c.thread, Group: lp.group}, &runlog.LevelStart{Depth: runlog.ThreadLevel, Label: name, Ref: id})
	}
	if lp.calls == nil {
		lp.calls = make(map[int]*openCall)
	}
	lp.calls[index] = c
	return c
}

// Tool returns the level of a call that runs or waits.
func (lp *loop) Tool(index int) runlog.Level {
	if c := lp.calls[index]; c != nil {
		return lp.levelOf(c)
	}
	return lp.at(0)
}

// levelOf returns the level of a call's message.
func (lp *loop) levelOf(c *openCall) runlog.Level {
	return runlog.Level{Thread: c.thread, Group: lp.group, Message: c.message}
}

// CloseTool closes a call with its threads, and shows its payload after its
// message; p is nil for none.
func (lp *loop) CloseTool(index int, failed bool, p *schemas.CustomPayload) {
	c := lp.calls[index]
	if c == nil {
		return
	}
	status := completed
	if failed {
		status = "error"
	}
	lp.endMessageOf(c, status)
	if p != nil {
		lp.payload(c.thread, *p)
	}
	lp.endThread(c, status)
}

// endCall ends a call that has no outcome.
func (lp *loop) endCall(c *openCall, status string) {
	lp.endMessageOf(c, status)
	lp.endThread(c, status)
}

// endMessageOf ends a call's message, after the threads that it left open.
func (lp *loop) endMessageOf(c *openCall, status string) {
	for _, n := range sorted(c.threads) {
		lp.closeThread(c, n, status)
	}
	if c.message != 0 { // otherwise it has waited but not begun
		lp.endMessage(c.thread, c.message, status)
	}
}

// endThread ends the thread that a call has of its own, if any.
func (lp *loop) endThread(c *openCall, status string) {
	delete(lp.calls, c.index)
	if c.thread != lp.own {
		lp.all.Emit(runlog.Level{Thread: c.thread, Group: lp.group}, &runlog.LevelEnd{Depth: runlog.ThreadLevel, Status: status})
	}
}
