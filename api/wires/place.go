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
	messagePage = 200 // messages that are read at a time
	maxPages    = 10
)

// Chat finds the chat of a thread; one that is unknown has no ConversationID.
func (s *Service) Chat(ctx context.Context, user schemas.User, thread string) (schemas.Chat, error) {
	chat, err := s.Chats.ByKey(ctx, user, ChatKey(thread))
	if errors.Is(err, schemas.ErrNotFound) {
		return schemas.Chat{ChatID: ChatKey(thread)}, nil
	}
	return chat, err
}

// Current reads the chat's current messages, in order: as many of the newest as a client
// can be expected to show.
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

// Place says where in its chat the last message of the client's list belongs, which is the
// user's. Follow is a run that answers it already.
type Place struct{ Edit, Regenerate, Follow string }

// Find finds the place of the last message of the list. The list is the client's and not
// the truth; the chat is. The anchor is the last message before it that the chat has.
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

// Behind returns the first of the user's messages behind the anchor of the last message
// of the list, -1 for none.
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

// Again answers a question of the chat again: its answer is generated again, or followed
// where it is under way, or the same question asked where it has none.
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

// index returns the place of a client's message in the chat, -1 for none. An id that
// begins with the id of an answer, or of its run, is that answer's.
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
