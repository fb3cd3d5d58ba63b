package agui

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"github.com/chattray/chattray/api/wires"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/runlog"
)

// client is what a response needs to know of its request.
type client struct {
	thread, run, parent string
	// v1 is false for clients of versions before 1.0, which get nothing that came with it.
	v1 bool
	// history is sent after the start: the chat's messages, for a client that connects.
	history json.RawMessage
	// stored are the chat's messages without the answer of the run. They are sent again if
	// the client has seen what a later attempt replaced.
	stored []message
	// given is what the answers of the request did.
	given wires.Given
	// brought are the calls whose results the client has: they came as tool messages.
	brought map[int]bool
}

// table makes the events of the Agent-User Interaction Protocol.
type table struct {
	wires.Params
	client

	started  bool
	answer   string
	text     []byte // the beginning of the events of the open text message; nil if none is open
	textID   string
	thought  string  // the id of the open reasoning; "" if none is open
	streams  []*call // calls whose arguments are open, in order
	step     int     // the number of the open step; 0 if none is open
	steps    int
	calls    map[int]*call    // by index
	open     map[int]*call    // calls that are shown and have no result, by index
	written  map[uint32]*call // calls by the message in which the model writes them
	replaced int64            // the number of the Attempt that replaced what the client has seen
	seen     []runlog.Event
	kept     *transcript // the answer so far; nil unless it is needed
	// ended are the calls that ended before the response begins, otherwise than the client
	// shows them.
	ended []*runlog.ToolComplete
}

// call is the state of a call.
type call struct {
	id, name string
	message  string          // what the user is asked
	input    json.RawMessage // that the user is asked to approve
}

// newTable returns the table for a client.
func newTable(c client) func(p wires.Params) wires.Table {
	return func(p wires.Params) wires.Table { return build(p, c) }
}

func build(p wires.Params, c client) *table {
	return &table{Params: p, client: c, calls: make(map[int]*call), open: make(map[int]*call), written: make(map[uint32]*call)}
}

// object is the members of a JSON object.
type object map[string]any

func custom(out *wires.Frames, name string, value any) {
	out.Typed("CUSTOM", object{"name": name, "value": value})
}

// Event implements wires.Table.
func (t *table) Event(out *wires.Frames, e *runlog.Event) {
	switch b := e.Body.(type) {
	case *runlog.Started:
		t.answer = b.Target.MessageID
		t.start(out)
	case *runlog.Attempt:
		t.attempt(out, e.Seq, b)
	case *runlog.Status:
		custom(out, "chattray.status", object{"message": b.Message})
	case *runlog.LevelStart:
		if b.Depth == runlog.GroupLevel && b.Type == "llm" && e.At.Thread == 0 {
			t.startStep(out)
		}
	case *runlog.LevelEnd:
		t.levelEnd(out, e.At, b)
	case *runlog.Text:
		if e.At.Thread == 0 {
			t.words(out, e.At.Group, b.Text)
		}
	case *runlog.Thinking:
		if e.At.Thread == 0 {
			t.thinking(out, e.At.Message, b.Text)
		}
	case *runlog.Call:
		if e.At.Thread == 0 {
			t.write(out, e.At, b)
		}
	case *runlog.Arguments:
		if c := t.written[e.At.Message]; c != nil && e.At.Thread == 0 {
			out.Typed("TOOL_CALL_ARGS", object{"toolCallId": c.id, "delta": b.Text})
			t.kept.arguments(c.id, b.Text)
		}
	case *runlog.ApprovalRequest:
		c := t.call(b.Index, b.Tool)
		c.message, c.input = b.Message, b.Input
	case *runlog.ClientToolCall:
		t.ask(out, b)
	case *runlog.ToolStart:
		t.begin(out, b)
	case *runlog.ToolProgress:
		t.progress(out, b)
	case *runlog.ToolComplete:
		t.complete(out, b)
	case *runlog.Payload:
		activity(out, "payload-"+b.PayloadID, "chattray.payload", b.CustomPayload)
		t.kept.payload(&b.CustomPayload)
	case *runlog.BlockReset:
		if !b.New {
			t.block(out, b.Place, "reset", true, b.End)
		}
	case *runlog.BlockHeader:
		t.block(out, b.Place, "meta", json.RawMessage(b.Header), false)
	case *runlog.BlockContent:
		t.block(out, b.Place, "content", b.Text, false)
	case *runlog.BlockDone:
		t.block(out, b.Place, "done", true, false)
	case *runlog.Completed:
		t.completed(out, &b.Payload)
	case *runlog.Failed:
		t.giveUp(out)
		out.Typed("RUN_ERROR", object{"message": b.Message, "code": b.Code})
	case *runlog.Cancelled:
		t.cancelled(out)
	case *runlog.Marker, *runlog.KeptText, *runlog.ApprovalResolved, *runlog.ToolRefused, *runlog.ThreadText, *runlog.ThreadStatus, *runlog.Streamed, *runlog.Unknown,
		*runlog.ThreadToolStart, *runlog.ThreadToolProgress, *runlog.ThreadToolComplete: // only the main stream is shown, text without markers
	}
}

// Begin implements wires.Table.
func (t *table) Begin(out *wires.Frames, after int64) {
	out.Restart((after+1)*wires.EventSpan - 1 - int64(len(t.ended))) // after every frame of the event before, and before those of the next
	t.start(out)
	for _, b := range t.ended {
		t.result(out, b)
	}
	t.step, t.steps, t.ended = 0, 0, nil
}

// Pause implements wires.Table. If the user is asked, everything that waits is an
// interrupt.
func (t *table) Pause(out *wires.Frames, waiting []schemas.Wait) {
	t.endAll(out)
	end := object{"threadId": t.thread, "runId": t.run}
	ids := make([]string, len(waiting))
	for i, w := range waiting {
		ids[i] = wires.CallID(t.Run, w.Index)
	}
	switch {
	case slices.ContainsFunc(waiting, func(w schemas.Wait) bool { return w.Kind == schemas.WaitApproval }):
		end["outcome"] = object{"type": "interrupt", "interrupts": t.interrupts(waiting)}
	case t.v1:
		end["outcome"] = object{"type": "success", "pendingToolCallIds": ids}
	}
	out.Typed("RUN_FINISHED", end)
}

// Replaced implements wires.Replacer.
func (t *table) Replaced(by int64, seen []runlog.Event) {
	t.replaced, t.seen, t.kept = by, seen, &transcript{}
}

func (t *table) start(out *wires.Frames) {
	t.started = true
	started := object{"threadId": t.thread, "runId": t.run}
	if t.parent != "" {
		started["parentRunId"] = t.parent
	}
	if t.v1 {
		started["protocolVersion"] = "1.0"
	}
	out.Typed("RUN_STARTED", started)
	if t.history != nil {
		out.Typed("MESSAGES_SNAPSHOT", object{"messages": t.history})
	}
}

// attempt says what is left if the client has seen what the attempt replaced: the chat's
// messages and the part of the answer that is kept.
func (t *table) attempt(out *wires.Frames, seq int64, b *runlog.Attempt) {
	if !t.started {
		t.answer = b.Target.MessageID
		t.start(out)
	}
	if t.replaced != seq {
		return
	}
	kept, seen, open := t.kept.messages(), t.seen, maps.Clone(t.open)
	t.kept, t.seen = nil, nil
	var unseen wires.Frames
	unseen.Mute()
	for i := range seen {
		t.Event(&unseen, &seen[i])
	}
	t.endAll(out)
	t.open = open
	out.Typed("MESSAGES_SNAPSHOT", object{"messages": append(slices.Clone(t.stored), kept...)})
}

func (t *table) startStep(out *wires.Frames) {
	t.endStep(out)
	t.steps++
	t.step = t.steps
	out.Typed("STEP_STARTED", object{"stepName": "step-" + strconv.Itoa(t.step)})
}

func (t *table) endStep(out *wires.Frames) {
	if t.step > 0 {
		out.Typed("STEP_FINISHED", object{"stepName": "step-" + strconv.Itoa(t.step)})
		t.step = 0
	}
}

func (t *table) levelEnd(out *wires.Frames, at runlog.Level, b *runlog.LevelEnd) {
	switch {
	case at.Thread != 0:
	case b.Depth == runlog.MessageLevel && t.thought == t.thoughtID(at.Message):
		t.endThought(out)
	case b.Depth == runlog.GroupLevel:
		t.endText(out)
		t.endCalls(out)
	}
}

func (t *table) messageID(block uint32) string {
	return t.answer + "-" + strconv.FormatUint(uint64(block), 10)
}

func (t *table) thoughtID(message uint32) string {
	return t.answer + "-r" + strconv.FormatUint(uint64(message), 10)
}

// words adds text. It runs for every token, so it builds the event without an object.
func (t *table) words(out *wires.Frames, block uint32, text string) {
	if text == "" { // clients refuse it
		return
	}
	if t.text == nil {
		t.textID = t.messageID(block)
		t.text = head("TEXT_MESSAGE_CONTENT", t.textID)
		out.Typed("TEXT_MESSAGE_START", object{"messageId": t.textID, "role": "assistant"})
	}
	if dst, ok := out.Open(); ok {
		out.Close(append(wires.Field(append(dst, t.text...), "delta", text), '}'))
	}
	t.kept.text(t.textID, text)
}

func head(kind, id string) []byte {
	return wires.Field([]byte(`{"type":"`+kind+`"`), "messageId", id)
}

func (t *table) thinking(out *wires.Frames, message uint32, text string) {
	if id := t.thoughtID(message); t.thought != id {
		t.endThought(out)
		t.thought = id
		out.Typed("REASONING_START", object{"messageId": id})
		out.Typed("REASONING_MESSAGE_START", object{"messageId": id, "role": "reasoning"})
	}
	if dst, ok := out.Open(); ok {
		out.Close(append(wires.Field(append(dst, head("REASONING_MESSAGE_CONTENT", t.thought)...), "delta", text), '}'))
	}
}

func (t *table) endThought(out *wires.Frames) {
	if t.thought != "" {
		out.Typed("REASONING_MESSAGE_END", object{"messageId": t.thought})
		out.Typed("REASONING_END", object{"messageId": t.thought})
		t.thought = ""
	}
}

func (t *table) endText(out *wires.Frames) {
	if t.text != nil {
		out.Typed("TEXT_MESSAGE_END", object{"messageId": t.textID})
		t.text = nil
	}
}

func (t *table) endCalls(out *wires.Frames) {
	for _, c := range t.streams {
		out.Typed("TOOL_CALL_END", object{"toolCallId": c.id})
	}
	t.streams = nil
}

// endAll ends everything that is open.
func (t *table) endAll(out *wires.Frames) {
	t.endThought(out)
	t.endText(out)
	t.endCalls(out)
	t.endStep(out)
}

// call returns the state of a call.
func (t *table) call(index int, name string) *call {
	c := t.calls[index]
	if c == nil {
		c = &call{id: wires.CallID(t.Run, index), name: name}
		t.calls[index] = c
	}
	return c
}

// write shows that the model begins to write a call.
func (t *table) write(out *wires.Frames, at runlog.Level, b *runlog.Call) {
	c := &call{id: wires.CallID(t.Run, b.Index), name: b.Name}
	t.calls[b.Index], t.open[b.Index], t.written[at.Message] = c, c, c
	if !slices.ContainsFunc(t.streams, func(open *call) bool { return open.id == c.id }) {
		t.streams = append(t.streams, c)
		out.Typed("TOOL_CALL_START", object{"toolCallId": c.id, "toolCallName": c.name, "parentMessageId": t.messageID(at.Group)})
	}
	t.kept.call(t.messageID(at.Group), c.id, c.name)
}

// end ends the arguments of a call, if they are open.
func (t *table) end(out *wires.Frames, c *call) {
	if at := slices.IndexFunc(t.streams, func(open *call) bool { return open.id == c.id }); at >= 0 {
		out.Typed("TOOL_CALL_END", object{"toolCallId": c.id})
		t.streams = slices.Delete(t.streams, at, at+1)
	}
}

// ask asks the page to run a tool, unless that is done: clients run it when they read this.
func (t *table) ask(out *wires.Frames, b *runlog.ClientToolCall) {
	c := t.call(b.Index, b.Tool)
	t.end(out, c)
	if !t.Answered[b.Index] && !t.given.Names(b.Index) {
		custom(out, "tool-input-available", object{"toolCallId": c.id, "toolName": c.name, "input": b.Input})
	}
}

// begin shows the input of a call if the user has changed it.
func (t *table) begin(out *wires.Frames, b *runlog.ToolStart) {
	c := t.call(b.Index, b.Tool)
	t.end(out, c)
	if c.input != nil && !bytes.Equal(c.input, b.Input) {
		custom(out, "chattray.tool_input", object{"toolCallId": c.id, "input": b.Input})
	}
}

func activity(out *wires.Frames, id, kind string, content any) {
	out.Typed("ACTIVITY_SNAPSHOT", object{"messageId": id, "activityType": kind, "content": content})
}

func (t *table) progress(out *wires.Frames, b *runlog.ToolProgress) {
	c := t.call(b.Index, b.Tool)
	content := object{"toolCallId": c.id, "tool": b.Tool, "stage": b.Stage, "message": b.Message, "progress": b.Progress}
	if !wires.Null(b.Data) {
		content["data"] = b.Data
	}
	activity(out, c.id+"-progress", "chattray.progress", content)
}

func (t *table) complete(out *wires.Frames, b *runlog.ToolComplete) {
	c := t.call(b.Index, b.Tool)
	t.end(out, c)
	delete(t.open, b.Index)
	t.kept.result(c.id, b.Output, b.IsError)
	switch {
	case t.Answered[b.Index] && out.Hidden():
		t.ended = append(t.ended, b)
	case t.brought[b.Index] && !t.Answered[b.Index]:
		return
	}
	t.result(out, b)
}

// result shows the outcome of a call.
func (t *table) result(out *wires.Frames, b *runlog.ToolComplete) {
	t.outcome(out, t.call(b.Index, b.Tool), b.Output, b.IsError)
}

func (t *table) outcome(out *wires.Frames, c *call, output string, failed bool) {
	result := object{"messageId": c.id + "-result", "toolCallId": c.id, "role": "tool", "content": output}
	if failed && t.v1 {
		result["metadata"] = object{"is_error": true}
	}
	out.Typed("TOOL_CALL_RESULT", result)
}
