package evaluate

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/text"
)

// Limits of an export.
const (
	ratedPage      = 100      // rated answers read at once
	maxHistory     = 100      // messages of a history that is read from the chat
	maxAttachments = 16 << 20 // bytes of the attachments of a record
	maxPayloads    = 8 << 20  // bytes of the payloads of a record
	maxCalls       = 16 << 20 // bytes of the results of its calls
)

// contextPage is the key of a request's context for the page.
const contextPage = "current_page"

// Answers reads answers with their chats.
type Answers interface {
	RatedAnswers(ctx context.Context, q record.RatedQuery) ([]record.RatedAnswer, error)
	Message(ctx context.Context, owner string, id int64, messageID string) (schemas.Message, error)
	Messages(ctx context.Context, owner string, id int64, q record.MessageQuery) ([]schemas.Message, string, error)
	Files(ctx context.Context, owner string, id int64, messageID string) ([]schemas.Attachment, error)
	Payload(ctx context.Context, owner string, id int64, payloadID string) (schemas.CustomPayload, error)
}

// Runs reads runs with their calls and traces.
type Runs interface {
	Run(ctx context.Context, id string) (record.Run, error)
	ToolCalls(ctx context.Context, id string) ([]record.ToolCall, error)
	Trace(ctx context.Context, id string) (json.RawMessage, error)
}

// ExportOptions says which answers are exported; the zero value is all. Since is the
// earliest time of an answer, Rating up or down, Limit the most records.
type ExportOptions struct {
	Since        time.Time
	Rating, Page string
	Limit        int
	// Anonymous leaves out the ids of users.
	Anonymous bool
}

// exporter reads one export.
type exporter struct {
	ExportOptions
	answers Answers
	runs    Runs
}

// Export yields the rated answers of all users, in the order in which they were stored,
// without replies to clicks on actions.
// What is deleted meanwhile is left out. The sequence ends after an error.
func Export(ctx context.Context, answers Answers, runs Runs, o ExportOptions) iter.Seq2[*Record, error] {
	e := &exporter{ExportOptions: o, answers: answers, runs: runs}
	return func(yield func(*Record, error) bool) {
		for q, n := (record.RatedQuery{Since: o.Since, Limit: ratedPage}), 0; ; {
			list, err := answers.RatedAnswers(ctx, q)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, rated := range list {
				q.After = rated.Place
				r, err := e.record(ctx, rated)
				if errors.Is(err, schemas.ErrNotFound) || err == nil && r == nil {
					continue // deleted meanwhile, or not asked for
				}
				if n++; !yield(r, err) || err != nil || n == o.Limit {
					return
				}
			}
			if len(list) < ratedPage {
				return
			}
		}
	}
}

// record returns the record of an answer; nil if it is not asked for.
func (e *exporter) record(ctx context.Context, rated record.RatedAnswer) (*Record, error) {
	m, err := e.answers.Message(ctx, rated.Owner, rated.ConversationID, rated.MessageID)
	if err != nil || m.Feedback == nil || e.Rating != "" && e.Rating != m.Feedback.Rating {
		return nil, err
	}
	run, err := e.runs.Run(ctx, m.RunID)
	if err != nil {
		return nil, err
	}
	var asked schemas.ChatRequest
	if err := json.Unmarshal(run.Request, &asked); err != nil {
		return nil, err
	}
	r := &Record{
		Version: Version, RunID: run.ID, MessageID: m.ID, ConversationID: rated.ConversationID, UserID: rated.Owner, Roles: run.Owner.Roles, CreatedAt: m.CreatedAt,
		Page: cmp.Or(run.Page, asked.Context.String(contextPage)), Context: asked.Context, InteractionType: asked.InteractionType, ClientTools: asked.ClientTools,
		Model: asked.Model, Answer: text.WithoutMarkers(m.Content), Status: m.Status, StopReason: m.StopReason, Error: m.Error,
		Feedback: *m.Feedback, Usage: run.Usage,
	}
	if e.Page != "" && e.Page != r.Page || asked.InteractionType == schemas.ActionExecuted { // no model answers a click
		return nil, nil
	}
	if e.Anonymous {
		r.UserID = ""
	}
	if !run.EndedAt.IsZero() {
		r.DurationMS = run.EndedAt.Sub(run.CreatedAt).Milliseconds()
	}
	for _, part := range []func(context.Context, *Record, record.RatedAnswer, *schemas.Message, *record.Run) error{e.question, e.trace, e.calls, e.payloads} {
		if err := part(ctx, r, rated, &m, &run); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// question adds what the user asked.
func (e *exporter) question(ctx context.Context, r *Record, rated record.RatedAnswer, _ *schemas.Message, run *record.Run) error {
	asked, err := e.answers.Message(ctx, rated.Owner, rated.ConversationID, run.UserMessageID)
	if err != nil {
		return err
	}
	r.Question = asked.Content
	if len(asked.Attachments) == 0 {
		return nil
	}
	size := 0
	for _, a := range asked.Attachments {
		size += a.Size
	}
	if size > maxAttachments {
		r.Missing = append(r.Missing, missingAttachments)
		return nil
	}
	r.Attachments, err = e.answers.Files(ctx, rated.Owner, rated.ConversationID, asked.ID)
	return err
}

// trace adds what the model got. Without a trace it adds the messages of the chat.
func (e *exporter) trace(ctx context.Context, r *Record, rated record.RatedAnswer, _ *schemas.Message, run *record.Run) error {
	raw, err := e.runs.Trace(ctx, r.RunID)
	if errors.Is(err, schemas.ErrNotFound) {
		r.Missing = append(r.Missing, missingTrace)
		return e.history(ctx, r, rated, run.UserMessageID)
	}
	if err != nil {
		return err
	}
	var d schemas.Diagnostics
	if err := json.Unmarshal(raw, &d); err != nil {
		return err
	}
	r.Model, r.SystemPrompt, r.Tools = cmp.Or(d.Model, r.Model), d.SystemPrompt, d.Tools
	if d.SystemPrompt != "" {
		r.PromptDigest = digest(d.SystemPrompt)
	}
	if len(d.Messages) > 0 {
		d.Messages = d.Messages[:len(d.Messages)-1] // the question
	}
	for _, m := range d.Messages {
		r.History = append(r.History, schemas.HistoryMessage{Role: m.Role, Content: m.Content})
	}
	return nil
}

func digest(prompt string) string {
	sum := sha256.Sum256([]byte(prompt))
	return hex.EncodeToString(sum[:])
}

// history adds the messages before the question.
func (e *exporter) history(ctx context.Context, r *Record, rated record.RatedAnswer, question string) error {
	list, _, err := e.answers.Messages(ctx, rated.Owner, rated.ConversationID, record.MessageQuery{Limit: maxHistory, Cursor: rated.Before})
	if err != nil {
		return err
	}
	if at := slices.IndexFunc(list, func(m schemas.Message) bool { return m.ID == question }); at >= 0 {
		list = list[:at]
	}
	for i := range list {
		if content := text.WithoutMarkers(list[i].Content); content != "" {
			r.History = append(r.History, schemas.HistoryMessage{Role: list[i].Role, Content: content})
		}
	}
	return nil
}

// calls adds the calls of tools with their whole results, the first ones if they are large.
func (e *exporter) calls(ctx context.Context, r *Record, _ record.RatedAnswer, _ *schemas.Message, _ *record.Run) error {
	list, err := e.runs.ToolCalls(ctx, r.RunID)
	if err != nil {
		return err
	}
	size := 0
	for i := range list {
		c := &list[i]
		if size += len(c.Output); c.Payload != nil {
			size += len(c.Payload.Data)
		}
		if size > maxCalls {
			r.Missing = append(r.Missing, missingCalls)
			return nil
		}
		r.Calls = append(r.Calls, callOf(c))
	}
	return nil
}

// payloads adds the payloads of the answer with their whole data.
func (e *exporter) payloads(ctx context.Context, r *Record, rated record.RatedAnswer, m *schemas.Message, _ *record.Run) error {
	size := 0
	for i := range m.Payloads {
		p, err := e.answers.Payload(ctx, rated.Owner, rated.ConversationID, m.Payloads[i].PayloadID)
		if errors.Is(err, schemas.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		if size += len(p.Data); size > maxPayloads {
			r.Payloads, r.Missing = nil, append(r.Missing, missingPayloads)
			return nil
		}
		r.Payloads = append(r.Payloads, Payload{Type: p.Type, Data: p.Data})
	}
	return nil
}
