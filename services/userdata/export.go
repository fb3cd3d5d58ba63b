package userdata

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

// errStopped ends an export whose reader has stopped reading.
var errStopped = errors.New("userdata: the reader has stopped")

// export writes lines.
type export struct {
	*UserData
	ctx   context.Context //nolint:containedctx // of the one export
	user  schemas.User
	yield func([]byte, error) bool
	lines int
	seen  map[string]bool // messages of the chat that were written

	before int64 // deletions of the user's data before the export
}

// Export yields everything of a user as lines of JSON: objects with a kind and its data.
// The first line is the user. The last one has the kind end and the number of lines before
// it. Exports of one user are made one after the other; one that would wait longer than
// turnWait yields an error with the code busy. If the user's data is deleted meanwhile, also
// by another process, the export ends with an error in place of the last line. The deletion
// does not wait for the reader.
func (u *UserData) Export(ctx context.Context, user schemas.User) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		unlock, err := turn(ctx, &u.exports, user.ID, errExporting)
		if err != nil {
			yield(nil, err)
			return
		}
		defer unlock()
		deletions, err := u.begin(ctx, user.ID)
		if err != nil {
			yield(nil, err)
			return
		}
		e := &export{UserData: u, ctx: ctx, user: user, yield: yield, before: deletions}
		if err := e.all(); err != nil && !errors.Is(err, errStopped) {
			yield(nil, err)
		}
	}
}

func (e *export) all() error {
	for _, part := range []func() error{e.person, e.used, e.conversations, e.texts} {
		if err := part(); err != nil {
			return err
		}
	}
	if err := e.whole(e.ctx, e.user.ID, e.before); err != nil {
		return err
	}
	return e.line("end", struct {
		Lines int `json:"lines"`
	}{e.lines})
}

// line writes one line.
func (e *export) line(kind string, data any) error {
	line, err := json.Marshal(struct {
		Kind string `json:"kind"`
		Data any    `json:"data"`
	}{kind, data})
	if err != nil {
		return err
	}
	e.lines++
	if !e.yield(append(line, '\n'), nil) {
		return errStopped
	}
	return nil
}

func (e *export) person() error {
	if e.user.Roles == nil {
		e.user.Roles = []string{} // an array, as in GET /api/me
	}
	return e.line("user", struct {
		schemas.User

		ExportedAt time.Time `json:"exported_at"`
	}{e.user, time.Now().UTC()})
}

func (e *export) used() error {
	for item, err := range e.usage(e.ctx, e.user.ID) {
		if err == nil {
			err = e.line("usage", item)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// usage yields what a user has used of models, year by year.
func (u *UserData) usage(ctx context.Context, owner string) iter.Seq2[schemas.UsageItem, error] {
	return func(yield func(schemas.UsageItem, error) bool) {
		for year := firstYear; year <= time.Now().UTC().Year(); year++ {
			list, err := u.totals.Usage(ctx, owner, fmt.Sprintf("%d-01-01", year), fmt.Sprintf("%d-12-31", year))
			if err != nil {
				yield(schemas.UsageItem{}, err)
				return
			}
			for i := range list {
				if !yield(list[i], nil) {
					return
				}
			}
		}
	}
}

// firstYear is the first year in which usage was counted.
const firstYear = 2024

// conversations writes the chats, each followed by its messages and runs.
func (e *export) conversations() error {
	for last := int64(0); ; {
		list, err := e.chats.ChatsAfter(e.ctx, e.user.ID, last, pageSize)
		if err != nil || len(list) == 0 {
			return err
		}
		for i := range list {
			last = list[i].ConversationID
			if err := e.conversation(&list[i]); err != nil && !errors.Is(err, schemas.ErrNotFound) { // deleted meanwhile
				return err
			}
		}
	}
}

func (e *export) conversation(chat *schemas.Chat) error {
	view := struct {
		*schemas.Chat

		Summary *summary `json:"summary,omitempty"`
	}{Chat: chat}
	sum, err := e.chats.Summary(e.ctx, e.user.ID, chat.ConversationID)
	if err != nil {
		return err
	}
	if sum.Text != "" {
		view.Summary = &summary{Text: sum.Text, Through: sum.Through, UpdatedAt: sum.UpdatedAt}
	}
	if err := e.line("chat", view); err != nil {
		return err
	}
	e.seen = make(map[string]bool)
	q := record.MessageQuery{Limit: pageSize, Forward: true, Superseded: true}
	for {
		list, next, err := e.chats.Messages(e.ctx, e.user.ID, chat.ConversationID, q)
		if err != nil {
			return err
		}
		for i := range list {
			if err := e.message(&list[i]); err != nil {
				return err
			}
		}
		if next == "" {
			return e.runs(chat.ConversationID)
		}
		q.Cursor = next
	}
}

// summary is what a model has written of a chat's older turns, through a message.
type summary struct {
	Text      string    `json:"text"`
	Through   string    `json:"through"`
	UpdatedAt time.Time `json:"updated_at"`
}

// message writes a message, its payloads whole, and the content of its attachments. A version
// that is selected meanwhile moves to the end of its chat, and is read again.
func (e *export) message(m *schemas.Message) error {
	if e.seen[m.ID] {
		return nil
	}
	e.seen[m.ID] = true
	for i := range m.Payloads {
		whole, err := e.chats.Payload(e.ctx, e.user.ID, m.ConversationID, m.Payloads[i].PayloadID)
		if err == nil {
			m.Payloads[i] = whole
		} else if !errors.Is(err, schemas.ErrNotFound) {
			return err
		}
	}
	if err := e.line("message", m); err != nil || len(m.Attachments) == 0 {
		return err
	}
	files, err := e.chats.Files(e.ctx, e.user.ID, m.ConversationID, m.ID)
	if err != nil {
		return err
	}
	for i := range files {
		err := e.line("attachment", struct {
			MessageID string `json:"message_id"`
			schemas.Attachment
		}{m.ID, files[i]})
		if err != nil {
			return err
		}
	}
	return nil
}

// runs writes the runs of a chat with their requests, each followed by its calls of tools
// with their whole outputs, and by what the user or the page has answered to calls.
func (e *export) runs(conversationID int64) error {
	for place := int64(0); ; {
		list, err := e.UserData.runs.RunsOf(e.ctx, e.user.ID, conversationID, place, pageSize)
		if err != nil || len(list) == 0 {
			return err
		}
		for i := range list {
			place = list[i].Place
			if err := e.run(&list[i].Run); err != nil {
				return err
			}
		}
	}
}

func (e *export) run(r *record.Run) error {
	view := struct {
		schemas.Run

		User           runUser         `json:"user"`
		IdempotencyKey string          `json:"idempotency_key,omitempty"`
		Request        json.RawMessage `json:"request"`
	}{schemas.Run{
		RunID: r.ID, ConversationID: r.ConversationID, ChatID: r.ChatKey, State: r.State, Attempt: r.Attempt, LastSequence: r.LastSeq,
		UserMessageID: r.UserMessageID, MessageID: r.MessageID, CreatedAt: r.CreatedAt, StopReason: r.StopReason, Usage: r.Usage, Error: r.Error,
	}, runUser{r.Owner.Name, r.Owner.Roles}, r.IdempotencyKey, r.Request}
	if !r.EndedAt.IsZero() {
		view.EndedAt = &r.EndedAt
	}
	if err := e.line("run", view); err != nil {
		return err
	}
	if err := e.late(r); err != nil {
		return err
	}
	if err := e.calls(r.ID); err != nil {
		return err
	}
	return e.waits(r.ID)
}

// late writes the messages of a run that were stored after those of its chat were read.
func (e *export) late(r *record.Run) error {
	for _, id := range []string{r.UserMessageID, r.MessageID} {
		if id == "" || e.seen[id] {
			continue
		}
		m, err := e.chats.Message(e.ctx, e.user.ID, r.ConversationID, id)
		if errors.Is(err, schemas.ErrNotFound) {
			continue // the run has not ended
		}
		if err == nil {
			err = e.message(&m)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// runUser is the user as the token of the run's request said.
type runUser struct {
	Name  string   `json:"name"`
	Roles []string `json:"roles"`
}

func (e *export) calls(run string) error {
	calls, err := e.UserData.runs.ToolCalls(e.ctx, run)
	if err != nil {
		return err
	}
	for i := range calls {
		c := &calls[i]
		err := e.line("tool_call", struct {
			RunID string `json:"run_id"`
			Index int    `json:"index"`
			schemas.ToolCall
		}{run, c.Index, schemas.ToolCall{
			ToolName: c.Name, Input: c.Input, Output: c.Output, IsError: c.IsError, ToolUseID: c.ToolUseID, DurationMS: c.Duration.Milliseconds(),
		}})
		if err != nil {
			return err
		}
	}
	return nil
}

// waits writes the calls of a run that wait or have waited for the user or the page.
func (e *export) waits(run string) error {
	list, err := e.UserData.runs.Waits(e.ctx, run)
	if err != nil {
		return err
	}
	for i := range list {
		w := &list[i]
		err := e.line("wait", wait{
			RunID: run, Index: w.Index, Kind: w.Kind, ApprovalID: w.ID, ToolUseID: w.ToolUseID, ToolName: w.Tool, Input: w.Input, Reason: w.Reason,
			CreatedAt: w.CreatedAt, ExpiresAt: w.ExpiresAt, Answer: w.Answer, AnsweredAt: w.AnsweredAt, Edited: w.Edited, Output: w.Output, IsError: w.IsError,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// wait is a call that waits or has waited, with the answer.
type wait struct {
	RunID      string                 `json:"run_id"`
	Index      int                    `json:"index"`
	Kind       schemas.WaitKind       `json:"kind"`
	ApprovalID string                 `json:"approval_id,omitempty"`
	ToolUseID  string                 `json:"tool_use_id"`
	ToolName   string                 `json:"tool_name"`
	Input      json.RawMessage        `json:"input"`
	Reason     schemas.ApprovalReason `json:"reason,omitempty"`
	CreatedAt  time.Time              `json:"created_at"`
	ExpiresAt  time.Time              `json:"expires_at,omitzero"`
	Answer     schemas.WaitAnswer     `json:"answer,omitempty"`
	AnsweredAt time.Time              `json:"answered_at,omitzero"`
	Edited     json.RawMessage        `json:"edited,omitempty"`
	Output     string                 `json:"output,omitempty"`
	IsError    bool                   `json:"is_error,omitempty"`
}

// texts writes the documents, each followed by its versions.
func (e *export) texts() error {
	for q := (record.DocumentQuery{Limit: pageSize}); ; {
		list, err := e.documents.List(e.ctx, e.user, q)
		if err != nil {
			return err
		}
		for i := range list.Items {
			if err := e.document(list.Items[i].ID); err != nil && !errors.Is(err, schemas.ErrNotFound) { // deleted meanwhile
				return err
			}
		}
		if q.Cursor = list.NextCursor; q.Cursor == "" {
			return nil
		}
	}
}

func (e *export) document(id string) error {
	whole, err := e.documents.Get(e.ctx, e.user, id)
	if err != nil {
		return err
	}
	if err := e.line("document", whole); err != nil {
		return err
	}
	versions, err := e.documents.Versions(e.ctx, e.user, id)
	if err != nil {
		return err
	}
	for _, v := range versions.Items {
		whole, err := e.documents.Version(e.ctx, e.user, id, v.Revision)
		if errors.Is(err, schemas.ErrNotFound) {
			continue // dropped meanwhile
		}
		if err != nil {
			return err
		}
		if err := e.line("document_version", whole); err != nil {
			return err
		}
	}
	return nil
}
