package wires

import (
	"context"
	"encoding/base64"
	"errors"
	"mime"
	"slices"
	"strings"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

// Message is a message of the client's list.
type Message struct{ ID, Role, Text string }

const (
	messagePage = 200 // messages read at a time
	maxPages    = 10
)

// Chat returns the chat of a thread; an unknown chat has no ConversationID.
func (s *Service) Chat(ctx context.Context, user schemas.User, thread string) (schemas.Chat, error) {
	chat, err := s.Chats.ByKey(ctx, user, ChatKey(thread))
	if errors.Is(err, schemas.ErrNotFound) {
		return schemas.Chat{ChatID: ChatKey(thread)}, nil
	}
	return chat, err
}

// Current returns the chat's current messages in order, at most the newest
// maxPages*messagePage. As they may be large, it reads one chat of a user at a time.
func (s *Service) Current(ctx context.Context, user schemas.User, chat schemas.Chat) ([]schemas.Message, error) {
	unlock, err := s.reading.Lock(ctx, user.ID)
	if err != nil {
		return nil, err
	}
	defer unlock()
	var all []schemas.Message
	cursor := ""
	for range maxPages {
		page, err := s.Chats.Get(ctx, user, chat.ConversationID, record.MessageQuery{Limit: messagePage, Cursor: cursor})
		if err != nil {
			return nil, err
		}
		all = append(slices.Clone(page.Messages), all...)
		if cursor = page.NextCursor; cursor == "" {
			break
		}
	}
	return all, nil
}

// Successor returns the id of the current version of the user message that the client
// calls id: the message itself until it is edited, "" if the chat does not have it. A message
// that was replaced together with an earlier one has no current version, which is a conflict;
// one that was stored after have was read is errChanging.
func (s *Service) Successor(ctx context.Context, user schemas.User, chat schemas.Chat, have []schemas.Message, id string) (string, error) {
	ids := messageIDs(chat.ChatID, id)
	for _, id := range ids {
		if slices.ContainsFunc(have, func(m schemas.Message) bool { return m.ID == id && m.Role == "user" }) {
			return id, nil
		}
	}
	for _, id := range ids {
		versions, err := s.Chats.Versions(ctx, user, chat.ConversationID, id)
		if errors.Is(err, schemas.ErrNotFound) {
			continue
		}
		if err != nil {
			return "", err
		}
		at := slices.IndexFunc(versions.Items, func(v schemas.VersionItem) bool { return v.Current })
		if at < 0 {
			return "", errReplaced
		}
		current := versions.Items[at].MessageID
		if !partly(have) && !slices.ContainsFunc(have, func(m schemas.Message) bool { return m.ID == current }) {
			return "", errChanging
		}
		return current, nil
	}
	return "", nil
}

// Has reports whether a run has a message among the chat's current ones, which are have. It
// may be one of those that are not read.
func Has(have []schemas.Message, run string) bool {
	return partly(have) || slices.ContainsFunc(have, func(m schemas.Message) bool { return m.RunID == run })
}

// rename gives the user's messages of a client's list the ids that they have in the chat.
func rename(list []Message, chat schemas.Chat, have []schemas.Message) {
	known := make(map[string]bool, len(have))
	for i := range have {
		known[have[i].ID] = have[i].Role == "user"
	}
	for i, m := range list {
		if m.Role != "user" {
			continue
		}
		ids := messageIDs(chat.ChatID, m.ID)
		if at := slices.IndexFunc(ids, func(id string) bool { return known[id] }); at >= 0 {
			list[i].ID = ids[at]
		}
	}
}

// errReplaced is returned for a message that is no longer part of the chat.
var errReplaced = schemas.NewError(schemas.CodeConflict, "this message was replaced together with an earlier one; load the chat again")

// outrun reports whether a request was refused because another one has just edited its
// message or asked for its answer again: its place has to be found again.
func outrun(at Place, err error) bool {
	seen, ok := errors.AsType[*schemas.Error](err)
	if !ok || at.Edit == "" && at.Regenerate == "" {
		return false
	}
	return seen.Code == schemas.CodeNotFound || slices.ContainsFunc(seen.Fields, func(f schemas.FieldError) bool {
		return f.Pointer == "/edit_message_id" || f.Pointer == "/regenerate_message_id"
	})
}

// Place is what the last message of the client's list, a user message, means for its chat:
// it edits the message Edit, asks for the answer Regenerate again, or the run Follow
// already answers it. The zero value is a new message.
// An edit has the files that the client sends, and only those, unless KeepsFiles says
// that it is the same question, asked again by a client that may not have them.
type Place struct {
	Edit, Regenerate, Follow string
	KeepsFiles               bool
}

// Find returns the place of the last message of the list. The chat decides, not the
// client's list: the anchor is the last earlier message of the list that the chat has.
func Find(have []schemas.Message, list []Message, live string) Place {
	last := list[len(list)-1]
	if at := index(have, last); at >= 0 {
		if have[at].Content == last.Text {
			return Again(have, at, live)
		}
		return Place{Edit: have[at].ID}
	}
	if at := FirstAfter(have, list); at >= 0 {
		return Place{Edit: have[at].ID}
	}
	return Place{}
}

// Edited returns the place of an edit of the message that the client calls id, whose current
// version is the message current. The run of the same edit is followed, unless it failed or
// was stopped.
func Edited(chat schemas.Chat, have []schemas.Message, id, current string, asked *schemas.ChatRequest) Place {
	at := slices.IndexFunc(have, func(m schemas.Message) bool { return m.ID == current })
	if slices.Contains(messageIDs(chat.ChatID, id), current) || at < 0 || !Same(have[at], asked) {
		return Place{Edit: current}
	}
	again := Again(have, at, chat.ActiveRunID)
	if again.Regenerate == "" {
		return again
	}
	if have[at+1].Status == schemas.MessageComplete && have[at+1].RunID != "" {
		return Place{Follow: have[at+1].RunID}
	}
	return Place{Edit: current}
}

// Same reports whether a request asks what a message of the chat asks, with the same files:
// those of the same names and sizes.
func Same(have schemas.Message, asked *schemas.ChatRequest) bool {
	return have.Content == asked.Message && slices.EqualFunc(have.Attachments, asked.Attachments,
		func(h schemas.AttachmentInfo, a schemas.Attachment) bool {
			return h.Name == a.Name && h.Size == size(a)
		})
}

// size returns the number of bytes of a file, as schemas.AttachmentInfo has it.
func size(a schemas.Attachment) int {
	if kind, _, _ := mime.ParseMediaType(a.MIME); schemas.TextMedia(kind) {
		return len(a.Content)
	}
	return base64.RawStdEncoding.DecodedLen(len(strings.TrimRight(a.Content, "=")))
}

// Next returns the index of the user's message of the chat that comes after the messages
// with the given texts, all that the user has sent before: -1 if the chat ends there, and
// not ok if the chat does not begin with them. Of a long chat the first messages are
// missing: they were more than its history can have, or more than are read.
func Next(have []schemas.Message, before []string) (next int, ok bool) {
	var users []int
	for i := range have {
		if have[i].Role == "user" {
			users = append(users, i)
		}
	}
	missing, most := 0, 0
	if cut(have) && len(before) > 0 {
		missing, most = max(0, len(before)-len(users)), len(before)-1
	}
	for ; missing <= most; missing++ {
		rest := before[missing:]
		if len(rest) > len(users) || !slices.EqualFunc(users[:len(rest)], rest, func(at int, text string) bool { return have[at].Content == text }) {
			continue
		}
		if len(rest) == len(users) {
			return -1, true
		}
		return users[len(rest)], true
	}
	return -1, false
}

// cut reports whether messages of the client may be missing before the first one: the chat
// began with as much history as it can have, whose messages are from no run, or not all of
// its messages were read.
func cut(have []schemas.Message) bool {
	return partly(have) || len(have) >= maxHistory && have[maxHistory-1].RunID == ""
}

// partly reports whether the chat may have messages before those that Current has read.
func partly(have []schemas.Message) bool { return len(have) >= maxPages*messagePage }

// FirstAfter returns the index of the first user message after the anchor, -1 if there is
// none.
func FirstAfter(have []schemas.Message, list []Message) int {
	for _, m := range slices.Backward(list[:len(list)-1]) {
		anchor := index(have, m)
		if anchor < 0 {
			continue
		}
		if n := slices.IndexFunc(have[anchor+1:], func(m schemas.Message) bool { return m.Role == "user" }); n >= 0 {
			return anchor + 1 + n
		}
		return -1
	}
	return -1
}

// Again returns the place of a question that is asked again: its answer is regenerated, or
// followed while its run is live. A question without an answer is edited.
func Again(have []schemas.Message, question int, live string) Place {
	q := have[question]
	if question+1 < len(have) && have[question+1].Role == "assistant" {
		return Place{Regenerate: have[question+1].ID}
	}
	if q.RunID != "" && q.RunID == live {
		return Place{Follow: live}
	}
	return Place{Edit: q.ID, KeepsFiles: true}
}

// index returns the index of a client's message in the chat, -1 if the chat does not have
// it. An id that begins with the id of an answer, or of its run, means that answer.
func index(have []schemas.Message, m Message) int {
	if m.ID == "" {
		return -1
	}
	return slices.IndexFunc(have, func(h schemas.Message) bool {
		if h.ID == m.ID {
			return m.Role == h.Role
		}
		return m.Role == "assistant" && h.Role == "assistant" && (strings.HasPrefix(m.ID, h.ID) || h.RunID != "" && strings.HasPrefix(m.ID, h.RunID))
	})
}
