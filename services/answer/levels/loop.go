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
var groupLabels = map[string]string{reply: "Answer", tool: "Tools", mcp: "MCP tools"}

// loop has the levels of one loop of model and tools:
//   - a group for each call of the model and for each phase of tools,
//   - in the group of a model call, a message for each stretch of text or reasoning,
//     each call that it writes and each payload,
//   - in the group of tools, the messages of each call that runs, see openCall; a thread for
//     each of several calls that run side by side; a group for a call of an MCP server
//     that runs beside calls of other tools.
type loop struct {
	all *Levels
	own uint32 // its thread; 0 is the main thread
	ref string // the id in starts that have none of their own

	group uint32 // the open group, 0 for none
	kind  string // its type

	message uint32 // the open message of text or reasoning, 0 for none
	what    string // its type

	written []writtenCall
	phase   string // the type of the group of the last reply's calls
	several bool   // the last reply asks for several calls
	calls   map[int]*openCall
}

// writtenCall is the message of a call that the model writes.
type writtenCall struct {
	index   int
	message uint32
}

// openCall has the messages of a call that runs or waits. Its status line contains, one
// after the other, what it waits for, the call itself and its result.
type openCall struct {
	index         int
	thread, group uint32
	line, message uint32 // 0 for none
	name, id      string
	threads       map[int]*thread // threads that the running call has opened
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
		lp.endMessage(lp.at(c.message), status)
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
		lp.message, lp.what = lp.startMessage(lp.at(0), runlog.LevelStart{Type: what}), what
	}
	return lp.at(lp.message)
}

func (lp *loop) endText(status string) {
	if lp.message != 0 {
		lp.endMessage(lp.at(lp.message), status)
		lp.message, lp.what = 0, ""
	}
}

// Think shows a piece of reasoning.
func (lp *loop) Think(text string) {
	lp.all.Emit(lp.open("thinking"), lp.all.thinking.New(runlog.Thinking{Text: text}))
}

// startMessage opens a message in a group.
func (lp *loop) startMessage(group runlog.Level, start runlog.LevelStart) uint32 {
	group.Message = lp.all.next(&lp.all.messages)
	start.Depth, start.Ref = runlog.MessageLevel, cmp.Or(start.Ref, start.ToolUseID, lp.ref)
	lp.all.Emit(group, &start)
	return group.Message
}

func (lp *loop) endMessage(at runlog.Level, status string) {
	lp.all.Emit(at, &runlog.LevelEnd{Depth: runlog.MessageLevel, Status: status})
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
		m = lp.startMessage(lp.at(0), runlog.LevelStart{Type: call, Tool: e.Name, ToolUseID: e.ID})
		lp.written = append(lp.written, writtenCall{index: e.Index, message: m})
		lp.all.Emit(lp.at(m), &runlog.Call{ID: e.ID, Name: e.Name, Index: e.Index, Client: lp.all.Lookup(e.Name).Client})
	}
	if e.Fragment != "" {
		lp.all.Emit(lp.at(m), lp.all.pieces.New(runlog.Arguments{Text: e.Fragment}))
	}
}

// Streamed shows that an argument of a call that the model writes goes into a block.
func (lp *loop) Streamed(index int, argument string) {
	lp.all.Emit(lp.at(lp.messageOf(index)), &runlog.Streamed{Argument: argument})
}

// Whole shows the calls of a reply whose arguments did not arrive in pieces.
func (lp *loop) Whole(e *turn.Reply) {
	lp.several, lp.phase = len(e.ToolCalls) > 1, mcp
	for i, c := range e.ToolCalls {
		if !ofServer(c.Name) {
			lp.phase = tool
		}
		if index := e.FirstIndex + i; lp.messageOf(index) == 0 {
			lp.Arguments(turn.ToolArguments{Index: index, ID: c.ID, Name: c.Name, Fragment: c.Arguments})
		}
	}
}

// ofServer says whether a tool is one of an MCP server.
func ofServer(name string) bool { return strings.Contains(name, "__") }

// payload shows a payload as a message of its own in a group.
func (lp *loop) payload(at runlog.Level, p *runlog.Payload) {
	if at == lp.at(0) {
		lp.endText(completed)
	}
	at.Message = lp.startMessage(at, runlog.LevelStart{Type: p.Type, Ref: p.PayloadID})
	lp.all.Emit(at, p)
	lp.endMessage(at, completed)
}

// Line returns the place of a call's status line. Each line takes the place of the
// one before it.
func (lp *loop) Line(index int, id, name string) runlog.Level {
	c := lp.callOf(index, id, name)
	if c.line == 0 {
		c.line = lp.startMessage(lp.groupOf(c), runlog.LevelStart{Type: line, Tool: name, ToolUseID: id})
	}
	at := lp.groupOf(c)
	at.Message = c.line
	return at
}

// OpenTool opens the message of a call that begins to run.
func (lp *loop) OpenTool(e turn.ToolStart) runlog.Level {
	c := lp.callOf(e.Index, e.ID, e.Name)
	c.message = lp.startMessage(lp.groupOf(c), runlog.LevelStart{Type: call, Tool: e.Name, ToolUseID: e.ID})
	return lp.levelOf(c)
}

// callOf returns a call, and opens its place if it has none. A call that has waited
// already has a place.
func (lp *loop) callOf(index int, id, name string) *openCall {
	if c := lp.calls[index]; c != nil {
		return c
	}
	if lp.group == 0 {
		lp.openGroup(cmp.Or(lp.phase, tool))
	}
	c := &openCall{index: index, thread: lp.own, group: lp.group, name: name, id: id}
	if lp.several {
		c.thread = lp.all.next(&lp.all.threads)
		lp.all.Emit(lp.groupOf(c), &runlog.LevelStart{Depth: runlog.ThreadLevel, Label: name, Ref: id})
	}
	if lp.several && lp.kind != mcp && ofServer(name) {
		c.group = lp.all.next(&lp.all.groups)
		lp.all.Emit(lp.groupOf(c), &runlog.LevelStart{Depth: runlog.GroupLevel, Type: mcp, Label: groupLabels[mcp], Ref: id})
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

// Runs reports whether a call has an open message.
func (lp *loop) Runs(index int) bool {
	c := lp.calls[index]
	return c != nil && c.message != 0
}

// groupOf returns the level of a call's group.
func (lp *loop) groupOf(c *openCall) runlog.Level {
	return runlog.Level{Thread: c.thread, Group: c.group}
}

// levelOf returns the level of a call's message.
func (lp *loop) levelOf(c *openCall) runlog.Level {
	return runlog.Level{Thread: c.thread, Group: c.group, Message: c.message}
}

// Result closes the message of a call, and the threads that it left open, with the
// call's status, and opens the message of its result.
func (lp *loop) Result(index int, status string) runlog.Level {
	c := lp.calls[index]
	if c == nil {
		return lp.at(0)
	}
	lp.endMessageOf(c, status)
	c.message = lp.startMessage(lp.groupOf(c), runlog.LevelStart{Type: "text", Tool: c.name, ToolUseID: c.id})
	return lp.levelOf(c)
}

// CloseTool closes a call that has its result, and shows its payload; p is nil for
// none.
func (lp *loop) CloseTool(index int, status string, p *schemas.CustomPayload) {
	c := lp.calls[index]
	if c == nil {
		return
	}
	lp.endMessageOf(c, completed)
	if p != nil {
		lp.payload(lp.groupOf(c), &runlog.Payload{CustomPayload: *p, ToolUseID: c.id, Index: index})
	}
	lp.endPlace(c, status)
}

// StatusOf is the status of a call that has ended by itself.
func StatusOf(failed bool) string {
	if failed {
		return "error"
	}
	return completed
}

// endCall ends a call that has no outcome.
func (lp *loop) endCall(c *openCall, status string) {
	lp.endMessageOf(c, status)
	lp.endPlace(c, status)
}

// endMessageOf ends a call's open message, after the threads that it left open.
func (lp *loop) endMessageOf(c *openCall, status string) {
	for _, n := range sorted(c.threads) {
		lp.closeThread(c, n, status)
	}
	if c.message != 0 { // otherwise it has waited but not begun
		lp.endMessage(lp.levelOf(c), status)
		c.message = 0
	}
}

// endPlace ends a call's status line, and the group and the thread that it has of its
// own.
func (lp *loop) endPlace(c *openCall, status string) {
	delete(lp.calls, c.index)
	at := lp.groupOf(c)
	if c.line != 0 {
		lp.endMessage(runlog.Level{Thread: at.Thread, Group: at.Group, Message: c.line}, status)
	}
	if c.group != lp.group {
		lp.all.Emit(at, &runlog.LevelEnd{Depth: runlog.GroupLevel, Type: mcp, Status: status})
	}
	if c.thread != lp.own {
		lp.all.Emit(runlog.Level{Thread: c.thread, Group: lp.group}, &runlog.LevelEnd{Depth: runlog.ThreadLevel, Status: status})
	}
}
