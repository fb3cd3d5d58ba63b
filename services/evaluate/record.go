// Package evaluate turns rated answers into a data set, answers its questions again and
// compares the answers. It owns the format of the data set and of the report. It leaves
// the answering to its caller, who has a loop and a store of its own for it.
package evaluate

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/text"
	"github.com/chattray/chattray/schemas/turn"
)

// Version is the version of the format of records.
const Version = 1

// Record is a rated answer with everything that is needed to answer its question again.
type Record struct {
	Version        int    `json:"version"`
	RunID          string `json:"run_id"`
	MessageID      string `json:"message_id"`
	ConversationID int64  `json:"conversation_id"`
	UserID         string `json:"user_id,omitempty"`
	// Roles are those of the user when the question was asked.
	Roles     []string  `json:"roles,omitempty"`
	CreatedAt time.Time `json:"created_at"`
	// Page is the page of the question, Context its whole context.
	Page            string                  `json:"page,omitempty"`
	Context         schemas.Object          `json:"context,omitempty"`
	InteractionType schemas.InteractionType `json:"interaction_type,omitempty"`
	Question        string                  `json:"question"`
	Attachments     []schemas.Attachment    `json:"attachments,omitempty"`
	ClientTools     []schemas.ClientTool    `json:"client_tools,omitempty"`
	// History are the earlier messages as the model got them; without a trace, as they
	// are in the chat.
	History []schemas.HistoryMessage `json:"history,omitempty"`
	Model   string                   `json:"model,omitempty"`
	// SystemPrompt is the prompt that the model got, PromptDigest its SHA-256.
	SystemPrompt string `json:"system_prompt,omitempty"`
	PromptDigest string `json:"prompt_digest,omitempty"`
	// Tools are the names of the tools that were offered, Calls what was called.
	Tools    []string  `json:"tools,omitempty"`
	Calls    []Call    `json:"calls,omitempty"`
	Answer   string    `json:"answer"`
	Payloads []Payload `json:"payloads,omitempty"`
	// Status is the status of the answer's message, Error why it has no answer.
	Status     schemas.MessageStatus   `json:"status"`
	StopReason schemas.StopReason      `json:"stop_reason,omitempty"`
	Error      *schemas.MessageFailure `json:"error,omitempty"`
	schemas.Feedback
	Usage schemas.Usage `json:"usage"`
	// DurationMS is from the question to the end of the answer, with all waits.
	DurationMS int64 `json:"duration_ms"`
	// Missing names what is no longer stored, or is too large for a record: trace,
	// attachments, payloads, calls.
	Missing []string `json:"missing,omitempty"`
	// Checks are what a new answer has to fulfil; an export has none.
	Checks []Check `json:"checks,omitempty"`
}

// The parts that a record may lack.
const (
	missingTrace       = "trace"
	missingAttachments = "attachments"
	missingPayloads    = "payloads"
	missingCalls       = "calls"
)

// Call is a call of a tool with its result. Output is the whole text that the tool
// returned.
type Call struct {
	Tool       string          `json:"tool"`
	Input      json.RawMessage `json:"input"`
	Output     string          `json:"output"`
	IsError    bool            `json:"is_error,omitempty"`
	Payload    *Payload        `json:"payload,omitempty"`
	DurationMS int64           `json:"duration_ms,omitempty"`
}

// Payload is structured data of an answer or of a tool's result.
type Payload struct {
	Type string          `json:"type"`
	Data json.RawMessage `json:"data"`
}

// Answer is an answer as checks see it. Text is without tool markers.
type Answer struct {
	Text     string    `json:"text"`
	Calls    []Call    `json:"calls,omitempty"`
	Payloads []Payload `json:"payloads,omitempty"`
}

// WantsJudge reports whether a check needs a model that judges.
func (r *Record) WantsJudge() bool {
	return slices.ContainsFunc(r.Checks, func(c Check) bool { return c.Judge != "" })
}

// Request returns the request that asks the question again, in a new chat. The answer goes
// to the chat, also if it went into a document. A PDF file is sent as the text that the
// service has stored.
func (r *Record) Request() *schemas.ChatRequest {
	page := maps.Clone(r.Context)
	delete(page, turn.ContextBlocks)
	delete(page, turn.ContextMode)
	files := slices.Clone(r.Attachments)
	for i := range files {
		if files[i].MIME == schemas.MediaPDF {
			files[i].MIME = "text/plain"
		}
	}
	return &schemas.ChatRequest{
		Message: r.Question, Context: page, InteractionType: r.InteractionType, ConversationHistory: r.History, Attachments: files, ClientTools: r.ClientTools,
	}
}

// AnswerOf returns a stored answer with its calls. Its payloads must be whole.
func AnswerOf(m *schemas.Message, calls []record.ToolCall) Answer {
	a := Answer{Text: text.WithoutMarkers(m.Content)}
	for i := range calls {
		a.Calls = append(a.Calls, callOf(&calls[i]))
	}
	for _, p := range m.Payloads {
		a.Payloads = append(a.Payloads, Payload{Type: p.Type, Data: p.Data})
	}
	return a
}

func callOf(c *record.ToolCall) Call {
	call := Call{Tool: c.Name, Input: c.Input, Output: c.Output, IsError: c.IsError, DurationMS: c.Duration.Milliseconds()}
	if c.Payload != nil {
		call.Payload = &Payload{Type: c.Payload.Type, Data: c.Payload.Data}
	}
	return call
}
