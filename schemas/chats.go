package schemas

import (
	"encoding/json"
	"slices"
	"time"
)

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

// ModelOffer is a model that a request may name.
type ModelOffer struct {
	Name string `json:"name"`
	// Default is true for the model of requests that name none.
	Default bool `json:"default"`
	// ContextWindow is in tokens; it is absent if unknown.
	ContextWindow int         `json:"context_window,omitempty"`
	Price         *ModelPrice `json:"price,omitempty"`
}

// ModelPrice is in US dollars for a million tokens.
type ModelPrice struct {
	Input  float64 `json:"input"`
	Output float64 `json:"output"`
}

// ModelList lists the models.
type ModelList struct {
	Items []ModelOffer `json:"items"`
}

// Resolution is the user's decision about a payload.
type Resolution struct {
	Outcome string `json:"outcome" validate:"required,oneof=accepted rejected"`
}

// RunState is the state of a run.
type RunState string

// The run states.
const (
	RunQueued    RunState = "queued"
	RunRunning   RunState = "running"
	RunWaiting   RunState = "waiting"
	RunCompleted RunState = "completed"
	RunFailed    RunState = "failed"
	RunCancelled RunState = "cancelled"
)

// Terminal reports whether a run in this state has ended.
func (s RunState) Terminal() bool {
	return s == RunCompleted || s == RunFailed || s == RunCancelled
}

// Run is the work on one user message.
type Run struct {
	RunID          string    `json:"run_id"`
	ConversationID int64     `json:"conversation_id"`
	ChatID         string    `json:"chat_id,omitempty"`
	State          RunState  `json:"state"`
	Attempt        int       `json:"attempt"`
	LastSequence   int64     `json:"last_sequence"`
	UserMessageID  string    `json:"user_message_id,omitempty"`
	MessageID      string    `json:"message_id,omitempty"`
	CreatedAt      time.Time `json:"created_at"`
	// EndedAt is absent until the run has ended.
	EndedAt    *time.Time      `json:"ended_at,omitempty"`
	StopReason StopReason      `json:"stop_reason,omitempty"`
	Usage      Usage           `json:"usage"`
	Error      *MessageFailure `json:"error,omitempty"`
	// Begun is true if the request at hand began the run, false if it found it.
	Begun bool `json:"-"`
}

// RunList lists runs.
type RunList struct {
	Items []Run `json:"items"`
}

// User is the authenticated user; ID is issuer and subject.
type User struct {
	ID    string   `json:"user_id"`
	Name  string   `json:"name"`
	Roles []string `json:"roles"`
}

// Me is the authenticated user, with what the user may see and do.
type Me struct {
	ID    string   `json:"user_id"`
	Name  string   `json:"name"`
	Roles []string `json:"roles"`
	May   May      `json:"may"`
}

// May has the rights of a user beyond the user's own data.
type May struct {
	// Diagnostics allows reading the trace of runs, with the system prompt.
	Diagnostics bool `json:"diagnostics"`
	// AllUsage allows reading the usage of all users.
	AllUsage bool `json:"all_usage"`
	// AllStreams allows changing streams of other users, or without an owner.
	AllStreams bool `json:"all_streams"`
}

// Admin reports whether the user has the role admin.
func (u User) Admin() bool {
	return slices.Contains(u.Roles, "admin")
}

// Tool is a tool that a page offers.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"input_schema"`
}

// ToolList lists tools.
type ToolList struct {
	Items []Tool `json:"items"`
}

// Page is what a page offers to its chat.
type Page struct {
	Page         string        `json:"page"`
	Aliases      []string      `json:"aliases"`
	Tools        []string      `json:"tools"`
	PayloadTypes []PayloadType `json:"payload_types"`
	Actions      []Action      `json:"actions"`
	Tabs         []Tab         `json:"tabs"`
}

// Tab is what a tab adds to its page.
type Tab struct {
	Tab          string        `json:"tab"`
	Tools        []string      `json:"tools"`
	PayloadTypes []PayloadType `json:"payload_types"`
	Actions      []Action      `json:"actions"`
	Subtabs      []Subtab      `json:"subtabs"`
}

// Subtab is what a subtab adds to its tab.
type Subtab struct {
	Subtab       string        `json:"subtab"`
	Tools        []string      `json:"tools"`
	PayloadTypes []PayloadType `json:"payload_types"`
	Actions      []Action      `json:"actions"`
}

// PageList lists pages.
type PageList struct {
	Items []Page `json:"items"`
}

// PayloadType is a kind of payload with its JSON schema. Source is tool or llm.
type PayloadType struct {
	Name        string          `json:"name"`
	Source      string          `json:"source"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"schema"`
	ParseMarker string          `json:"parse_marker,omitempty"`
}

// Action is an action that a page declares. Handler is client or server.
type Action struct {
	Action      string `json:"action"`
	Description string `json:"description"`
	Handler     string `json:"handler"`
	// PayloadType is the type of the payloads that the action accepts.
	PayloadType string `json:"payload_type,omitempty"`
	// Schema is the JSON schema of the data; it is set for an action that a
	// page file handles.
	Schema json.RawMessage `json:"schema,omitempty"`
}

// Stream is a research stream: a question that is followed over time, with its schema.
type Stream struct {
	StreamID     int64           `json:"stream_id"`
	Name         string          `json:"name"`
	Purpose      string          `json:"purpose"`
	Schema       json.RawMessage `json:"schema"`
	Instructions string          `json:"instructions,omitempty"`
	Owner        string          `json:"owner,omitempty"`
	CreatedAt    time.Time       `json:"created_at"`
	UpdatedAt    time.Time       `json:"updated_at"`
}

// StreamUpdate is the body of PUT /api/streams/{id}; absent parts are not
// changed.
type StreamUpdate struct {
	Name         *string         `json:"name,omitempty" validate:"omitempty,min=1,max=200"`
	Purpose      *string         `json:"purpose,omitempty" validate:"omitempty,max=4000"`
	Schema       json.RawMessage `json:"schema,omitempty"`
	Instructions *string         `json:"instructions,omitempty" validate:"omitempty,max=20000"`
}

// StreamList lists streams.
type StreamList struct {
	Items []Stream `json:"items"`
}

// Report is one run of a stream: articles and their summary. Articles is set
// when one report is read.
type Report struct {
	ReportID     int64     `json:"report_id"`
	StreamID     int64     `json:"stream_id"`
	Title        string    `json:"title"`
	Summary      string    `json:"summary"`
	PublishedAt  time.Time `json:"published_at"`
	ArticleCount int       `json:"article_count"`
	Articles     []Article `json:"articles,omitempty"`
}

// ReportList lists reports, newest first.
type ReportList struct {
	Items []Report `json:"items"`
}

// Article is a publication in a report.
type Article struct {
	ArticleID int64    `json:"article_id"`
	ReportID  int64    `json:"report_id"`
	PMID      string   `json:"pmid,omitempty"`
	DOI       string   `json:"doi,omitempty"`
	Title     string   `json:"title"`
	Authors   []string `json:"authors"`
	Journal   string   `json:"journal,omitempty"`
	Year      int      `json:"year,omitempty"`
	Abstract  string   `json:"abstract,omitempty"`
	Category  string   `json:"category,omitempty"`
	URL       string   `json:"url,omitempty"`
}
