package responses

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/chattray/chattray/api/wires"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/runlog"
)

// kind is the type of an item.
type kind string

const (
	message kind = "message"
	thought kind = "reasoning"
	serverd kind = "mcp_call"
	asking  kind = "mcp_approval_request"
	clientd kind = "function_call"
)

// prefixes begin the ids of items.
var prefixes = map[kind]string{message: "msg_", thought: "rs_", serverd: "mcp_", asking: "mcpr_", clientd: "fc_"}

// server is the label of the service's own tools.
const server = "chattray"

// item is an item of the output.
type item struct {
	kind   kind
	id     string
	index  int   // in the output as it is streamed
	seq    int64 // of its first event
	void   bool
	status string

	name, arguments, callID string
	asked                   string // the id of the approval that it needed
	output                  string
	failed                  bool

	text  strings.Builder
	delta string // of a text: the members of each piece before the piece itself
}

// add adds an item to the output.
func (t *table) add(out *wires.Frames, e *runlog.Event, i *item, number int64) *item {
	i.id = prefixes[i.kind] + t.run + "_" + strconv.FormatInt(number, 10)
	if t.ids[i.id] {
		i.id += "_" + strconv.Itoa(t.try)
	}
	t.ids[i.id] = true
	i.index, i.seq, i.status = len(t.items), e.Seq, inProgress
	t.items = append(t.items, i)
	if i.kind == asking {
		i.status = complete
	}
	t.itemEvent(out, "response.output_item.added", i)
	return i
}

func (t *table) itemEvent(out *wires.Frames, event string, i *item) {
	if dst, ok := frame(out, event); ok {
		dst = strconv.AppendInt(append(dst, `,"output_index":`...), int64(i.index), 10)
		out.Close(append(append(append(dst, `,"item":`...), i.encode()...), '}'))
	}
}

// detail adds an event about an item; members are the last ones, each with its comma.
func detail(out *wires.Frames, event string, i *item, members string) {
	if dst, ok := frame(out, event); ok {
		out.Close(append(append(append(dst, i.place()...), members...), '}'))
	}
}

// place says which item an event is about.
func (i *item) place() string {
	return `,"item_id":"` + i.id + `","output_index":` + strconv.Itoa(i.index)
}

// text adds text of the answer.
func (t *table) text(out *wires.Frames, e *runlog.Event, text string) {
	if text == "" {
		return
	}
	if len(t.open[e.At.Message]) == 0 {
		t.point(e.Seq)
	}
	if text = t.joiner.Text(text); text != "" {
		t.part(out, e, message, text)
	}
}

// part adds a piece of text or of reasoning. It runs for every token, so it builds the
// event itself.
func (t *table) part(out *wires.Frames, e *runlog.Event, k kind, text string) {
	var i *item
	for _, open := range t.open[e.At.Message] {
		if open.kind == k {
			i = open
		}
	}
	if i == nil {
		i = t.add(out, e, &item{kind: k}, int64(e.At.Message))
		i.delta = i.place() + `,"content_index":0,"delta":`
		t.open[e.At.Message] = append(t.open[e.At.Message], i)
		detail(out, "response.content_part.added", i, `,"content_index":0,"part":`+i.content(""))
	}
	i.text.WriteString(text)
	event, end := "response.output_text.delta", `,"logprobs":[]}`
	if k == thought {
		event, end = "response.reasoning_text.delta", `}`
	}
	if dst, ok := frame(out, event); ok {
		dst = schemas.AppendString(append(dst, i.delta...), text)
		out.Close(append(dst, end...))
	}
}

// content returns the one part of a text.
func (i *item) content(text string) string {
	part := map[string]any{"type": "output_text", "text": text, "annotations": []string{}, "logprobs": []string{}}
	if i.kind == thought {
		part = map[string]any{"type": "reasoning_text", "text": text}
	}
	return string(schemas.Encode(part))
}

// endTexts ends the texts of a message.
func (t *table) endTexts(out *wires.Frames, number uint32, status string) {
	if status != complete {
		status = partly
	}
	for _, i := range t.open[number] {
		t.endText(out, i, status)
	}
	delete(t.open, number)
}

func (t *table) endText(out *wires.Frames, i *item, status string) {
	text := `,"content_index":0,"text":` + string(schemas.AppendString(nil, i.text.String()))
	if i.kind == message {
		detail(out, "response.output_text.done", i, text+`,"logprobs":[]`)
	} else {
		detail(out, "response.reasoning_text.done", i, text)
	}
	detail(out, "response.content_part.done", i, `,"content_index":0,"part":`+i.content(i.text.String()))
	t.done(out, i, status)
}

func (t *table) done(out *wires.Frames, i *item, status string) {
	i.status = status
	t.itemEvent(out, "response.output_item.done", i)
}

// approval asks the client's user.
func (t *table) approval(out *wires.Frames, e *runlog.Event, b *runlog.ApprovalRequest) {
	t.asked[b.Index] = true
	i := t.add(out, e, &item{kind: asking, name: b.Tool, arguments: string(b.Input)}, int64(b.Index))
	t.itemEvent(out, "response.output_item.done", i)
}

// ask asks the client to run its tool.
func (t *table) ask(out *wires.Frames, e *runlog.Event, b *runlog.ClientToolCall) {
	t.client[b.Index] = true
	i := t.add(out, e, &item{kind: clientd, name: b.Tool, callID: wires.CallID(t.Run, b.Index)}, int64(b.Index))
	i.arguments = string(b.Input)
	t.writeArguments(out, "response.function_call_arguments", i)
	t.done(out, i, complete)
}

func (t *table) writeArguments(out *wires.Frames, event string, i *item) {
	arguments := string(schemas.AppendString(nil, i.arguments))
	detail(out, event+".delta", i, `,"delta":`+arguments)
	if i.kind == clientd {
		arguments += `,"name":` + string(schemas.AppendString(nil, i.name))
	}
	detail(out, event+".done", i, `,"arguments":`+arguments)
}

// tool shows that a tool of the service runs.
func (t *table) tool(out *wires.Frames, e *runlog.Event, b *runlog.ToolStart) {
	if t.client[b.Index] || t.calls[b.Index] != nil {
		return
	}
	i := &item{kind: serverd, name: b.Tool}
	if t.asked[b.Index] {
		i.asked = prefixes[asking] + t.run + "_" + strconv.Itoa(b.Index)
	}
	t.calls[b.Index] = t.add(out, e, i, int64(b.Index))
	i.arguments = string(b.Input)
	detail(out, "response.mcp_call.in_progress", i, "")
	t.writeArguments(out, "response.mcp_call_arguments", i)
}

// toolEnds shows the outcome of a tool of the service.
func (t *table) toolEnds(out *wires.Frames, e *runlog.Event, b *runlog.ToolComplete) {
	if t.client[b.Index] {
		return
	}
	i := t.calls[b.Index]
	if i == nil { // it has begun in the response before
		t.tool(out, e, &runlog.ToolStart{Tool: b.Tool, Index: b.Index, Input: json.RawMessage("{}")})
		i = t.calls[b.Index]
	}
	delete(t.calls, b.Index)
	i.output, i.failed = b.Output, b.IsError
	if b.IsError {
		detail(out, "response.mcp_call.failed", i, "")
		t.done(out, i, broken)
		return
	}
	detail(out, "response.mcp_call.completed", i, "")
	t.done(out, i, complete)
}

// closeAll ends all that is open, in order.
func (t *table) closeAll(out *wires.Frames, status string) {
	for _, i := range t.items {
		if i.status != inProgress {
			continue
		}
		switch i.kind {
		case message, thought:
			t.endText(out, i, status)
		default:
			t.done(out, i, partly)
		}
	}
	clear(t.open)
	clear(t.calls)
}

// encode returns the item as JSON.
func (i *item) encode() json.RawMessage {
	v := map[string]any{"id": i.id, "type": i.kind}
	ended := i.status != inProgress
	switch i.kind {
	case message:
		v["status"], v["role"], v["content"] = i.status, "assistant", i.contents(ended)
	case thought:
		v["summary"] = []string{}
		if ended {
			v["content"] = i.contents(true)
		}
	case serverd:
		v["server_label"], v["name"], v["arguments"], v["status"] = server, i.name, i.arguments, i.status
		v["output"], v["error"], v["approval_request_id"] = nil, nil, nil
		if i.asked != "" {
			v["approval_request_id"] = i.asked
		}
		switch {
		case i.failed:
			v["error"] = map[string]any{"type": "mcp_tool_execution_error", "content": []any{map[string]string{"type": "text", "text": i.output}}}
		case i.status == complete:
			v["output"] = i.output
		}
	case asking:
		v["server_label"], v["name"], v["arguments"] = server, i.name, i.arguments
	case clientd:
		v["status"], v["call_id"], v["name"], v["arguments"] = i.status, i.callID, i.name, i.arguments
	}
	return schemas.Encode(v)
}

func (i *item) contents(ended bool) []json.RawMessage {
	if !ended {
		return []json.RawMessage{}
	}
	return []json.RawMessage{json.RawMessage(i.content(i.text.String()))}
}

// output returns the items that count.
func (t *table) output() []json.RawMessage {
	list := []json.RawMessage{}
	for _, i := range slices.Clone(t.items) {
		if !i.void {
			list = append(list, i.encode())
		}
	}
	return list
}
