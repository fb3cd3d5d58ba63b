package answer

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/turn"
)

// diagnostics is the trace as it is stored, without what ExpandTrace can add: the
// messages of each iteration and the raw response, which is the replies. A call of the
// model that the run's end broke off is the last iteration; its stop reason is that
// end.
func (wr *Writer) diagnostics(state schemas.RunState) schemas.Diagnostics {
	d := schemas.Diagnostics{Context: wr.run.Request.Context, Tools: []string{}, Messages: []schemas.TraceMessage{}, Iterations: []schemas.TraceIteration{}}
	if d.Context == nil {
		d.Context = schemas.Object{}
	}
	for _, text := range wr.dropped {
		d.Dropped = append(d.Dropped, schemas.Encode(text))
	}
	if wr.prepared == nil {
		return d
	}
	q := &wr.prepared.Request
	d.Model, d.MaxTokens, d.MaxIterations, d.Temperature, d.SystemPrompt = wr.model(), q.MaxTokens, q.MaxIterations, q.Temperature, q.System
	for _, t := range q.Tools {
		d.Tools = append(d.Tools, t.Name)
	}
	for _, m := range q.Messages {
		d.Messages = append(d.Messages, traceMessage(m))
	}
	for _, s := range wr.steps {
		it := schemas.TraceIteration{
			Model: s.Reply.Model, Reply: s.Reply.Text, StopReason: traceStop(&s.Reply), Usage: s.Reply.Usage,
			StartedAt: s.Reply.StartedAt, DurationMS: s.Reply.Duration.Milliseconds(),
		}
		for i, c := range s.Reply.ToolCalls {
			it.ToolCalls = append(it.ToolCalls, wr.traceCall(s.Reply.FirstIndex+i, c))
		}
		d.Iterations = append(d.Iterations, it)
	}
	if !wr.calling.IsZero() { // a call was broken off
		d.Iterations = append(d.Iterations, schemas.TraceIteration{
			Reply: wr.writing.String(), StopReason: levelStatus[state], StartedAt: wr.calling,
			DurationMS: wr.deps.Now().Sub(wr.calling).Milliseconds(),
		})
	}
	return d
}

// EncodeTrace returns d as JSON. It adds the model's text itself, because json.Marshal
// would hold several copies of it.
func EncodeTrace(d *schemas.Diagnostics) json.RawMessage {
	rest := schemas.Encode(struct {
		*schemas.Diagnostics
		Iterations *bool `json:"iterations,omitempty"` // hides the other one
	}{Diagnostics: d})
	size, parts := len(rest)+len(d.Iterations)*len(`,"reply":,}`), make([]json.RawMessage, len(d.Iterations))
	for i := range d.Iterations {
		parts[i] = schemas.Encode(struct {
			*schemas.TraceIteration
			Reply *bool `json:"reply,omitempty"`
		}{TraceIteration: &d.Iterations[i]})
		size += len(parts[i]) + room(len(d.Iterations[i].Reply))
	}
	dst := append(append(make([]byte, 0, size), rest[:len(rest)-1]...), `,"iterations":[`...)
	for i, part := range parts {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = schemas.AppendKey(append(dst, part[:len(part)-1]...), "reply")
		dst = append(schemas.AppendString(dst, d.Iterations[i].Reply), '}')
	}
	return append(dst, "]}"...)
}

// callsTools is the stop reason of a reply that asks for tools, in the trace.
const callsTools = "tool_calls"

func traceStop(reply *turn.Reply) string {
	if reply.StopReason == schemas.EndTurn && len(reply.ToolCalls) > 0 {
		return callsTools
	}
	return string(reply.StopReason)
}

// model is the model that wrote the last reply, else the one of the request.
func (wr *Writer) model() string {
	if n := len(wr.steps); n > 0 && wr.steps[n-1].Reply.Model != "" {
		return wr.steps[n-1].Reply.Model
	}
	return wr.prepared.Request.Model
}

// traceCall is a call with its outcome; without an outcome it has only its input.
func (wr *Writer) traceCall(index int, asked turn.ToolCall) schemas.TraceToolCall {
	t := schemas.TraceToolCall{ToolName: asked.Name, ToolUseID: asked.ID, Input: schemas.Encode(asked.Arguments)}
	if json.Valid([]byte(asked.Arguments)) {
		t.Input = json.RawMessage(asked.Arguments)
	}
	if index < len(wr.calls) && wr.calls[index] != nil {
		c := wr.calls[index]
		t.ToolUseID, t.Input = c.ToolUseID, c.Input
		t.Output, t.IsError, t.DurationMS = c.Output, c.IsError, c.Duration.Milliseconds()
		if c.ModelOutput != c.Output {
			t.ModelOutput = c.ModelOutput
		}
		if c.payload != nil {
			t.PayloadID = c.payload.PayloadID
		}
	}
	return t
}

func traceMessage(m turn.Message) schemas.TraceMessage {
	t := schemas.TraceMessage{Role: string(m.Role), Content: m.Content, ToolCallID: m.ToolCallID}
	for _, c := range m.ToolCalls {
		t.ToolCalls = append(t.ToolCalls, schemas.TraceToolCall{ToolName: c.Name, ToolUseID: c.ID, Input: schemas.Encode(c.Arguments)})
	}
	return t
}

// ExpandTrace adds to each iteration the messages that were sent in it, and the raw
// response to the whole. The iterations share the memory of their messages.
func ExpandTrace(d schemas.Diagnostics) schemas.Diagnostics {
	sent := slices.Clone(d.Messages)
	iterations := slices.Clone(d.Iterations)
	until := make([]int, len(iterations)) // how much of sent was sent
	for i := range iterations {
		it := &iterations[i]
		until[i] = len(sent)
		calls := make([]schemas.TraceToolCall, 0, len(it.ToolCalls))
		var results []schemas.TraceMessage
		for _, c := range it.ToolCalls {
			calls = append(calls, schemas.TraceToolCall{ToolName: c.ToolName, ToolUseID: c.ToolUseID, Input: c.Input})
			results = append(results, schemas.TraceMessage{Role: string(turn.ToolRole), Content: cmp.Or(c.ModelOutput, c.Output), ToolCallID: c.ToolUseID})
		}
		sent = append(sent, schemas.TraceMessage{Role: string(turn.Assistant), Content: it.Reply, ToolCalls: calls})
		sent = append(sent, results...)
	}
	for i, n := range until {
		iterations[i].Messages = sent[:n:n]
	}
	d.Iterations = iterations
	if d.RawResponse == "" {
		d.RawResponse = rawResponse(iterations)
	}
	return d
}

// rawResponse is the replies, one after the other. A single reply is not copied.
func rawResponse(iterations []schemas.TraceIteration) string {
	var replies []string
	for _, it := range iterations {
		if len(replies) > 0 || it.Reply != "" {
			replies = append(replies, it.Reply)
		}
	}
	return strings.Join(replies, "\n\n")
}
