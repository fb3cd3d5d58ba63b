package trace_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/services/trace"
)

// A stored trace has each reply once; it is served with all messages of each
// call.
func TestTraceHasEachReplyOnce(t *testing.T) {
	question := schemas.TraceMessage{Role: "user", Content: "q"}
	d := schemas.Diagnostics{
		Model: "m", Tools: []string{"look"}, Messages: []schemas.TraceMessage{question}, Context: schemas.Object{"iterations": json.RawMessage("null")},
		Iterations: []schemas.TraceIteration{
			{Reply: "fi\"rst\u2028", StopReason: "tool_calls", ToolCalls: []schemas.TraceToolCall{{ToolName: "look", ToolUseID: "c", Input: json.RawMessage(`{}`), Output: "o"}}},
			{Reply: "second", StopReason: "end_turn"},
		},
	}
	raw := trace.Encode(&d)
	for _, text := range []string{`fi\"rst`, "second"} {
		if n := strings.Count(string(raw), text); n != 1 {
			t.Errorf("%s is stored %d times in %s", text, n, raw)
		}
	}
	var stored schemas.Diagnostics
	if err := json.Unmarshal(raw, &stored); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	if diff := cmp.Diff(d, stored); diff != "" {
		t.Errorf("the trace, as it is stored: %s", diff)
	}
	whole := trace.Expand(stored)
	if want := d.Iterations[0].Reply + "\n\nsecond"; whole.RawResponse != want {
		t.Errorf("the raw response is %q, want %q", whole.RawResponse, want)
	}
	asked := schemas.TraceToolCall{ToolName: "look", ToolUseID: "c", Input: json.RawMessage(`{}`)}
	want := [][]schemas.TraceMessage{{question}, {
		question, {Role: "assistant", Content: d.Iterations[0].Reply, ToolCalls: []schemas.TraceToolCall{asked}}, {Role: "tool", Content: "o", ToolCallID: "c"},
	}}
	for i, it := range whole.Iterations {
		if diff := cmp.Diff(want[i], it.Messages); diff != "" {
			t.Errorf("messages of iteration %d: %s", i, diff)
		}
	}
}
