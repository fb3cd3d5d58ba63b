// Package trace makes the trace of a run for developers: the form in which it
// is stored, and the expanded form that is shown.
package trace

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/turn"
)

// New returns the trace of a run without iterations. Request is nil for a run that
// ended before it had one.
func New(page schemas.Object, request *turn.Request, dropped []schemas.DroppedPart) schemas.Diagnostics {
	d := schemas.Diagnostics{
		Context: page, Tools: []string{}, Messages: []schemas.TraceMessage{}, Iterations: []schemas.TraceIteration{}, Dropped: dropped,
	}
	if d.Context == nil {
		d.Context = schemas.Object{}
	}
	if request == nil {
		return d
	}
	d.Model, d.MaxTokens, d.MaxIterations, d.Temperature, d.SystemPrompt = request.Model, request.MaxTokens, request.MaxIterations, request.Temperature, request.System
	for _, t := range request.Tools {
		d.Tools = append(d.Tools, t.Name)
	}
	for _, m := range request.Messages {
		d.Messages = append(d.Messages, message(m))
	}
	return d
}

// Iteration is a finished reply with its calls.
func Iteration(reply *turn.Reply, calls []schemas.TraceToolCall) schemas.TraceIteration {
	return schemas.TraceIteration{
		Model: reply.Model, Reply: reply.Text, StopReason: stopReason(reply), Usage: reply.Usage,
		StartedAt: reply.StartedAt, DurationMS: reply.Duration.Milliseconds(), ToolCalls: calls,
	}
}

// Asked is a call as the model asked for it, without an outcome.
func Asked(c turn.ToolCall) schemas.TraceToolCall {
	t := schemas.TraceToolCall{ToolName: c.Name, ToolUseID: c.ID, Input: schemas.Encode(c.Arguments)}
	if raw := []byte(c.Arguments); json.Valid(raw) && turn.Readable("its arguments", raw) == nil {
		t.Input = raw
	}
	return t
}

// Encode returns d as JSON. It adds the model's text itself, because json.Marshal
// would hold several copies of it.
func Encode(d *schemas.Diagnostics) json.RawMessage {
	rest := schemas.Encode(struct {
		*schemas.Diagnostics
		Iterations *bool `json:"iterations,omitempty"` // hides the embedded field
	}{Diagnostics: d})
	size, parts := len(rest)+len(d.Iterations)*len(`,"reply":,}`), make([]json.RawMessage, len(d.Iterations))
	for i := range d.Iterations {
		parts[i] = schemas.Encode(struct {
			*schemas.TraceIteration
			Reply *bool `json:"reply,omitempty"`
		}{TraceIteration: &d.Iterations[i]})
		size += len(parts[i]) + encodedSize(len(d.Iterations[i].Reply))
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

// encodedSize estimates the bytes of an encoded text of n bytes with its field.
func encodedSize(n int) int { return n + n/16 + 512 }

// callsTools is the stop reason of a reply that asks for tools, in the trace.
const callsTools = "tool_calls"

// stopReason returns why a reply ended, in the words of the trace.
func stopReason(reply *turn.Reply) string {
	if reply.StopReason == schemas.EndTurn && len(reply.ToolCalls) > 0 {
		return callsTools
	}
	return string(reply.StopReason)
}

// message returns a message in the form of the trace.
func message(m turn.Message) schemas.TraceMessage {
	t := schemas.TraceMessage{Role: string(m.Role), Content: m.Content, ToolCallID: m.ToolCallID}
	for _, c := range m.ToolCalls {
		t.ToolCalls = append(t.ToolCalls, schemas.TraceToolCall{ToolName: c.Name, ToolUseID: c.ID, Input: schemas.Encode(c.Arguments)})
	}
	return t
}

// Expand adds to each iteration the messages that were sent in it, and to the
// trace the raw response. The iterations share the memory of their messages.
func Expand(d schemas.Diagnostics) schemas.Diagnostics {
	sent := slices.Clone(d.Messages)
	iterations := slices.Clone(d.Iterations)
	until := make([]int, len(iterations)) // number of messages sent by each iteration
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

// rawResponse returns the joined replies. A single reply is not copied.
func rawResponse(iterations []schemas.TraceIteration) string {
	var replies []string
	for _, it := range iterations {
		if len(replies) > 0 || it.Reply != "" {
			replies = append(replies, it.Reply)
		}
	}
	return strings.Join(replies, "\n\n")
}
