package services

import (
	"context"
	"slices"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/turn"
)

// pageOfMessages is how many messages are read at once.
const pageOfMessages = 200

// Chats is the conversations of users. Every call is for the user it is given;
// what is somebody else's is schemas.ErrNotFound.
type Chats struct {
	store chatStore
	runs  *Runs
}

// NewChats returns the chats of a store. Deleting one cancels its run first.
func NewChats(store chatStore, runs *Runs) *Chats { return &Chats{store, runs} }

// List returns a page of the user's chats, newest first.
func (c *Chats) List(ctx context.Context, user schemas.User, q record.ChatQuery) (schemas.ChatList, error) {
	return c.store.Chats(ctx, user.ID, q)
}

// Get returns a chat with a page of its messages.
func (c *Chats) Get(ctx context.Context, user schemas.User, id int64, q record.MessageQuery) (schemas.Chat, error) {
	chat, err := c.store.Chat(ctx, user.ID, id)
	if err != nil {
		return schemas.Chat{}, err
	}
	list, next, err := c.store.Messages(ctx, user.ID, id, q)
	chat.Messages, chat.NextCursor = behindQuestions(list), next
	c.addWords(chat.Messages, user)
	return chat, err
}

// addWords says what the tools of kept calls are called now.
func (c *Chats) addWords(messages []schemas.Message, user schemas.User) {
	known := make(map[string]turn.Words)
	for _, m := range messages {
		for i := range m.ToolHistory {
			call := &m.ToolHistory[i]
			words, ok := known[call.ToolName]
			if !ok {
				words = c.runs.Pages.words(call.ToolName, user)
				known[call.ToolName] = words
			}
			call.Title, call.Done = words.Title, words.Done
		}
	}
}

// behindQuestions puts answers behind their questions: one that waits for its
// turn, or was cancelled before it, is stored before the answer to the one
// before it.
func behindQuestions(list []schemas.Message) []schemas.Message {
	ordered := make([]schemas.Message, 0, len(list))
	for _, m := range list {
		at := len(ordered)
		if m.Role != "user" && m.RunID != "" {
			asked := func(q schemas.Message) bool { return q.Role == "user" && q.RunID == m.RunID }
			if q := slices.IndexFunc(ordered, asked); q >= 0 {
				at = q + 1
			}
		}
		ordered = slices.Insert(ordered, at, m)
	}
	return ordered
}

// Rename gives a chat a title.
func (c *Chats) Rename(ctx context.Context, user schemas.User, id int64, title string) (schemas.Chat, error) {
	return c.store.RenameChat(ctx, user.ID, id, title)
}

// Delete deletes a chat and all that belongs to it; its runs under way are
// cancelled first, those that wait for their turn before the one that runs.
func (c *Chats) Delete(ctx context.Context, user schemas.User, id int64) error {
	chat, err := c.store.Chat(ctx, user.ID, id)
	if err != nil {
		return err
	}
	open := c.runs.queuedIn(id)
	if chat.ActiveRunID != "" {
		open = append(open, chat.ActiveRunID)
	}
	for _, run := range open {
		if _, err := c.runs.Cancel(ctx, user, run); err != nil {
			return err
		}
	}
	return c.store.DeleteChat(ctx, user.ID, id)
}

// queuedIn returns the runs of a chat that wait for their turn.
func (r *Runs) queuedIn(conversationID int64) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var ids []string
	for id, one := range r.live {
		if one.conversationID == conversationID && one.attempt == 0 {
			ids = append(ids, id)
		}
	}
	return ids
}

// Payload returns a payload whole.
func (c *Chats) Payload(ctx context.Context, user schemas.User, id int64, payloadID string) (schemas.CustomPayload, error) {
	return c.store.Payload(ctx, user.ID, id, payloadID)
}

// Resolve keeps the user's decision about a payload.
func (c *Chats) Resolve(ctx context.Context, user schemas.User, id int64, payloadID, decision string) (schemas.CustomPayload, error) {
	return c.store.ResolvePayload(ctx, user.ID, id, payloadID, decision)
}

// SetFeedback keeps the user's judgement of an answer.
func (c *Chats) SetFeedback(ctx context.Context, user schemas.User, id int64, messageID string, f schemas.Feedback) (schemas.Message, error) {
	m, err := c.store.SetFeedback(ctx, user.ID, id, messageID, f)
	c.addWords([]schemas.Message{m}, user)
	return m, err
}

// allMessages returns the current messages of a chat in order of time.
func (r *Runs) allMessages(ctx context.Context, owner string, id int64) ([]schemas.Message, error) {
	var all []schemas.Message
	for cursor := ""; ; {
		list, next, err := r.Store.Messages(ctx, owner, id, record.MessageQuery{Limit: pageOfMessages, Cursor: cursor})
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
