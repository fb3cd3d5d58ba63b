package runs

import (
	"context"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/services/answer"
	"github.com/chattray/chattray/services/prompt"
)

const titleLength = 60

// errDraining refuses a run while the service stops.
var errDraining = &schemas.Error{Code: schemas.CodeShuttingDown, Message: "the service is stopping; try again in a moment", RetryAfter: 2}

// Start begins a run for the request, which has been decoded and validated. The
// user's message is durable when it returns. The run goes on whatever becomes
// of ctx.
func (r *Runs) Start(ctx context.Context, user schemas.User, req *schemas.ChatRequest, o record.StartOptions) (schemas.Run, error) {
	if o.IdempotencyKey != "" {
		done, err := r.alone(ctx, user.ID+"\x00"+o.IdempotencyKey)
		if err != nil {
			return schemas.Run{}, err
		}
		defer done()
		if again, err := r.repeated(ctx, user, o); err == nil || !errors.Is(err, schemas.ErrNotFound) {
			return again, err
		}
	}
	if req.InteractionType != schemas.ActionExecuted { // a click asks no model
		if err := r.budgets.Check(ctx, user.ID); err != nil {
			return schemas.Run{}, err
		}
	}
	begin, err := r.begin(ctx, user, req, o)
	if err != nil {
		return schemas.Run{}, err
	}
	if begin.Queue && r.queuedBehind(user, begin) >= maxQueuedOfChat {
		return schemas.Run{}, errQueueFull
	}
	release, err := r.admit(user)
	if err != nil {
		return schemas.Run{}, err
	}
	defer r.work.Done()
	started := false
	defer func() {
		if !started {
			release()
		}
	}()
	for {
		// A client that goes away does not keep its message from being answered.
		err := r.committer.Submit(&record.Write{RunID: begin.Run.ID, Attempt: 1, Begin: begin}, nil, false).Wait(context.WithoutCancel(ctx))
		switch {
		case err == nil:
			one := r.launch(ctx, begin, req, user, release)
			started = true
			return r.startedView(one, begin), nil
		case errors.Is(err, record.ErrBusy):
			if err := r.busy(ctx, req, begin.BusyRun); err != nil {
				return schemas.Run{}, err
			}
		case errors.Is(err, record.ErrDuplicate):
			return r.repeated(ctx, user, o)
		case errors.Is(err, schemas.ErrTaken):
			if again := r.resent(user, req, begin); again != nil {
				return r.Run(ctx, user, again.id)
			}
			return schemas.Run{}, err
		case errors.Is(err, record.ErrUnavailable):
			r.park(begin.Run.ID, nil) // it may have been stored
			return schemas.Run{}, schemas.Unavailable(err)
		default:
			return schemas.Run{}, err
		}
	}
}

// alone waits until no other request with the key is being started here; done
// lets the next one in. So requests that come at once find the run of the first
// and do not count as runs.
func (r *Runs) alone(ctx context.Context, key string) (done func(), err error) {
	for {
		r.mu.Lock()
		other := r.starting[key]
		if other == nil {
			mine := make(chan struct{})
			r.starting[key] = mine
			r.mu.Unlock()
			return func() {
				r.mu.Lock()
				delete(r.starting, key)
				r.mu.Unlock()
				close(mine)
			}, nil
		}
		r.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// errQueueFull refuses a message behind too many others of its chat.
var errQueueFull = &schemas.Error{Code: schemas.CodeTooManyRuns, Message: "too many messages wait in this chat; wait for an answer", RetryAfter: 5}

// queuedBehind counts the runs of the chat that wait for their turn.
func (r *Runs) queuedBehind(user schemas.User, b *record.Begin) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, one := range r.live {
		if one.attempt == 0 && one.owner.ID == user.ID &&
			(b.ConversationID != 0 && one.conversationID == b.ConversationID || b.ConversationID == 0 && one.chatKey == b.ChatKey) {
			n++
		}
	}
	return n
}

// repeated returns the run that an Idempotency-Key already started.
func (r *Runs) repeated(ctx context.Context, user schemas.User, o record.StartOptions) (schemas.Run, error) {
	rec, err := r.Store.Runs.RunByKey(ctx, user.ID, o.IdempotencyKey)
	if err != nil {
		return schemas.Run{}, err
	}
	if rec.BodyHash != o.BodyHash {
		return schemas.Run{}, schemas.NewError(schemas.CodeInvalid, "this Idempotency-Key was used with another body")
	}
	return r.view(rec), nil
}

// admit counts a run of the user's, and the start as work that Shutdown waits
// for; release is called when the run has ended.
func (r *Runs) admit(user schemas.User) (release func(), err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.draining {
		return nil, errDraining
	}
	if r.RunsPerUser > 0 && r.perUser[user.ID] >= r.RunsPerUser {
		return nil, &schemas.Error{Code: schemas.CodeTooManyRuns, Message: "too many answers are under way; wait for one to end", RetryAfter: 5}
	}
	r.perUser[user.ID]++
	r.work.Add(1)
	return func() { r.dismiss(user.ID) }, nil
}

func (r *Runs) dismiss(userID string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.perUser[userID]--; r.perUser[userID] <= 0 {
		delete(r.perUser, userID)
	}
}

// busy does what the request wants done when its chat has a run under way; nil
// is to try again.
func (r *Runs) busy(ctx context.Context, req *schemas.ChatRequest, running string) error {
	if req.IfBusy != "cancel" {
		e := schemas.NewError(schemas.CodeBusy, "this chat has an answer under way")
		e.RunID = running
		return e
	}
	if err := r.Store.Queue.RequestCancel(ctx, running); err != nil {
		return err
	}
	one := r.find(running)
	if one == nil {
		return r.over(ctx, running)
	}
	one.stop(answer.ErrCancelled)
	r.endQueued(one)
	select {
	case <-one.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// over is nil for a run that has ended; one that is under way and not known here
// waits to be taken up, and its chat is busy until then.
func (r *Runs) over(ctx context.Context, id string) error {
	rec, err := r.Store.Runs.Run(ctx, id)
	if err != nil || rec.State.Terminal() {
		return err
	}
	e := schemas.NewError(schemas.CodeBusy, "this chat has an answer that is about to go on; try again in a moment")
	e.RunID, e.RetryAfter = id, 2
	return e
}

// begin checks the request against what the service knows and makes the first
// write of its run.
func (r *Runs) begin(ctx context.Context, user schemas.User, req *schemas.ChatRequest, o record.StartOptions) (*record.Begin, error) {
	if err := r.allowed(ctx, user, req); err != nil {
		return nil, err
	}
	id, now := uuid.Must(uuid.NewV7()).String(), r.now()
	raw := o.Body
	if raw == nil {
		raw = schemas.Encode(req)
	}
	b := &record.Begin{
		ConversationID: req.ConversationID, ChatKey: req.ChatID, Title: title(firstMessage(req)), Queue: req.IfBusy == "queue",
		Run: record.Run{
			ID: id, ChatKey: req.ChatID, ConversationID: req.ConversationID, Owner: user, Request: raw, CreatedAt: now,
			MessageID: uuid.Must(uuid.NewV7()).String(), IdempotencyKey: o.IdempotencyKey, BodyHash: o.BodyHash,
		},
	}
	if req.ConversationID != 0 && req.ChatID != "" {
		chat, err := r.Store.Chats.Chat(ctx, user.ID, req.ConversationID)
		if err != nil {
			return nil, err
		}
		if chat.ChatID != req.ChatID {
			return nil, schemas.NewError(schemas.CodeInvalid, "conversation_id and chat_id name different chats")
		}
	}
	if req.ConversationID == 0 && req.ChatID == "" {
		for _, m := range req.ConversationHistory {
			b.History = append(b.History, schemas.Message{
				ID: uuid.Must(uuid.NewV7()).String(), Role: m.Role, Type: "md", Content: m.Content, Status: schemas.MessageComplete, CreatedAt: now,
			})
		}
	}
	if err := r.question(ctx, user, req, b); err != nil {
		return nil, err
	}
	return b, r.reserve(ctx, user, req, b)
}

// allowed refuses a model, an action or attachments that the service does not
// take.
func (r *Runs) allowed(ctx context.Context, user schemas.User, req *schemas.ChatRequest) error {
	if req.Model != "" && req.Model != r.Model && !slices.Contains(r.Models, req.Model) {
		return schemas.Invalid("/model", "this model is not offered")
	}
	if req.InteractionType == schemas.ActionExecuted {
		if req.ActionMetadata == nil {
			return schemas.Invalid("/action_metadata", "is required with interaction_type action_executed")
		}
		if err := r.Actions.Allow(ctx, actionCall(req, user, req.ConversationID)); err != nil {
			return err
		}
	}
	if err := r.checkClientTools(req, user); err != nil {
		return err
	}
	return prompt.Attach(new(turn.Message), req.Attachments)
}

// question makes the user's message, or finds the one that is to be answered
// again, and what it supersedes.
func (r *Runs) question(ctx context.Context, user schemas.User, req *schemas.ChatRequest, b *record.Begin) error {
	if req.EditMessageID != "" && req.RegenerateMessageID != "" {
		return schemas.Invalid("/regenerate_message_id", "edit_message_id and regenerate_message_id exclude each other")
	}
	if req.EditMessageID != "" || req.RegenerateMessageID != "" {
		id, err := r.chatOf(ctx, user, req)
		if err != nil {
			return err
		}
		b.ConversationID, b.Run.ConversationID = id, id
		if req.RegenerateMessageID != "" {
			return r.regenerate(ctx, user, req, b)
		}
		m, err := r.Store.Chats.Message(ctx, user.ID, id, req.EditMessageID)
		if err != nil {
			return err
		}
		if m.Role != "user" || m.Status == schemas.MessageSuperseded {
			return schemas.Invalid("/edit_message_id", "is not a current message of the user's")
		}
		b.Supersede = m.ID
	}
	m := schemas.Message{
		ID: uuid.Must(uuid.NewV7()).String(), Role: "user", Type: "md", Content: req.Message, Status: schemas.MessageComplete,
		CreatedAt: b.Run.CreatedAt, RunID: b.Run.ID,
	}
	if req.InteractionType == schemas.ActionExecuted {
		m.Action = req.ActionMetadata
		if m.Content == "" {
			m.Content = req.ActionMetadata.ActionIdentifier
		}
	}
	for _, a := range req.Attachments {
		m.Attachments = append(m.Attachments, schemas.AttachmentInfo{Name: a.Name, MIME: a.MIME, Size: len(a.Content)})
	}
	b.UserMessage = &record.UserMessage{Message: m, Files: req.Attachments}
	b.Run.UserMessageID = m.ID
	return nil
}

// chatOf returns the id of the chat that an edit or a regeneration is for.
func (r *Runs) chatOf(ctx context.Context, user schemas.User, req *schemas.ChatRequest) (int64, error) {
	if req.ConversationID != 0 {
		return req.ConversationID, nil
	}
	if req.ChatID == "" {
		return 0, schemas.Invalid("/conversation_id", "is required to edit or regenerate")
	}
	chat, err := r.Store.Chats.ChatByKey(ctx, user.ID, req.ChatID)
	return chat.ConversationID, err
}

// regenerate finds the question of an answer: the one that its run was for, and
// of an answer that the client brought along the user's message before it.
func (r *Runs) regenerate(ctx context.Context, user schemas.User, req *schemas.ChatRequest, b *record.Begin) error {
	answer, err := r.Store.Chats.Message(ctx, user.ID, b.ConversationID, req.RegenerateMessageID)
	if err != nil {
		return err
	}
	if answer.Role != "assistant" || answer.Status == schemas.MessageSuperseded {
		return schemas.Invalid("/regenerate_message_id", "is not a current message of the assistant's")
	}
	b.Supersede = answer.ID
	if answer.RunID != "" {
		run, err := r.Store.Runs.Run(ctx, answer.RunID)
		b.Run.UserMessageID = run.UserMessageID
		return err
	}
	list, err := r.allMessages(ctx, user.ID, b.ConversationID)
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

// firstMessage is the message that a new chat begins with.
func firstMessage(req *schemas.ChatRequest) string {
	if len(req.ConversationHistory) > 0 && req.ConversationHistory[0].Content != "" {
		return req.ConversationHistory[0].Content
	}
	return req.Message
}

// title is the first words of a chat's first message.
func title(message string) string {
	line := strings.Join(strings.Fields(message), " ")
	if line == "" {
		return "New chat"
	}
	if utf8.RuneCountInString(line) <= titleLength {
		return line
	}
	return string([]rune(line)[:titleLength])
}

// startedView is the run as Start answers it.
func (r *Runs) startedView(one *run, b *record.Begin) schemas.Run {
	return schemas.Run{
		RunID: one.id, ConversationID: one.conversationID, ChatID: one.chatKey, State: b.State, Attempt: one.attempt,
		UserMessageID: one.userMessageID, CreatedAt: b.Run.CreatedAt,
	}
}

// pageOfMessages is how many messages are read at once.
const pageOfMessages = 200

// allMessages returns the current messages of a chat in order of time.
func (r *Runs) allMessages(ctx context.Context, owner string, id int64) ([]schemas.Message, error) {
	var all []schemas.Message
	for cursor := ""; ; {
		list, next, err := r.Store.Chats.Messages(ctx, owner, id, record.MessageQuery{Limit: pageOfMessages, Cursor: cursor})
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
