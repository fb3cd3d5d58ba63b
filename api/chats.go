package api

import (
	"context"
	"iter"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

// chats is a user's conversations and what is in them. Each call checks the
// owner: what is unknown or somebody else's is schemas.ErrNotFound. Cursors
// that were not given out are errors of code bad_request.
type chats interface {
	chatIndex
	chatContent
	chatVersions
}

type chatIndex interface {
	List(ctx context.Context, user schemas.User, q record.ChatQuery) (schemas.ChatList, error)
	Get(ctx context.Context, user schemas.User, conversationID int64, q record.MessageQuery) (schemas.Chat, error)
	Patch(ctx context.Context, user schemas.User, conversationID int64, p schemas.ChatPatch) (schemas.Chat, error)
	Delete(ctx context.Context, user schemas.User, conversationID int64) error
	// Export returns the chat and its text in a format, piece by piece.
	Export(ctx context.Context, user schemas.User, conversationID int64, format string) (schemas.Chat, iter.Seq2[[]byte, error], error)
}

type chatVersions interface {
	Versions(ctx context.Context, user schemas.User, conversationID int64, messageID string) (schemas.VersionList, error)
	// SelectVersion makes a version of a message current and returns the chat.
	SelectVersion(ctx context.Context, user schemas.User, conversationID int64, messageID string) (schemas.Chat, error)
}

type chatContent interface {
	Payload(ctx context.Context, user schemas.User, conversationID int64, payloadID string) (schemas.CustomPayload, error)
	// Resolve keeps the outcome (accepted or rejected) of a proposal.
	Resolve(ctx context.Context, user schemas.User, conversationID int64, payloadID, outcome string) (schemas.CustomPayload, error)
	SetFeedback(ctx context.Context, user schemas.User, conversationID int64, messageID string, f schemas.Feedback) (schemas.Message, error)
}

// firstID is the smallest number that the database gives out.
const firstID = 1

func (s *server) listChats(c echo.Context) error {
	limit, err := queryLimit(c)
	if err != nil {
		return err
	}
	cursor, err := queryText(c, "cursor", maxCursor)
	if err != nil {
		return err
	}
	text, err := queryText(c, "q", maxQuery)
	if err != nil {
		return err
	}
	archived, err := queryFlag(c, "archived")
	if err != nil {
		return err
	}
	ctx, user := caller(c)
	found, err := s.Chats.List(ctx, user, record.ChatQuery{Limit: limit, Cursor: cursor, Text: text, Archived: archived})
	if err != nil {
		return err
	}
	found.Items = array(found.Items)
	return respond(c, found)
}

func (s *server) getChat(c echo.Context) error {
	chat, err := number(c, "conversation_id", firstID)
	if err != nil {
		return err
	}
	limit, err := queryLimit(c)
	if err != nil {
		return err
	}
	cursor, err := queryText(c, "cursor", maxCursor)
	if err != nil {
		return err
	}
	superseded, err := queryFlag(c, "superseded")
	if err != nil {
		return err
	}
	ctx, user := caller(c)
	found, err := s.Chats.Get(ctx, user, chat, record.MessageQuery{Limit: limit, Cursor: cursor, Superseded: superseded})
	if err != nil {
		return err
	}
	return respond(c, found)
}

func (s *server) patchChat(c echo.Context) error {
	chat, err := number(c, "conversation_id", firstID)
	if err != nil {
		return err
	}
	patch, _, err := decode[schemas.ChatPatch](s, c)
	if err != nil {
		return err
	}
	ctx, user := caller(c)
	patched, err := s.Chats.Patch(ctx, user, chat, patch)
	if err != nil {
		return err
	}
	return respond(c, patched)
}

func (s *server) deleteChat(c echo.Context) error {
	chat, err := number(c, "conversation_id", firstID)
	if err != nil {
		return err
	}
	ctx, user := caller(c)
	if err := s.Chats.Delete(ctx, user, chat); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// inChat returns the two ids of a thing in a chat.
func inChat(c echo.Context, name string) (chat int64, thing string, err error) {
	if chat, err = number(c, "conversation_id", firstID); err != nil {
		return 0, "", err
	}
	thing, err = id(c, name)
	return chat, thing, err
}

func (s *server) getPayload(c echo.Context) error {
	chat, payload, err := inChat(c, "payload_id")
	if err != nil {
		return err
	}
	ctx, user := caller(c)
	found, err := s.Chats.Payload(ctx, user, chat, payload)
	if err != nil {
		return err
	}
	return respond(c, found)
}

func (s *server) resolvePayload(c echo.Context) error {
	chat, payload, err := inChat(c, "payload_id")
	if err != nil {
		return err
	}
	resolution, _, err := decode[schemas.Resolution](s, c)
	if err != nil {
		return err
	}
	ctx, user := caller(c)
	resolved, err := s.Chats.Resolve(ctx, user, chat, payload, resolution.Outcome)
	if err != nil {
		return err
	}
	return respond(c, resolved)
}

func (s *server) postFeedback(c echo.Context) error {
	chat, message, err := inChat(c, "message_id")
	if err != nil {
		return err
	}
	feedback, _, err := decode[schemas.Feedback](s, c)
	if err != nil {
		return err
	}
	ctx, user := caller(c)
	judged, err := s.Chats.SetFeedback(ctx, user, chat, message, feedback)
	if err != nil {
		return err
	}
	return respond(c, judged)
}
