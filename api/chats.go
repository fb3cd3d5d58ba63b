package api

import (
	"context"
	"errors"
	"iter"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

// chats is a user's conversations and what is in them. Each call checks the
// owner: anything unknown or owned by another user is schemas.ErrNotFound. A
// cursor that the service did not give out is an error of code bad_request.
type chats interface {
	chatIndex
	chatContent
	chatVersions
}

type chatIndex interface {
	List(ctx context.Context, user schemas.User, q record.ChatQuery) (schemas.ChatList, error)
	Get(ctx context.Context, user schemas.User, conversationID int64, q record.MessageQuery) (schemas.Chat, error)
	// ByKey returns the chat under the client's key, without messages.
	ByKey(ctx context.Context, user schemas.User, key string) (schemas.Chat, error)
	Patch(ctx context.Context, user schemas.User, conversationID int64, p schemas.ChatPatch) (schemas.Chat, error)
	Delete(ctx context.Context, user schemas.User, conversationID int64) error
	// Export returns the chat and its text in a format, piece by piece.
	Export(ctx context.Context, user schemas.User, conversationID int64, format string) (schemas.Chat, iter.Seq2[[]byte, error], error)
}

type chatVersions interface {
	Versions(ctx context.Context, user schemas.User, conversationID int64, messageID string) (schemas.VersionList, error)
	// SelectVersion makes a version of a message the current one and returns
	// the chat.
	SelectVersion(ctx context.Context, user schemas.User, conversationID int64, messageID string) (schemas.Chat, error)
}

type chatContent interface {
	Payload(ctx context.Context, user schemas.User, conversationID int64, payloadID string) (schemas.CustomPayload, error)
	// Resolve stores the outcome (accepted or rejected) of a proposal.
	Resolve(ctx context.Context, user schemas.User, conversationID int64, payloadID, outcome string) (schemas.CustomPayload, error)
	// SetFeedback stores the user's rating of an answer; one without a rating takes it
	// back.
	SetFeedback(ctx context.Context, user schemas.User, conversationID int64, messageID string, f schemas.Feedback) (schemas.Message, error)
}

func (s *server) listChats(ctx context.Context, user schemas.User, in struct {
	listPage

	Text     string `query:"q" max:"200"`
	Archived bool   `query:"archived"`
	Unlisted bool   `query:"unlisted"`
	Key      string `query:"chat_id" max:"64"`
},
) (schemas.ChatList, error) {
	if in.Key != "" {
		return oneChat(s.Chats.ByKey(ctx, user, in.Key))
	}
	found, err := s.Chats.List(ctx, user, record.ChatQuery{
		Limit: in.Limit, Cursor: in.Cursor, Text: in.Text, Archived: in.Archived, Unlisted: in.Unlisted,
	})
	found.Items = array(found.Items)
	return found, err
}

// oneChat lists a chat that was looked for, if it was found.
func oneChat(chat schemas.Chat, err error) (schemas.ChatList, error) {
	if errors.Is(err, schemas.ErrNotFound) {
		return schemas.ChatList{Items: []schemas.Chat{}}, nil
	}
	return schemas.ChatList{Items: []schemas.Chat{chat}}, err
}

func (s *server) getChat(ctx context.Context, user schemas.User, in struct {
	chatPath
	listPage

	Superseded bool `query:"superseded"`
},
) (schemas.Chat, error) {
	return s.Chats.Get(ctx, user, in.Chat, record.MessageQuery{Limit: in.Limit, Cursor: in.Cursor, Superseded: in.Superseded})
}

func (s *server) patchChat(ctx context.Context, user schemas.User, in struct {
	chatPath

	Body schemas.ChatPatch
},
) (schemas.Chat, error) {
	return s.Chats.Patch(ctx, user, in.Chat, in.Body)
}

func (s *server) deleteChat(ctx context.Context, user schemas.User, in chatPath) (none, error) {
	return none{}, s.Chats.Delete(ctx, user, in.Chat)
}

func (s *server) getPayload(ctx context.Context, user schemas.User, in payloadPath) (schemas.CustomPayload, error) {
	return s.Chats.Payload(ctx, user, in.Chat, in.Payload)
}

func (s *server) resolvePayload(ctx context.Context, user schemas.User, in struct {
	payloadPath

	Body schemas.Resolution
},
) (schemas.CustomPayload, error) {
	return s.Chats.Resolve(ctx, user, in.Chat, in.Payload, in.Body.Outcome)
}

func (s *server) postFeedback(ctx context.Context, user schemas.User, in struct {
	messagePath

	Body schemas.Feedback
},
) (schemas.Message, error) {
	return s.Chats.SetFeedback(ctx, user, in.Chat, in.Message, in.Body)
}

func (s *server) deleteFeedback(ctx context.Context, user schemas.User, in messagePath) (none, error) {
	_, err := s.Chats.SetFeedback(ctx, user, in.Chat, in.Message, schemas.Feedback{})
	return none{}, err
}

func (s *server) getVersions(ctx context.Context, user schemas.User, in messagePath) (schemas.VersionList, error) {
	found, err := s.Chats.Versions(ctx, user, in.Chat, in.Message)
	found.Items = array(found.Items)
	return found, err
}

func (s *server) selectVersion(ctx context.Context, user schemas.User, in messagePath) (schemas.Chat, error) {
	return s.Chats.SelectVersion(ctx, user, in.Chat, in.Message)
}
