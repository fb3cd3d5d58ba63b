package wires

import (
	"context"
	"errors"
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
// maxPages*messagePage.
func (s *Service) Current(ctx context.Context, user schemas.User, chat schemas.Chat) ([]schemas.Message, error) {
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

// Place is what the last message of the client's list, a user message, means for its chat:
// it edits the message Edit, asks for the answer Regenerate again, or the run Follow
// already answers it. The zero value is a new message.
type Place struct{ Edit, Regenerate, Follow string }

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
	if at := Behind(have, list); at >= 0 {
		return Place{Edit: have[at].ID}
	}
	return Place{}
}

// Behind returns the index of the first user message after the anchor, -1 if there is
// none.
func Behind(have []schemas.Message, list []Message) int {
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
	return Place{Edit: q.ID}
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
