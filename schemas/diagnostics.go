package schemas

import (
	"encoding/json"
	"time"
)

// Diagnostics is the trace of a run, for those who may see system prompts.
type Diagnostics struct {
	// Model is the model that wrote the last reply; before the first reply, the
	// requested model.
	Model         string           `json:"model"`
	MaxTokens     int              `json:"max_tokens"`
	MaxIterations int              `json:"max_iterations"`
	Temperature   float64          `json:"temperature"`
	Tools         []string         `json:"tools"`
	SystemPrompt  string           `json:"system_prompt"`
	Messages      []TraceMessage   `json:"messages"`
	Context       Object           `json:"context"`
	RawResponse   string           `json:"raw_llm_response"`
	Iterations    []TraceIteration `json:"iterations"`
	Dropped       []DroppedPart    `json:"dropped_payloads,omitempty"`
}

// DroppedPart is a part of a reply, or of a tool's result, that is not shown.
type DroppedPart struct {
	// Type is the payload's type, or the marker of a list of suggestions.
	Type   string `json:"type"`
	Reason string `json:"reason"`
	// Text is the part as it was written.
	Text string `json:"text,omitempty"`
}

// UnmarshalJSON also reads the form of earlier releases, the text alone.
func (d *DroppedPart) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '"' {
		return json.Unmarshal(raw, &d.Text)
	}
	type plain DroppedPart
	return json.Unmarshal(raw, (*plain)(d))
}

// TraceMessage is a message that was sent to the model.
type TraceMessage struct {
	Role       string          `json:"role"`
	Content    string          `json:"content"`
	ToolCalls  []TraceToolCall `json:"tool_calls,omitempty"`
	ToolCallID string          `json:"tool_call_id,omitempty"`
}

// TraceIteration is one call of the model, with the messages sent and the
// tools it asked for.
type TraceIteration struct {
	// Model is the model that replied, if it is not the requested one.
	Model      string          `json:"model,omitempty"`
	Messages   []TraceMessage  `json:"messages"`
	Reply      string          `json:"reply"`
	StopReason string          `json:"stop_reason"`
	Usage      Usage           `json:"usage"`
	StartedAt  time.Time       `json:"started_at"`
	DurationMS int64           `json:"duration_ms"`
	ToolCalls  []TraceToolCall `json:"tool_calls,omitempty"`
}

// TraceToolCall is a tool call with the tool's output, cut as CutText does, and the
// part of it that the model got. ModelOutput is absent if it equals the output; the
// run's payloads have the whole payload.
type TraceToolCall struct {
	ToolName    string          `json:"tool_name"`
	ToolUseID   string          `json:"tool_use_id"`
	Input       json.RawMessage `json:"input"`
	Output      string          `json:"output,omitempty"`
	ModelOutput string          `json:"model_output,omitempty"`
	IsError     bool            `json:"is_error,omitempty"`
	PayloadID   string          `json:"payload_id,omitempty"`
	DurationMS  int64           `json:"duration_ms,omitempty"`
}
