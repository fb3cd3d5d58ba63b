package ui

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/chattray/chattray/api/wires"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/runlog"
)

// noApprovals is the last major version of the client without approvals.
const noApprovals = 5

// done is the last frame of a response.
const done = "[DONE]"

// table makes the chunks of the AI SDK's UI message stream.
type table struct {
	wires.Params
	major   int
	brought []record.CallAnswer // by the request

	message  string
	started  bool
	step     bool             // a step is open
	called   bool             // the last step that the client has contains calls
	texts    []uint32         // the open parts of text
	thoughts []uint32         // the open parts of reasoning
	calls    map[int]*call    // by index
	written  map[uint32]*call // calls by the message in which the model writes them
	ended    []*runlog.ToolComplete
}

// call is the state of a call.
type call struct {
	id, name string
	client   bool
	shown    bool // its input has been shown
	input    json.RawMessage
	denied   bool
	waits    bool // for the user or for the page
	unasked  bool // it ended without a wait
	ended    bool // it has its outcome
}

// newTable returns the table for clients of a major version, for a request with answers.
func newTable(major int, brought ...record.CallAnswer) func(p wires.Params) wires.Table {
	return func(p wires.Params) wires.Table {
		return &table{Params: p, major: major, brought: brought, calls: make(map[int]*call), written: make(map[uint32]*call)}
	}
}

// object is the members of a JSON object.
type object map[string]any

// Event implements wires.Table.
func (t *table) Event(out *wires.Frames, e *runlog.Event) {
	switch b := e.Body.(type) {
	case *runlog.Started:
		t.start(out, &b.Run, b.Target.MessageID)
	case *runlog.Attempt:
		if !t.started {
			t.start(out, &b.Run, b.Target.MessageID)
		}
	case *runlog.Status:
		out.Typed("data-status", object{"data": object{"message": b.Message}, "transient": true})
	case *runlog.LevelStart:
		if b.Depth == runlog.GroupLevel && b.Type == "llm" && e.At.Thread == 0 {
			t.startStep(out)
		}
	case *runlog.LevelEnd:
		if b.Depth == runlog.MessageLevel && e.At.Thread == 0 {
			t.endPart(out, e.At.Message)
		}
	case *runlog.Text:
		if e.At.Thread == 0 {
			t.text(out, e.At.Message, b.Text)
		}
	case *runlog.Thinking:
		if e.At.Thread == 0 {
			t.thinking(out, e.At.Message, b.Text)
		}
	case *runlog.Call:
		if e.At.Thread == 0 {
			t.write(out, e.At.Message, b)
		}
	case *runlog.Arguments:
		if c := t.written[e.At.Message]; c != nil && e.At.Thread == 0 {
			out.Typed("tool-input-delta", object{"toolCallId": c.id, "inputTextDelta": b.Text})
		}
	case *runlog.ApprovalRequest:
		t.ask(out, b)
	case *runlog.ClientToolCall:
		c := t.call(b.Index, b.Tool)
		c.client, c.waits = true, true
		t.available(out, b.Index, c, b.Input)
	case *runlog.ToolStart:
		t.run(out, b)
	case *runlog.ToolRefused:
		t.run(out, &b.ToolStart)
		t.call(b.Index, b.Tool).denied = true
	case *runlog.ToolProgress:
		t.progress(out, b)
	case *runlog.ToolComplete:
		t.complete(out, b)
	case *runlog.Payload:
		out.Typed("data-payload", object{"id": b.PayloadID, "data": b.CustomPayload})
	case *runlog.BlockReset:
		if !b.New {
			t.block(out, b.Place, "reset", true, b.End)
		}
	case *runlog.BlockHeader:
		t.block(out, b.Place, "meta", json.RawMessage(b.Header), false)
	case *runlog.BlockContent:
		t.block(out, b.Place, "content", b.Text, false)
	case *runlog.BlockDone:
		out.Typed("data-block", object{"id": b.Place.BlockIDs, "data": placed(b.Place)})
	case *runlog.Completed:
		t.completed(out, &b.Payload)
	case *runlog.Failed:
		t.failed(out, b)
	case *runlog.Cancelled:
		t.endParts(out)
		t.giveUp(out)
		t.separate(out)
		out.Typed("abort", t.because(object{}, "reason", "cancelled"))
		out.Raw(done)
	case *runlog.Marker, *runlog.KeptText, *runlog.ApprovalResolved, *runlog.ThreadText, *runlog.ThreadStatus, *runlog.Streamed, *runlog.Unknown,
		*runlog.ThreadToolStart, *runlog.ThreadToolProgress, *runlog.ThreadToolComplete: // only the main stream is shown, text without markers
	}
}

// Begin implements wires.Table. The same message id makes the client continue its message.
func (t *table) Begin(out *wires.Frames, _ int64) {
	out.Typed("start", object{"messageId": t.message})
	for _, b := range t.ended {
		t.complete(out, b)
	}
	t.step, t.called, t.ended = false, true, nil
}

// Pause implements wires.Table.
func (t *table) Pause(out *wires.Frames, _ []schemas.Wait) {
	t.endParts(out)
	if !t.step {
		t.settle(out)
	}
	t.endStep(out)
	out.Typed("finish", t.because(object{}, "finishReason", "tool-calls"))
	out.Raw(done)
}

func (t *table) start(out *wires.Frames, run *runlog.Run, message string) {
	t.started, t.message = true, message
	out.Typed("start", object{"messageId": message, "messageMetadata": object{
		"run_id": run.RunID, "conversation_id": run.ConversationID, "chat_id": run.ChatID, "user_message_id": run.UserMessageID,
	}})
}

// startStep starts a step. It stays the same step if a later attempt continues with calls that
// wait or whose input is not shown yet: the client looks for their parts in the last step only.
func (t *table) startStep(out *wires.Frames) {
	for _, c := range t.calls {
		if t.step && (!c.shown || c.waits) {
			return
		}
	}
	t.endStep(out)
	out.Raw(`{"type":"start-step"}`)
	t.step, t.called = true, false
}

func (t *table) endStep(out *wires.Frames) {
	if t.step {
		out.Raw(`{"type":"finish-step"}`)
		t.step = false
	}
}

// separate opens a step if the client's last step ends with calls: the client would
// otherwise take the message for complete and send it again.
func (t *table) separate(out *wires.Frames) {
	if t.called {
		t.endStep(out)
		out.Raw(`{"type":"start-step"}`)
		t.step, t.called = true, false
	}
}

// partID names a part of text ('t') or reasoning ('r').
func partID(kind byte, message uint32) string {
	return string(kind) + strconv.FormatUint(uint64(message), 10)
}

// text adds text. It runs for every token, so it builds the chunk without an object.
func (t *table) text(out *wires.Frames, message uint32, text string) {
	if !slices.Contains(t.texts, message) {
		t.texts = append(t.texts, message)
		out.Typed("text-start", object{"id": partID('t', message)})
	}
	delta(out, `{"type":"text-delta","id":"t`, message, text)
}

func (t *table) thinking(out *wires.Frames, message uint32, text string) {
	if !slices.Contains(t.thoughts, message) {
		t.thoughts = append(t.thoughts, message)
		out.Typed("reasoning-start", object{"id": partID('r', message)})
	}
	delta(out, `{"type":"reasoning-delta","id":"r`, message, text)
}

func delta(out *wires.Frames, head string, message uint32, text string) {
	if dst, ok := out.Open(); ok {
		dst = append(strconv.AppendUint(append(dst, head...), uint64(message), 10), '"')
		out.Close(append(wires.Field(dst, "delta", text), '}'))
	}
}

// endPart ends the part of text or reasoning of a message, if it is open.
func (t *table) endPart(out *wires.Frames, message uint32) {
	is := func(m uint32) bool { return m == message }
	if slices.ContainsFunc(t.texts, is) {
		out.Typed("text-end", object{"id": partID('t', message)})
		t.texts = slices.DeleteFunc(t.texts, is)
	}
	if slices.ContainsFunc(t.thoughts, is) {
		out.Typed("reasoning-end", object{"id": partID('r', message)})
		t.thoughts = slices.DeleteFunc(t.thoughts, is)
	}
}

func (t *table) endParts(out *wires.Frames) {
	for _, message := range slices.Concat(t.texts, t.thoughts) {
		t.endPart(out, message)
	}
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

// write shows that the model begins to write a call. A later attempt that writes it again
// gets the same call.
func (t *table) write(out *wires.Frames, message uint32, b *runlog.Call) {
	c := t.call(b.Index, b.Name)
	c.client, t.written[message], t.called = b.Client, c, true
	out.Typed("tool-input-start", t.whose(b.Index, c, object{"toolCallId": c.id, "toolName": c.name}))
}

// whose adds to a chunk who runs the call: the page or the service. A call that the page
// has already answered counts as the service's, so that the page does not run it again, and
// so does one that is refused.
func (t *table) whose(index int, c *call, chunk object) object {
	switch {
	case !c.client:
		chunk["dynamic"], chunk["providerExecuted"] = true, true
	case t.Answered[index] || c.unasked:
		chunk["providerExecuted"] = true
	}
	return chunk
}

// available shows the input of a call once, and again if the user changed it.
func (t *table) available(out *wires.Frames, index int, c *call, input json.RawMessage) {
	if c.shown && (c.client || bytes.Equal(c.input, input)) {
		return
	}
	c.shown, c.input, t.called = true, input, true
	out.Typed("tool-input-available", t.whose(index, c, object{"toolCallId": c.id, "toolName": c.name, "input": input}))
}

// ask shows the input of a call, and asks the user to approve the call unless that is
// already answered.
func (t *table) ask(out *wires.Frames, b *runlog.ApprovalRequest) {
	c := t.call(b.Index, b.Tool)
	t.available(out, b.Index, c, b.Input)
	c.waits = true
	switch {
	case t.Answered[b.Index]:
	case t.major > noApprovals:
		out.Typed("tool-approval-request", object{"approvalId": c.id, "toolCallId": c.id})
	default:
		out.Typed("data-approval", object{"id": c.id, "data": object{
			"approval_id": b.ApprovalID, "run_id": t.Run, "tool": b.Tool, "input": b.Input, "message": b.Message,
			"expires_at": b.ExpiresAt.Format(time.RFC3339Nano),
		}})
	}
}

func (t *table) run(out *wires.Frames, b *runlog.ToolStart) {
	c := t.call(b.Index, b.Tool)
	c.waits, c.unasked = false, !c.shown
	t.available(out, b.Index, c, b.Input)
}

func (t *table) progress(out *wires.Frames, b *runlog.ToolProgress) {
	step := object{"status": "running", "stage": b.Stage, "message": b.Message, "progress": b.Progress}
	if !wires.Null(b.Data) {
		step["data"] = b.Data
	}
	c := t.call(b.Index, b.Tool)
	out.Typed("tool-output-available", t.whose(b.Index, c, object{"toolCallId": c.id, "output": step, "preliminary": true}))
}

// placed returns the ids, the document and the type of the blocks that are written.
func placed(p runlog.Place) object {
	data := object{"block_ids": p.BlockIDs}
	if p.DocumentID != "" {
		data["document_id"] = p.DocumentID
	}
	if p.Type != "" {
		data["type"] = p.Type
	}
	return data
}

func (t *table) block(out *wires.Frames, p runlog.Place, name string, value any, withdrawn bool) {
	data := placed(p)
	data[name] = value
	if withdrawn {
		data["end"] = true
	}
	out.Typed("data-block-delta", object{"data": data, "transient": true})
}

// finishReasons maps stop reasons to the client's; end_turn and all others become stop.
var finishReasons = map[schemas.StopReason]string{
	schemas.MaxTokens: "length", schemas.ContentFilter: "content-filter", schemas.Refusal: "content-filter", schemas.MaxIterations: "other",
}

func (t *table) completed(out *wires.Frames, p *schemas.ChatResponsePayload) {
	t.endParts(out)
	t.giveUp(out)
	t.separate(out)
	t.endStep(out)
	if data := suggestions(p.SuggestedValues, p.SuggestedActions); data != nil {
		out.Typed("data-suggestions", object{"data": data})
	}
	reason := finishReasons[p.StopReason]
	if reason == "" {
		reason = "stop"
	}
	metadata := object{"usage": p.Usage, "stop_reason": p.StopReason}
	if len(p.Warnings) > 0 {
		metadata["warnings"] = p.Warnings
	}
	out.Typed("finish", t.because(object{"messageMetadata": metadata}, "finishReason", reason))
	out.Raw(done)
}

// because adds to the chunk that ends an answer why it ends. Clients of version 5 get none:
// those before 5.0.92 refuse it.
func (t *table) because(chunk object, name, reason string) object {
	if t.major > noApprovals {
		chunk[name] = reason
	}
	return chunk
}

// suggestions returns what the user may do next, nil if there is nothing.
func suggestions(values []schemas.SuggestedValue, actions []schemas.SuggestedAction) object {
	data := object{}
	if len(values) > 0 {
		data["values"] = values
	}
	if len(actions) > 0 {
		data["actions"] = actions
	}
	if len(data) == 0 {
		return nil
	}
	return data
}

func (t *table) failed(out *wires.Frames, b *runlog.Failed) {
	t.endParts(out)
	t.giveUp(out)
	data := object{"code": b.Code, "retryable": b.Retryable}
	if b.MessageID != "" {
		data["message_id"] = b.MessageID
	}
	out.Typed("data-error", object{"data": data, "transient": true})
	out.Typed("error", object{"errorText": b.Message})
	out.Raw(done)
}
