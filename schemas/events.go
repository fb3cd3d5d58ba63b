package schemas

import "encoding/json"

// The events of the dialect chat. Each is one frame; its Type is the constant
// of the same name.
const (
	TypeStatus       = "status"
	TypeTextDelta    = "text_delta"
	TypeToolStart    = "tool_start"
	TypeToolProgress = "tool_progress"
	TypeToolComplete = "tool_complete"
	TypeComplete     = "complete"
	TypeError        = "error"
	TypeCancelled    = "cancelled"
)

// StatusCode is the meaning of a status line, for clients with texts of their
// own. Lines of tools have no code, and lines of old runs have none.
type StatusCode string

// The status codes.
const (
	StatusThinking       StatusCode = "thinking"
	StatusResuming       StatusCode = "resuming"
	StatusRunningTool    StatusCode = "running_tool"
	StatusWaitingForUser StatusCode = "waiting_for_user"
	StatusWaitingForPage StatusCode = "waiting_for_page"
	// StatusWaitingForAnswer means that another answer writes into the same
	// block.
	StatusWaitingForAnswer StatusCode = "waiting_for_answer"
	// StatusWaitingForModel means that the model is busy or cannot be reached, and
	// is asked again soon.
	StatusWaitingForModel StatusCode = "waiting_for_model"
)

// StatusValues are the values in the text of a status line.
type StatusValues struct {
	// Tool is the name of the tool that runs or waits.
	Tool string `json:"tool,omitempty"`
}

// StatusEvent is a line for the status display: Message is in English; Code and
// Values are for clients with texts of their own. The first line of a run
// carries the ids; the first one after a recovery carries Attempt, KeptThrough
// and Text.
type StatusEvent struct {
	Type           string        `json:"type"`
	Message        string        `json:"message"`
	Code           StatusCode    `json:"code,omitempty"`
	Values         *StatusValues `json:"values,omitempty"`
	RunID          string        `json:"run_id,omitempty"`
	ConversationID int64         `json:"conversation_id,omitempty"`
	ChatID         string        `json:"chat_id,omitempty"`
	UserMessageID  string        `json:"user_message_id,omitempty"`
	Attempt        int           `json:"attempt,omitempty"`
	// KeptThrough is the last sequence number of earlier attempts that still
	// counts; events after it are void and Text replaces them.
	KeptThrough *int64  `json:"kept_through,omitempty"`
	Text        *string `json:"text,omitempty"`
	// SuggestedActions are set while a call waits for the user's approval:
	// approve and deny, which the page handles.
	SuggestedActions []SuggestedAction `json:"suggested_actions,omitempty"`
}

// TextDeltaEvent is a piece of the answer's visible text.
type TextDeltaEvent struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// ToolStartEvent says that a tool begins. Index counts the run's calls.
type ToolStartEvent struct {
	Type      string          `json:"type"`
	Tool      string          `json:"tool"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Index     int             `json:"index"`
	// Title tells the user what the call does.
	Title string `json:"title,omitempty"`
	// Denied is true if the call does not run because the user did not approve
	// it.
	Denied bool `json:"denied,omitempty"`
}

// ToolProgressEvent is one step of a running tool; Progress is in 0..1 and
// never decreases. Data is null when there is none.
type ToolProgressEvent struct {
	Type      string          `json:"type"`
	Tool      string          `json:"tool"`
	Stage     string          `json:"stage"`
	Message   string          `json:"message"`
	Progress  float64         `json:"progress"`
	Data      json.RawMessage `json:"data"`
	ToolUseID string          `json:"tool_use_id,omitempty"`
	Index     int             `json:"index"`
}

// StageWriting is the stage of a ToolProgressEvent whose data is a BlockPiece.
// It comes while the model writes the call, before the call's ToolStartEvent,
// or after it if the call had to wait for another one.
const StageWriting = "writing"

// BlockPiece is a piece of what a call writes into a block of a document.
type BlockPiece struct {
	BlockID    string `json:"block_id"`
	DocumentID string `json:"document_id"`
	Type       string `json:"type"`
	// Reset says that the block's earlier content does not count; with End what was
	// written into it is withdrawn, and the block is as it was before, or gone.
	Reset bool `json:"reset,omitempty"`
	// Meta is the block's metadata, one JSON object, before its content.
	Meta    json.RawMessage `json:"meta,omitempty"`
	Content string          `json:"content,omitempty"`
	End     bool            `json:"end,omitempty"`
}

// ToolCompleteEvent says that a tool ended; Index is the N of its [[tool:N]].
type ToolCompleteEvent struct {
	Type      string `json:"type"`
	Tool      string `json:"tool"`
	Index     int    `json:"index"`
	ToolUseID string `json:"tool_use_id,omitempty"`
	IsError   bool   `json:"is_error,omitempty"`
	// Done tells the user what the call has done, in one form or, separated by
	// a bar, in one form for one call and one for {n} calls.
	Done string `json:"done,omitempty"`
}

// CompleteEvent ends a run that has its answer.
type CompleteEvent struct {
	Type    string              `json:"type"`
	Payload ChatResponsePayload `json:"payload"`
}

// ErrorEvent ends a run that failed. MessageID names the partial answer kept.
type ErrorEvent struct {
	Type      string `json:"type"`
	Message   string `json:"message"`
	Code      Code   `json:"code"`
	Retryable bool   `json:"retryable,omitempty"`
	MessageID string `json:"message_id,omitempty"`
}

// CancelledEvent ends a run that was cancelled. MessageID names the partial
// answer kept.
type CancelledEvent struct {
	Type      string `json:"type"`
	MessageID string `json:"message_id,omitempty"`
}
