package schemas

import "encoding/json"

// StopReason is why the model's last reply ended.
type StopReason string

// The stop reasons of a complete run.
const (
	EndTurn       StopReason = "end_turn"
	MaxIterations StopReason = "max_iterations"
	MaxTokens     StopReason = "max_tokens"
	ContentFilter StopReason = "content_filter"
	Refusal       StopReason = "refusal"
)

// ChatResponsePayload is the payload of complete and the answer of POST
// /api/chat.
type ChatResponsePayload struct {
	// Message is the visible text, with [[tool:N]] markers.
	Message          string            `json:"message"`
	SuggestedValues  []SuggestedValue  `json:"suggested_values,omitempty"`
	SuggestedActions []SuggestedAction `json:"suggested_actions,omitempty"`
	// CustomPayload is the last payload of a tool, else the last one of the
	// model's text, else, if tools ran, the tool history.
	CustomPayload  *CustomPayload  `json:"custom_payload,omitempty"`
	Payloads       []CustomPayload `json:"payloads,omitempty"`
	ToolHistory    []ToolCall      `json:"tool_history,omitempty"`
	ConversationID int64           `json:"conversation_id"`
	ChatID         string          `json:"chat_id,omitempty"`
	MessageID      string          `json:"message_id"`
	RunID          string          `json:"run_id"`
	StopReason     StopReason      `json:"stop_reason"`
	Usage          Usage           `json:"usage"`
	Warnings       []string        `json:"warnings,omitempty"`
	Diagnostics    *Diagnostics    `json:"diagnostics,omitempty"`
}

// SuggestedValue is a chip; a click sends Value as the next message.
type SuggestedValue struct {
	Label string `json:"label"`
	Value string `json:"value"`
}

// SuggestedAction is a button that the page (client) or the service (server)
// handles. An action with a PayloadID accepts that payload: it cannot be done
// once the payload is decided.
type SuggestedAction struct {
	Label   string          `json:"label"`
	Action  string          `json:"action"`
	Handler string          `json:"handler"`
	Data    json.RawMessage `json:"data,omitempty"`
	Style   string          `json:"style,omitempty"`

	PayloadID string `json:"payload_id,omitempty"`
}

// TypeToolHistory is the type of the payload with the tools that ran.
const TypeToolHistory = "tool_history"

// CustomPayload is structured data for the page to render. PayloadID is 8 hex
// digits, unique in its chat; it is absent for type tool_history.
type CustomPayload struct {
	PayloadID string          `json:"payload_id,omitempty"`
	Type      string          `json:"type"`
	Data      json.RawMessage `json:"data"`
	Summary   string          `json:"summary,omitempty"`
	// Source is tool or llm.
	Source string `json:"source,omitempty"`
	// Outcome is accepted or rejected once the user has decided.
	Outcome string `json:"outcome,omitempty"`
}

// ToolCall is one entry of tool_history, in the order in which the model asked.
type ToolCall struct {
	ToolName   string          `json:"tool_name"`
	Input      json.RawMessage `json:"input"`
	Output     string          `json:"output"`
	IsError    bool            `json:"is_error"`
	ToolUseID  string          `json:"tool_use_id,omitempty"`
	DurationMS int64           `json:"duration_ms"`
	// Title and Done are as in ToolStartEvent and ToolCompleteEvent.
	Title string `json:"title,omitempty"`
	Done  string `json:"done,omitempty"`
}
