package schemas

import (
	"encoding/json"
	"time"
)

// SocketEvent is what a client sends over the websocket: one JSON object a
// frame. Name is message (also chat_message), stop, pause, resume, approve or
// tool_result.
type SocketEvent struct {
	Name string `json:"name" validate:"required,oneof=message chat_message stop pause resume approve tool_result"`
	// ID is the client's name for the event. One chunk, ack or error, answers an
	// event that has an id. A message with the id of one of the user's earlier
	// messages attaches to the run that the earlier one started, so it may be
	// sent again.
	ID      string         `json:"id,omitempty" validate:"omitempty,clientid"`
	Message *SocketMessage `json:"message,omitempty"`
	Model   string         `json:"model,omitempty" validate:"max=200"`
	// Mode is chat (default) or agent.
	Mode string `json:"mode,omitempty" validate:"omitempty,oneof=chat agent"`
	// BlockID and BlockIDs, comma separated, are the blocks that the answer
	// goes to.
	BlockID    string `json:"block_id,omitempty" validate:"max=1040"`
	BlockIDs   string `json:"block_ids,omitempty" validate:"max=1040"`
	DocumentID string `json:"document_id,omitempty" validate:"omitempty,clientid"`
	ChatID     string `json:"chat_id,omitempty" validate:"omitempty,clientid"`
	// UserID, if given, must be the authenticated user.
	UserID  string `json:"user_id,omitempty" validate:"max=500"`
	Context Object `json:"context,omitempty"`
	// InteractionType, ActionMetadata, Attachments and ClientTools are for
	// message, as in a ChatRequest.
	InteractionType InteractionType `json:"interaction_type,omitempty" validate:"omitempty,oneof=text_input value_selected action_executed"`
	ActionMetadata  *ActionMetadata `json:"action_metadata,omitempty"`
	Attachments     []Attachment    `json:"attachments,omitempty" validate:"max=10,dive"`
	ClientTools     []ClientTool    `json:"client_tools,omitempty" validate:"max=16,dive"`
	// IfBusy, queue by default, ConversationHistory and EditMessageID are for message,
	// as in a ChatRequest.
	IfBusy              string           `json:"if_busy,omitempty" validate:"omitempty,oneof=reject queue cancel"`
	ConversationHistory []HistoryMessage `json:"conversation_history,omitempty" validate:"max=200,dive"`
	EditMessageID       string           `json:"edit_message_id,omitempty" validate:"max=64"`
	// RunID and After are for resume, which sends the chunks after that number.
	// RunID is also for approve and tool_result.
	RunID string `json:"run_id,omitempty" validate:"omitempty,clientid"`
	After int64  `json:"after,omitempty" validate:"gte=0"`
	// ApprovalID, Approved and Input are for approve, as in an ApprovalAnswer.
	ApprovalID string          `json:"approval_id,omitempty" validate:"omitempty,clientid"`
	Approved   *bool           `json:"approved,omitempty"`
	Input      json.RawMessage `json:"input,omitempty"`
	// ToolUseID, Output and IsError are for tool_result, as in a ClientToolResult:
	// null is an output.
	ToolUseID string          `json:"tool_use_id,omitempty" validate:"max=256"`
	Output    json.RawMessage `json:"output,omitempty" null:"value"`
	IsError   bool            `json:"is_error,omitempty"`
}

// SocketMessage is the user's message.
type SocketMessage struct {
	Content string `json:"content"`
	Role    string `json:"role,omitempty" validate:"omitempty,oneof=user"`
}

// The types of chunks without content; any other type is the type of a block.
const (
	ChunkStatus           = "status"
	ChunkReset            = "reset"
	ChunkError            = "error"
	ChunkRunEnd           = "run_end"
	ChunkTool             = "tool"
	ChunkApprovalRequest  = TypeApprovalRequest
	ChunkApprovalResolved = TypeApprovalResolved
	ChunkClientToolCall   = TypeClientToolCall
	ChunkPayload          = "payload"
	ChunkSuggestions      = "suggestions"
	ChunkWarning          = "warning"
	ChunkAck              = "ack"
)

// IsChunkType reports whether a chunk of this type is something else than content of a
// block, so that no block may have the type.
func IsChunkType(name string) bool {
	switch name {
	case ChunkStatus, ChunkReset, ChunkError, ChunkRunEnd, ChunkTool, ChunkApprovalRequest, ChunkApprovalResolved, ChunkClientToolCall,
		ChunkPayload, ChunkSuggestions, ChunkWarning, ChunkAck:
		return true
	}
	return false
}

// The events of a chunk of type tool.
const (
	ToolStarts    = "start"
	ToolProgress  = "progress"
	ToolCompletes = "complete"
)

// Chunk is what the server sends over the websocket. End ends a block, NewDoc
// begins a new structure of a document. Content is absent if a chunk has none.
// The first chunk of a run carries the ids of run and chat. A chunk with a Seq
// but without a RunID belongs to the run of the last earlier chunk that had
// both.
type Chunk struct {
	Type       string  `json:"type"`
	BlockIDs   string  `json:"block_ids,omitempty"`
	DocumentID string  `json:"document_id,omitempty"`
	Content    *string `json:"content,omitempty"`
	End        bool    `json:"end,omitempty"`
	NewDoc     bool    `json:"new_doc,omitempty"`
	// BlockTypes are the types of the planned blocks of NewDoc, in the order of
	// BlockIDs and comma separated like them.
	BlockTypes     string `json:"block_types,omitempty"`
	Code           Code   `json:"code,omitempty"`
	RunID          string `json:"run_id,omitempty"`
	ChatID         string `json:"chat_id,omitempty"`
	ConversationID int64  `json:"conversation_id,omitempty"`
	// MessageID is the message of the chat that keeps the answer.
	MessageID string   `json:"message_id,omitempty"`
	Status    RunState `json:"status,omitempty"`
	// StatusCode and Values are set for a status, like Code and Values of
	// StatusEvent.
	StatusCode StatusCode    `json:"status_code,omitempty"`
	Values     *StatusValues `json:"values,omitempty"`
	// ApprovalID is the id of the approval that a call waits for.
	ApprovalID string `json:"approval_id,omitempty"`
	// Reason is why the user is asked.
	Reason ApprovalReason `json:"reason,omitempty"`
	// Event is start, progress or complete, for a chunk of type tool. Tool,
	// ToolUseID and Index name the call, which runs on the server or, for a
	// client_tool_call, in the page. A payload of the model's text has no
	// ToolUseID, and its Index is that of the next call.
	Event     string          `json:"event,omitempty"`
	Tool      string          `json:"tool,omitempty"`
	ToolUseID string          `json:"tool_use_id,omitempty"`
	Index     *int            `json:"index,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
	// Title, Description, Done and ReasonText are texts for users, as in
	// ApprovalRequestEvent and ToolCompleteEvent.
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	ReasonText  string `json:"reason_text,omitempty"`
	Message     string `json:"message,omitempty"`
	// Stage, Progress and Data are as in ToolProgressEvent.
	Stage    string          `json:"stage,omitempty"`
	Progress *float64        `json:"progress,omitempty"`
	Data     json.RawMessage `json:"data,omitempty"`
	// Output is a call's output, cut as in ToolCall.
	Output  string `json:"output,omitempty"`
	IsError bool   `json:"is_error,omitempty"`
	Done    string `json:"done,omitempty"`
	// ExpiresAt is when the call no longer waits.
	ExpiresAt *time.Time `json:"expires_at,omitempty"`
	// Denied is as in ToolStartEvent.
	Denied           bool              `json:"denied,omitempty"`
	Approved         *bool             `json:"approved,omitempty"`
	Payload          *CustomPayload    `json:"payload,omitempty"`
	SuggestedValues  []SuggestedValue  `json:"suggested_values,omitempty"`
	SuggestedActions []SuggestedAction `json:"suggested_actions,omitempty"`
	// KeptThrough is for the reset after a recovery: all chunks of the run after
	// that number and before this one are void.
	KeptThrough *int64 `json:"kept_through,omitempty"`
	// EventID is the ID of the event that the chunk answers.
	EventID string `json:"event_id,omitempty"`
	// Seq is the number of the run's event that the chunk shows; 0 if the chunk
	// belongs to no run.
	Seq int64 `json:"seq,omitempty"`
}

// Ticket opens one websocket once, or the stream of one run any number of times.
type Ticket struct {
	Ticket    string `json:"ticket"`
	ExpiresIn int    `json:"expires_in"` // seconds
}
