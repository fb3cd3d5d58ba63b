package schemas

import "time"

// MessageStatus is the state of a message.
type MessageStatus string

// The message statuses.
const (
	MessageComplete   MessageStatus = "complete"
	MessageIncomplete MessageStatus = "incomplete"
	MessageCancelled  MessageStatus = "cancelled"
	MessageSuperseded MessageStatus = "superseded"
	MessageError      MessageStatus = "error"
)

// Message is one turn's text by user or assistant; it is stored as a block with
// the same ID.
type Message struct {
	ID             string        `json:"id"`
	ConversationID int64         `json:"conversation_id"`
	Role           string        `json:"role"`
	Type           string        `json:"type"`
	Content        string        `json:"content"`
	Status         MessageStatus `json:"status"`
	CreatedAt      time.Time     `json:"created_at"`
	RunID          string        `json:"run_id,omitempty"`
	// BlockIDs are all ids that the client has chosen for an answer, comma separated,
	// ID first; it is empty if there is only ID.
	BlockIDs         string            `json:"block_ids,omitempty"`
	SuggestedValues  []SuggestedValue  `json:"suggested_values,omitempty"`
	SuggestedActions []SuggestedAction `json:"suggested_actions,omitempty"`
	CustomPayload    *CustomPayload    `json:"custom_payload,omitempty"`
	Payloads         []CustomPayload   `json:"payloads,omitempty"`
	ToolHistory      []ToolCall        `json:"tool_history,omitempty"`
	StopReason       StopReason        `json:"stop_reason,omitempty"`
	Usage            *Usage            `json:"usage,omitempty"`
	Warnings         []string          `json:"warnings,omitempty"`
	Feedback         *Feedback         `json:"feedback,omitempty"`
	Error            *MessageFailure   `json:"error,omitempty"`
	// InteractionType is value_selected for a suggested value that the user chose.
	InteractionType InteractionType `json:"interaction_type,omitempty"`
	// Action is the click that this user message records.
	Action *ActionMetadata `json:"action,omitempty"`
	// Attachments are the files of a user message, without their content.
	Attachments []AttachmentInfo `json:"attachments,omitempty"`
	// Version is set if the message has other versions.
	Version *Version `json:"version,omitempty"`
}

// Version is the place of a message among the versions of an edited question,
// or of an answer that was generated again. The first is number 1.
type Version struct {
	Number     int    `json:"number"`
	Count      int    `json:"count"`
	PreviousID string `json:"previous_id,omitempty"`
	NextID     string `json:"next_id,omitempty"`
}

// VersionItem is a version with the beginning of its text.
type VersionItem struct {
	MessageID string        `json:"message_id"`
	Number    int           `json:"number"`
	Current   bool          `json:"current"`
	Status    MessageStatus `json:"status"`
	Preview   string        `json:"preview"`
	CreatedAt time.Time     `json:"created_at"`
}

// VersionList has the versions of a message, the oldest first.
type VersionList struct {
	Items []VersionItem `json:"items"`
}

// AttachmentInfo names an attachment; Size is in bytes.
type AttachmentInfo struct {
	Name string `json:"name"`
	MIME string `json:"mime"`
	Size int    `json:"size"`
}

// MessageFailure says why an assistant message of status error has no answer.
type MessageFailure struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
}

// Feedback is the user's rating of an answer.
type Feedback struct {
	Rating string `json:"rating" validate:"required,oneof=up down"`
	// Reasons say what is wrong with an answer that is rated down.
	Reasons []string `json:"reasons,omitempty" validate:"max=7,unique,dive,oneof=incorrect not_helpful incomplete instructions sources harmful other"`
	Comment string   `json:"comment,omitempty" validate:"max=4000"`
}

// Chat is a conversation of one user. Messages and NextCursor are set when one chat is read.
type Chat struct {
	ConversationID int64     `json:"conversation_id"`
	ChatID         string    `json:"chat_id"`
	Title          string    `json:"title"`
	CreatedAt      time.Time `json:"created_at"`
	UpdatedAt      time.Time `json:"updated_at"`
	ActiveRunID    string    `json:"active_run_id,omitempty"`
	// Pinned chats come first in the list; archived ones are in a list of their own.
	Pinned   bool `json:"pinned,omitempty"`
	Archived bool `json:"archived,omitempty"`
	// Unlisted chats are in a list of their own too.
	Unlisted bool `json:"unlisted,omitempty"`
	// Usage is the sum of all runs of the chat; it is set when one chat is read.
	Usage      *Usage    `json:"usage,omitempty"`
	Messages   []Message `json:"messages,omitempty"`
	NextCursor string    `json:"next_cursor,omitempty"`
	// Truncated says that an export leaves out the messages after these.
	Truncated bool `json:"truncated,omitempty"`
}

// ChatList is a page of chats, newest first.
type ChatList struct {
	Items      []Chat `json:"items"`
	NextCursor string `json:"next_cursor,omitempty"`
}

// ChatPatch renames, pins and archives a chat; nil fields change nothing.
type ChatPatch struct {
	Title    *string `json:"title,omitempty" validate:"omitempty,max=200"`
	Pinned   *bool   `json:"pinned,omitempty"`
	Archived *bool   `json:"archived,omitempty"`
}

// Resolution is the user's decision about a payload.
type Resolution struct {
	Outcome string `json:"outcome" validate:"required,oneof=accepted rejected"`
}
