package store

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/text"
	"github.com/chattray/chattray/store/packed"
	"github.com/chattray/chattray/store/tables"
	"github.com/chattray/chattray/store/values"
)

// blockMarkdown is the type of a message that has no type of its own.
const blockMarkdown = "md"

type chatRow struct {
	ID             int64
	Owner          string
	Key            string
	Title          string
	CreatedAt      int64 `gorm:"autoCreateTime:false"`
	UpdatedAt      int64 `gorm:"autoUpdateTime:false"`
	Summary        string
	SummaryThrough string
	SummaryAt      int64
	Pinned         int64
	Archived       int64
	Unlisted       int64
}

// TableName names the table.
func (chatRow) TableName() string { return "chats" }

func (r *chatRow) chat() schemas.Chat {
	return schemas.Chat{
		ConversationID: r.ID, ChatID: r.Key, Title: r.Title, CreatedAt: values.Moment(r.CreatedAt), UpdatedAt: values.Moment(r.UpdatedAt),
		Pinned: r.Pinned != 0, Archived: r.Archived != 0, Unlisted: r.Unlisted != 0,
	}
}

type runRow struct {
	ID              string
	ChatID          int64
	ChatKey         string
	Owner           string
	OwnerName       string
	OwnerRoles      string
	Replica         string
	State           schemas.RunState
	Attempt         int
	Uncounted       int `gorm:"column:spared"`
	Request         []byte
	UserMessageID   string
	MessageID       string
	LastSeq         int64
	CreatedAt       int64
	EndedAt         int64
	StopReason      schemas.StopReason
	InputTokens     int
	OutputTokens    int
	TotalTokens     int
	CostNano        schemas.USD
	ErrorCode       schemas.Code
	ErrorMessage    string
	IdempotencyKey  *string
	BodyHash        string
	CancelRequested bool
}

// runColumns are the columns of runRow: the library spends some allocations on each that has
// no field.
const runColumns = `runs.id, runs.chat_id, chats.key AS chat_key, runs.owner, runs.owner_name, runs.owner_roles, runs.replica, runs.state, runs.attempt, runs.spared,
	runs.request, runs.user_message_id, runs.message_id, runs.last_seq, runs.created_at, runs.ended_at, runs.stop_reason, runs.input_tokens, runs.output_tokens,
	runs.total_tokens, runs.cost_nano, runs.error_code, runs.error_message, runs.idempotency_key, runs.body_hash, runs.cancel_requested`

func (r *runRow) run() (record.Run, error) {
	request, err := packed.Open(r.Request)
	if err != nil {
		return record.Run{}, fmt.Errorf("run %s: %w", r.ID, err)
	}
	run := record.Run{
		ID: r.ID, ConversationID: r.ChatID, ChatKey: r.ChatKey, Owner: schemas.User{ID: r.Owner, Name: r.OwnerName}, Replica: r.Replica, State: r.State,
		Attempt: r.Attempt, Uncounted: r.Uncounted, Request: request, UserMessageID: r.UserMessageID, MessageID: r.MessageID, LastSeq: r.LastSeq,
		CreatedAt: values.Moment(r.CreatedAt), EndedAt: values.Moment(r.EndedAt), StopReason: r.StopReason,
		Usage:    schemas.Usage{InputTokens: r.InputTokens, OutputTokens: r.OutputTokens, TotalTokens: r.TotalTokens, CostUSD: r.CostNano},
		BodyHash: r.BodyHash, CancelRequested: r.CancelRequested,
	}
	if r.IdempotencyKey != nil {
		run.IdempotencyKey = *r.IdempotencyKey
	}
	if r.ErrorCode != "" || r.ErrorMessage != "" {
		run.Error = &schemas.MessageFailure{Code: r.ErrorCode, Message: r.ErrorMessage}
	}
	if err := json.Unmarshal([]byte(r.OwnerRoles), &run.Owner.Roles); err != nil {
		return record.Run{}, fmt.Errorf("run %s: roles: %w", r.ID, err)
	}
	return run, nil
}

type toolCallRow struct {
	RunID       string
	Idx         int
	ToolUseID   string
	Name        string
	State       record.ToolCallState
	Attempt     int
	Input       []byte
	Output      []byte
	ModelOutput []byte
	IsError     bool
	Payload     []byte
	StartedAt   int64
	DurationUs  int64
}

func (r *toolCallRow) call() (record.ToolCall, error) {
	var u unpacker
	c := record.ToolCall{
		RunID: r.RunID, Index: r.Idx, ToolUseID: r.ToolUseID, Name: r.Name, State: r.State, Attempt: r.Attempt,
		Input: u.bytes(r.Input), Output: string(u.bytes(r.Output)), IsError: r.IsError, StartedAt: values.Moment(r.StartedAt),
		Duration: time.Duration(r.DurationUs) * time.Microsecond,
	}
	c.ModelOutput = c.Output
	if r.ModelOutput != nil {
		c.ModelOutput = string(u.bytes(r.ModelOutput))
	}
	if raw := u.bytes(r.Payload); raw != nil && u.err == nil {
		c.Payload = new(schemas.CustomPayload)
		u.err = json.Unmarshal(raw, c.Payload)
	}
	if u.err != nil {
		return record.ToolCall{}, fmt.Errorf("tool call %d of run %s: %w", r.Idx, r.RunID, u.err)
	}
	return c, nil
}

// unpacker unpacks several values and keeps the first error.
type unpacker struct{ err error }

func (u *unpacker) bytes(stored []byte) []byte {
	data, err := packed.Open(stored)
	if u.err == nil {
		u.err = err
	}
	return data
}

type payloadRow struct {
	Seq       int64
	ChatID    int64
	PayloadID string
	RunID     string
	MessageID string
	Type      string
	Source    string
	Summary   string
	Data      []byte
	Outcome   string
	CreatedAt int64
}

func (r *payloadRow) payload() (schemas.CustomPayload, error) {
	data, err := packed.Open(r.Data)
	if err != nil {
		return schemas.CustomPayload{}, fmt.Errorf("payload %s: %w", r.PayloadID, err)
	}
	return schemas.CustomPayload{
		PayloadID: r.PayloadID, Type: r.Type, Data: data, Summary: r.Summary, Source: r.Source, Outcome: r.Outcome,
	}, nil
}

type blockRow struct {
	Seq       int64
	Place     int64
	Owner     string
	ID        string
	ChatID    int64
	Role      string
	Type      string
	Current   string
	Status    schemas.MessageStatus
	RunID     string
	Data      *string
	Feedback  *string
	CreatedAt int64
	Branch    *string
}

// blockColumns are the columns of blockRow.
const blockColumns = "seq, " + tables.MessagePlace + " AS place, owner, id, chat_id, role, type, current, status, run_id, data, feedback, created_at, branch"

// blockData is the data of a message without its text.
type blockData struct {
	SuggestedValues  []schemas.SuggestedValue  `json:"suggested_values,omitempty"`
	SuggestedActions []schemas.SuggestedAction `json:"suggested_actions,omitempty"`
	// CustomPayload has no data if the data is stored elsewhere: by its id, or
	// as the run's tool calls.
	CustomPayload *schemas.CustomPayload `json:"custom_payload,omitempty"`
	// Payloads are the ids of the payloads in order, if there are several: the
	// payloads are stored in the order of arrival.
	Payloads    []string                 `json:"payloads,omitempty"`
	Interaction schemas.InteractionType  `json:"interaction_type,omitempty"`
	StopReason  schemas.StopReason       `json:"stop_reason,omitempty"`
	Usage       *schemas.Usage           `json:"usage,omitempty"`
	Warnings    []string                 `json:"warnings,omitempty"`
	Error       *schemas.MessageFailure  `json:"error,omitempty"`
	Action      *schemas.ActionMetadata  `json:"action,omitempty"`
	Attachments []schemas.AttachmentInfo `json:"attachments,omitempty"`
}

// messageData returns the column data of a message: JSON, or nil if there is only text.
func messageData(m *schemas.Message) (any, error) {
	d := blockData{
		SuggestedValues: m.SuggestedValues, SuggestedActions: m.SuggestedActions, StopReason: m.StopReason, Usage: m.Usage,
		Warnings: m.Warnings, Error: m.Error, Action: m.Action, Interaction: m.InteractionType,
	}
	for _, a := range m.Attachments {
		d.Attachments = append(d.Attachments, schemas.AttachmentInfo{Name: values.Clean(a.Name), MIME: values.Clean(a.MIME), Size: a.Size})
	}
	if len(m.Payloads) > 1 {
		for _, p := range m.Payloads {
			d.Payloads = append(d.Payloads, p.PayloadID)
		}
	}
	if p := m.CustomPayload; p != nil {
		stripped := *p
		if p.PayloadID != "" || p.Type == schemas.TypeToolHistory {
			stripped.Data = nil
		}
		d.CustomPayload = &stripped
	}
	if d.empty() {
		return nil, nil
	}
	data, err := text.Encode(d)
	return values.Clean(string(data)), err
}

func (d *blockData) empty() bool {
	return len(d.SuggestedValues) == 0 && len(d.SuggestedActions) == 0 && d.CustomPayload == nil && d.StopReason == "" && d.Usage == nil &&
		len(d.Warnings) == 0 && d.Error == nil && d.Action == nil && len(d.Attachments) == 0 && len(d.Payloads) == 0 && d.Interaction == ""
}

// message returns the message without the parts that are stored elsewhere.
func (r *blockRow) message() (schemas.Message, error) {
	m := schemas.Message{
		ID: r.ID, ConversationID: r.ChatID, Role: r.Role, Type: r.Type, Content: r.Current, Status: r.Status,
		CreatedAt: values.Moment(r.CreatedAt), RunID: r.RunID,
	}
	if r.Data != nil {
		var d blockData
		if err := json.Unmarshal([]byte(*r.Data), &d); err != nil {
			return m, fmt.Errorf("message %s: %w", r.ID, err)
		}
		m.SuggestedValues, m.SuggestedActions, m.CustomPayload, m.StopReason = d.SuggestedValues, d.SuggestedActions, d.CustomPayload, d.StopReason
		m.Usage, m.Warnings, m.Error, m.Action, m.Attachments = d.Usage, d.Warnings, d.Error, d.Action, d.Attachments
		m.InteractionType = d.Interaction
		for _, id := range d.Payloads {
			m.Payloads = append(m.Payloads, schemas.CustomPayload{PayloadID: id})
		}
	}
	if r.Feedback != nil {
		m.Feedback = new(schemas.Feedback)
		if err := json.Unmarshal([]byte(*r.Feedback), m.Feedback); err != nil {
			return m, fmt.Errorf("feedback on message %s: %w", r.ID, err)
		}
	}
	return m, nil
}
