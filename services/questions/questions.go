// Package questions turns a request into the first write of its run. It checks
// the request against what the service offers, and finds out which chat it is
// for, which message it asks about and where the answer goes. It stores
// nothing.
package questions

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/seldom"
	"github.com/chattray/chattray/schemas/text"
	"github.com/chattray/chattray/services/clicks"
	"github.com/chattray/chattray/services/documents"
	"github.com/chattray/chattray/services/pages"
	"github.com/chattray/chattray/services/pdftext"
)

// Store reads chats and runs; anything unknown or owned by another user is
// schemas.ErrNotFound.
type Store interface {
	// Chat returns the chat without messages.
	Chat(ctx context.Context, owner string, id int64) (schemas.Chat, error)
	ChatByKey(ctx context.Context, owner, key string) (schemas.Chat, error)
	// Messages returns a page of messages and the cursor of the preceding page.
	Messages(ctx context.Context, owner string, id int64, q record.MessageQuery) ([]schemas.Message, string, error)
	Message(ctx context.Context, owner string, id int64, messageID string) (schemas.Message, error)
	// Files returns the attachments of a user's message with their content.
	Files(ctx context.Context, owner string, id int64, messageID string) ([]schemas.Attachment, error)
}

// Runs finds runs.
type Runs interface {
	Run(ctx context.Context, id string) (record.Run, error)
	// RunOfAnswer returns the unfinished run of the chat whose answer has the id.
	RunOfAnswer(ctx context.Context, owner string, id int64, answer string) (record.Run, error)
	// RunByKey finds the run that the owner started under an Idempotency-Key, and
	// RunByMessage the one that the owner's message began.
	RunByKey(ctx context.Context, owner, key string) (record.Run, error)
	RunByMessage(ctx context.Context, owner, messageID string) (record.Run, error)
}

// Options is what Questions works with. All fields but Documents and PDF must be set.
type Options struct {
	Store  Store
	Runs   Runs
	Pages  *pages.Pages
	Clicks *clicks.Clicks
	// Documents finds the blocks that an answer goes to; nil has none.
	Documents *documents.Documents
	// PDF reads attached PDF files; nil takes none.
	PDF *pdftext.Reader
	// OffersModel reports whether a request may name the model.
	OffersModel func(name string) bool
	Now         func() time.Time
	Logger      *slog.Logger
}

// Questions makes first writes of runs. It is safe for concurrent use.
type Questions struct {
	Options
	unknown seldom.Log // of pages that no file describes
}

// New returns Questions with these options.
func New(o Options) *Questions { return &Questions{Options: o} }

// Question is a request with everything its run needs to begin.
type Question struct {
	*record.Begin
	Request *schemas.ChatRequest
	// Claim is what the run claims when it begins.
	Claim documents.Claim
	// Cancels is true if a run that this one would wait for is to be cancelled.
	Cancels bool
}

// FirstWrite returns the question of a request, which has been decoded and
// validated, with the first write of its run. The error says what the service
// does not accept.
func (q *Questions) FirstWrite(ctx context.Context, user schemas.User, req *schemas.ChatRequest, o record.StartOptions) (*Question, error) {
	if err := q.check(ctx, user, req); err != nil {
		return nil, err
	}
	if err := q.checkTargets(user, req.Context); err != nil {
		return nil, err
	}
	placed, err := q.place(ctx, user, req)
	if err != nil {
		return nil, err
	}
	raw := o.Body
	if raw == nil || placed || req.InteractionType == schemas.ActionExecuted { // the click's payload has been set
		raw = schemas.Encode(req)
	}
	first := firstMessage(req)
	b := &record.Begin{
		ConversationID: req.ConversationID, ChatKey: req.ChatID, FirstMessage: first, Title: title(first), Unlisted: req.Unlisted, Queue: req.IfBusy == "queue",
		Run: record.Run{
			ID: newID(), ChatKey: req.ChatID, ConversationID: req.ConversationID, Owner: user, Request: raw, CreatedAt: q.Now(),
			MessageID: newID(), IdempotencyKey: o.IdempotencyKey, BodyHash: o.BodyHash, Page: q.page(ctx, req),
		},
	}
	if err := q.chat(ctx, req, b); err != nil {
		return nil, err
	}
	if err := q.supersede(ctx, req, b); err != nil {
		return nil, err
	}
	if req.RegenerateMessageID == "" {
		ask(req, b)
		if err := q.attach(ctx, req, b); err != nil {
			return nil, err
		}
	}
	if err := q.reserve(ctx, req.Context, b); err != nil {
		return nil, err
	}
	return &Question{Begin: b, Request: req, Claim: documents.ClaimOf(user.ID, b.Run.ID, req), Cancels: req.IfBusy == "cancel"}, nil
}

// page returns the name of the request's page, empty if the service does not have it. Such a
// page is no error, but its name may be misspelt, so the log has it.
func (q *Questions) page(ctx context.Context, req *schemas.ChatRequest) string {
	name := req.Context.String("current_page")
	page, known := q.Pages.Page(name)
	if !known && name != "" {
		name = text.Bytes(name, maxLogged)
		q.unknown.About(ctx, name, q.Logger, slog.LevelInfo, "no page file describes the page of a question, which gets the tools of every page", slog.String("current_page", name))
	}
	return page.Page
}

// maxLogged bounds the part of a page's name that the log has, in bytes.
const maxLogged = 100

func newID() string { return uuid.Must(uuid.NewV7()).String() }

// check refuses a model, an action or tools that the service does not accept.
func (q *Questions) check(ctx context.Context, user schemas.User, req *schemas.ChatRequest) error {
	if req.Model != "" && !q.OffersModel(req.Model) {
		return schemas.Invalid("/model", "this model is not offered")
	}
	return q.checkOffered(ctx, user, req)
}

// checkOffered refuses a click and client tools that do not fit what the request's
// page offers.
func (q *Questions) checkOffered(ctx context.Context, user schemas.User, req *schemas.ChatRequest) error {
	click := req.InteractionType == schemas.ActionExecuted
	if !click && len(req.ClientTools) == 0 {
		return nil
	}
	if click && req.ActionMetadata == nil {
		return schemas.Invalid("/action_metadata", "is required with interaction_type action_executed")
	}
	offer, err := q.Pages.OfferFor(req.Context, nil, user)
	if err != nil {
		return err
	}
	if click {
		if err := q.Clicks.Check(ctx, user, req, offer); err != nil {
			return err
		}
	}
	return q.Pages.CheckClientTools(offer.Tools, req.ClientTools)
}

// chat checks the chat that the request names; a new one begins with the
// messages that the client sent along.
func (q *Questions) chat(ctx context.Context, req *schemas.ChatRequest, b *record.Begin) error {
	switch {
	case req.ConversationID != 0 && req.ChatID != "":
		chat, err := q.Store.Chat(ctx, b.Run.Owner.ID, req.ConversationID)
		if err != nil {
			return err
		}
		if chat.ChatID != req.ChatID {
			return schemas.NewError(schemas.CodeInvalid, "conversation_id and chat_id name different chats")
		}
	case req.ConversationID == 0:
		for _, m := range req.ConversationHistory {
			b.History = append(b.History, schemas.Message{
				ID: newID(), Role: m.Role, Type: "md", Content: m.Content, Status: schemas.MessageComplete, CreatedAt: b.Run.CreatedAt,
			})
		}
	}
	return nil
}

// ask adds the user's message.
func ask(req *schemas.ChatRequest, b *record.Begin) {
	m := schemas.Message{
		ID: newID(), Role: "user", Type: "md", Content: req.Message, Status: schemas.MessageComplete,
		CreatedAt: b.Run.CreatedAt, RunID: b.Run.ID,
	}
	if req.InteractionType == schemas.ValueSelected {
		m.InteractionType = req.InteractionType
	}
	if req.InteractionType == schemas.ActionExecuted {
		m.Action = req.ActionMetadata
		if m.Content == "" {
			m.Content = req.ActionMetadata.ActionIdentifier
		}
	}
	if req.MessageID != "" {
		m.ID, b.Named = req.MessageID, true
	}
	b.UserMessage = &record.UserMessage{Message: m}
	b.Run.UserMessageID = m.ID
}

// supersede finds the message that the request edits, or whose answer it asks
// for again, and marks it and the messages after it as superseded.
func (q *Questions) supersede(ctx context.Context, req *schemas.ChatRequest, b *record.Begin) error {
	edit, again := req.EditMessageID, req.RegenerateMessageID
	if edit == "" && again == "" {
		return nil
	}
	if again != "" && req.MessageID != "" {
		return schemas.Invalid("/message_id", "an answer that is generated again has no new message")
	}
	if edit != "" && again != "" {
		return schemas.Invalid("/regenerate_message_id", "edit_message_id and regenerate_message_id exclude each other")
	}
	if err := q.findChat(ctx, b); err != nil {
		return err
	}
	if again != "" {
		return q.regenerate(ctx, req, b)
	}
	m, err := q.Store.Message(ctx, b.Run.Owner.ID, b.ConversationID, edit)
	if err != nil {
		return err
	}
	if m.Role != "user" || m.Status == schemas.MessageSuperseded {
		return notCurrent(req)
	}
	b.Supersede = m.ID
	return nil
}

// notCurrent is the error for a request that replaces a message which is replaced already.
func notCurrent(req *schemas.ChatRequest) error {
	if req.RegenerateMessageID != "" {
		return schemas.Invalid("/regenerate_message_id", "is not a current message of the assistant")
	}
	return schemas.Invalid("/edit_message_id", "is not a current message of the user")
}

// errQueueFull refuses a message when too many others of its chat wait.
var errQueueFull = &schemas.Error{Code: schemas.CodeTooManyRuns, Message: "too many messages wait in this chat; wait for an answer", RetryAfter: 5}

// Busy is the error for a request that cannot begin beside a run. It may be sent again
// after so many seconds; 0 says nothing about that.
func Busy(run, why string, retryAfter int) error {
	return &schemas.Error{Code: schemas.CodeBusy, Message: why, RunID: run, RetryAfter: retryAfter}
}

// findChat finds the chat of an edit or a regeneration.
func (q *Questions) findChat(ctx context.Context, b *record.Begin) error {
	if b.ConversationID != 0 {
		return nil
	}
	if b.ChatKey == "" {
		return schemas.Invalid("/conversation_id", "is required to edit or regenerate")
	}
	chat, err := q.Store.ChatByKey(ctx, b.Run.Owner.ID, b.ChatKey)
	b.ConversationID, b.Run.ConversationID = chat.ConversationID, chat.ConversationID
	return err
}

// regenerate finds the question of an answer: the question of its run, or, for
// an answer that the client sent along, the user's message before it. An answer under way
// is superseded when the new one begins.
func (q *Questions) regenerate(ctx context.Context, req *schemas.ChatRequest, b *record.Begin) error {
	id, owner := req.RegenerateMessageID, b.Run.Owner.ID
	answer, err := q.Store.Message(ctx, owner, b.ConversationID, id)
	if errors.Is(err, schemas.ErrNotFound) { // it may be under way
		run, err := q.Runs.RunOfAnswer(ctx, owner, b.ConversationID, id)
		b.Run.UserMessageID = run.UserMessageID
		return err
	}
	if err != nil {
		return err
	}
	if answer.Role != "assistant" || answer.Status == schemas.MessageSuperseded {
		return notCurrent(req)
	}
	b.Supersede = answer.ID
	if answer.RunID != "" {
		run, err := q.Runs.Run(ctx, answer.RunID)
		b.Run.UserMessageID = run.UserMessageID
		return err
	}
	list, err := q.messages(ctx, owner, b.ConversationID)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(list, func(m schemas.Message) bool { return m.ID == answer.ID })
	for at--; at >= 0 && list[at].Role != "user"; at-- {
	}
	if at < 0 {
		return schemas.Invalid("/regenerate_message_id", "has no question before it")
	}
	b.Run.UserMessageID = list[at].ID
	return nil
}

// pageOfMessages is how many messages are read at once.
const pageOfMessages = 200

// messages returns the current messages of a chat, the oldest first.
func (q *Questions) messages(ctx context.Context, owner string, id int64) ([]schemas.Message, error) {
	var all []schemas.Message
	for cursor := ""; ; {
		list, next, err := q.Store.Messages(ctx, owner, id, record.MessageQuery{Limit: pageOfMessages, Cursor: cursor})
		if err != nil {
			return nil, err
		}
		all = append(list, all...)
		if next == "" {
			return all, nil
		}
		cursor = next
	}
}

// firstMessage returns the message that a new chat begins with.
func firstMessage(req *schemas.ChatRequest) string {
	if len(req.ConversationHistory) > 0 && req.ConversationHistory[0].Content != "" {
		return req.ConversationHistory[0].Content
	}
	return req.Message
}

const titleLength = 60 // characters

// title returns the first words of a chat's first message.
func title(message string) string {
	line := text.OneLine(message)
	return cmp.Or(text.Beginning(line, titleLength), "New chat")
}
