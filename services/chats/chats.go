// Package chats owns what users do to their conversations: list, read, rename,
// pin, archive, export and delete them, select versions of messages, rate
// answers and decide about proposals.
package chats

import (
	"context"
	"slices"
	"strings"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/concurrent"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/turn"
)

// The parts of the store that Chats needs. Each call checks the owner: an unknown id or
// another user's is schemas.ErrNotFound.

// Conversations reads and changes conversations.
type Conversations interface {
	Chats(ctx context.Context, owner string, q record.ChatQuery) (schemas.ChatList, error)
	// Chat returns the chat without messages.
	Chat(ctx context.Context, owner string, id int64) (schemas.Chat, error)
	// ChatByKey finds the chat by the client's key of it.
	ChatByKey(ctx context.Context, owner, key string) (schemas.Chat, error)
	// Messages returns a page of messages and the cursor of the preceding page.
	Messages(ctx context.Context, owner string, id int64, q record.MessageQuery) ([]schemas.Message, string, error)
	PatchChat(ctx context.Context, owner string, id int64, p schemas.ChatPatch) (schemas.Chat, error)
	// DeleteChat deletes the chat and everything in it.
	DeleteChat(ctx context.Context, owner string, id int64) error
}

// Content reads and changes what is in a conversation.
type Content interface {
	SetFeedback(ctx context.Context, owner string, id int64, messageID string, f schemas.Feedback) (schemas.Message, error)
	Payload(ctx context.Context, owner string, id int64, payloadID string) (schemas.CustomPayload, error)
	ResolvePayload(ctx context.Context, owner string, id int64, payloadID, outcome string) (schemas.CustomPayload, error)
	// ChatUsage returns what the chat's runs have used.
	ChatUsage(ctx context.Context, owner string, id int64) (schemas.Usage, error)
}

// Versions reads and chooses versions of messages.
type Versions interface {
	Versions(ctx context.Context, owner string, id int64, messageID string) (schemas.VersionList, error)
	// SelectVersion makes a version current; CodeBusy while a run of the chat
	// is running, CodeConflict for a message that is not a version of a current
	// one.
	SelectVersion(ctx context.Context, owner string, id int64, messageID string) error
}

// Runs are the runs that have not ended.
type Runs interface {
	// CancelAll ends runs of the user in this order and waits for their end, for a
	// limited time. It calls stored once all requests to do so are stored.
	CancelAll(ctx context.Context, user schemas.User, stored func(), ids ...string) error
	// Live returns the unfinished runs of the user's chat, the running one first.
	Live(ctx context.Context, user schemas.User, chat string) ([]string, error)
}

// Tools knows the texts that users read about a tool.
type Tools interface {
	Words(name string, user schemas.User) turn.Words
}

// Chats is the conversations of users. Every call is for the user it is given; for
// another user's conversation the error is schemas.ErrNotFound. It is safe for
// concurrent use.
type Chats struct {
	conversations Conversations
	content       Content
	versions      Versions
	runs          Runs
	tools         Tools
	searches      searches
	exports       concurrent.Locks // users whose chats are exported
}

// New returns the chats of a store, given in its parts. Deleting a chat cancels
// its runs first.
func New(conversations Conversations, content Content, versions Versions, runs Runs, tools Tools) *Chats {
	return &Chats{
		conversations: conversations, content: content, versions: versions, runs: runs, tools: tools, searches: searches{all: make(chan struct{}, maxSearches)},
	}
}

// List returns a page of the user's chats, newest first. Searches wait for each other; one
// that would wait long is refused with CodeTooManyRequests.
func (c *Chats) List(ctx context.Context, user schemas.User, q record.ChatQuery) (schemas.ChatList, error) {
	if strings.TrimSpace(q.Text) != "" {
		end, err := c.searches.begin(ctx, user.ID)
		if err != nil {
			return schemas.ChatList{}, err
		}
		defer end()
	}
	return c.conversations.Chats(ctx, user.ID, q)
}

// Get returns a chat with a page of its messages.
func (c *Chats) Get(ctx context.Context, user schemas.User, id int64, q record.MessageQuery) (schemas.Chat, error) {
	chat, err := c.conversations.Chat(ctx, user.ID, id)
	if err != nil {
		return schemas.Chat{}, err
	}
	list, next, err := c.page(ctx, user, id, q)
	chat.Messages, chat.NextCursor = afterQuestions(list), next
	if err != nil {
		return schemas.Chat{}, err
	}
	c.addWords(chat.Messages, user)
	usage, err := c.content.ChatUsage(ctx, user.ID, id)
	if usage.TotalTokens > 0 {
		chat.Usage = &usage
	}
	return chat, err
}

// page returns a page of messages. In a chat that an older release has written, it is shorter
// than asked for if it would begin between questions that waited for their turn and their
// answers: these belong after their questions, on the page before.
func (c *Chats) page(ctx context.Context, user schemas.User, id int64, q record.MessageQuery) ([]schemas.Message, string, error) {
	list, next, err := c.conversations.Messages(ctx, user.ID, id, q)
	all, from := list, 0
	for _, more := range []int{1, maxOpen} { // mostly the question is directly before
		if err != nil || next == "" || !hasUnasked(all, from) {
			break
		}
		var before []schemas.Message
		before, _, err = c.conversations.Messages(ctx, user.ID, id, record.MessageQuery{Limit: more, Cursor: next, Superseded: q.Superseded})
		all, from = slices.Concat(before, list), len(before)
	}
	if err != nil {
		return nil, "", err
	}
	if left := len(all) - pageStart(all, from); left > 0 && left < len(list) && left > len(list)-maxOpen {
		q.Limit = left
		return c.conversations.Messages(ctx, user.ID, id, q)
	}
	return list, next, nil
}

// hasUnasked reports whether a message from that place on is an answer whose question is not in
// the list. An answer that was made again has a run of its own, which has no question.
func hasUnasked(list []schemas.Message, from int) bool {
	asked := questionsOf(list)
	return slices.ContainsFunc(list[from:], func(m schemas.Message) bool {
		_, has := asked[m.RunID]
		return m.RunID != "" && !has
	})
}

// pageStart returns the first place, at least from, where a page may begin: no answer after it
// has its question before it, with other messages in between.
func pageStart(list []schemas.Message, from int) int {
	asked, start := questionsOf(list), from
	for i := from; i < len(list); i++ {
		if q, has := asked[list[i].RunID]; has && q < start && q+1 < i {
			start = i + 1
		}
	}
	return start
}

// questionsOf returns the places of the questions by their runs.
func questionsOf(list []schemas.Message) map[string]int {
	places := make(map[string]int)
	for i := range list {
		if list[i].Role == "user" && list[i].RunID != "" {
			places[list[i].RunID] = i
		}
	}
	return places
}

// ByKey returns the chat under the key that the client has chosen for it, with its
// active run and without messages.
func (c *Chats) ByKey(ctx context.Context, user schemas.User, key string) (schemas.Chat, error) {
	return c.conversations.ChatByKey(ctx, user.ID, key)
}

// addWords adds the current display names of the tools to stored calls.
func (c *Chats) addWords(messages []schemas.Message, user schemas.User) {
	known := make(map[string]turn.Words)
	for _, m := range messages {
		for i := range m.ToolHistory {
			call := &m.ToolHistory[i]
			words, ok := known[call.ToolName]
			if !ok {
				words = c.tools.Words(call.ToolName, user)
				known[call.ToolName] = words
			}
			call.Title, call.Done = words.Title, words.Done
		}
	}
}

// afterQuestions puts each answer after its question. Older releases have stored questions
// that waited for their turn in between.
func afterQuestions(list []schemas.Message) []schemas.Message {
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

// Patch renames, pins and archives a chat.
func (c *Chats) Patch(ctx context.Context, user schemas.User, id int64, p schemas.ChatPatch) (schemas.Chat, error) {
	return c.conversations.PatchChat(ctx, user.ID, id, p)
}

// Versions returns the versions of a question or an answer, the oldest first.
func (c *Chats) Versions(ctx context.Context, user schemas.User, id int64, messageID string) (schemas.VersionList, error) {
	return c.versions.Versions(ctx, user.ID, id, messageID)
}

// SelectVersion makes a version current, with the messages that followed it
// when it was last current. It returns the chat with its newest messages.
func (c *Chats) SelectVersion(ctx context.Context, user schemas.User, id int64, messageID string) (schemas.Chat, error) {
	if err := c.versions.SelectVersion(ctx, user.ID, id, messageID); err != nil {
		return schemas.Chat{}, err
	}
	return c.Get(ctx, user, id, record.MessageQuery{})
}

// Delete deletes a chat and everything in it. Its runs are cancelled first, the
// waiting ones before the running one.
func (c *Chats) Delete(ctx context.Context, user schemas.User, id int64) error {
	chat, err := c.conversations.Chat(ctx, user.ID, id)
	if err != nil {
		return err
	}
	open, err := c.runs.Live(ctx, user, chat.ChatID)
	if err != nil {
		return err
	}
	slices.Reverse(open)
	if chat.ActiveRunID != "" && !slices.Contains(open, chat.ActiveRunID) {
		open = append(open, chat.ActiveRunID)
	}
	if err := c.runs.CancelAll(ctx, user, func() {}, open...); err != nil {
		return err
	}
	return c.conversations.DeleteChat(ctx, user.ID, id)
}

// Payload returns a payload with all its data.
func (c *Chats) Payload(ctx context.Context, user schemas.User, id int64, payloadID string) (schemas.CustomPayload, error) {
	return c.content.Payload(ctx, user.ID, id, payloadID)
}

// Resolve stores the user's decision about a payload.
func (c *Chats) Resolve(ctx context.Context, user schemas.User, id int64, payloadID, decision string) (schemas.CustomPayload, error) {
	return c.content.ResolvePayload(ctx, user.ID, id, payloadID, decision)
}

// SetFeedback stores the user's rating of an answer; one without a rating takes it back.
func (c *Chats) SetFeedback(ctx context.Context, user schemas.User, id int64, messageID string, f schemas.Feedback) (schemas.Message, error) {
	m, err := c.content.SetFeedback(ctx, user.ID, id, messageID, f)
	c.addWords([]schemas.Message{m}, user)
	return m, err
}
