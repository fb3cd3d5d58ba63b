package builtin

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/tools"
)

// payloads reads a chat's payloads. Its error is schemas.ErrNotFound for an
// unknown payload or one of another user.
type payloads interface {
	Payload(ctx context.Context, owner string, conversationID int64, payloadID string) (schemas.CustomPayload, error)
}

// Payloads returns get_payload, with which the model reads a payload of its
// chat that the manifest names; none without a store.
func Payloads(store payloads) []turn.Tool {
	if store == nil {
		return nil
	}
	get := func(ctx context.Context, call *tools.Call, in payloadPart) (string, error) {
		p, err := held(ctx, func() (schemas.CustomPayload, error) {
			return store.Payload(ctx, call.User.ID, call.ConversationID, in.PayloadID)
		})
		if errors.Is(err, schemas.ErrNotFound) {
			return "", schemas.NewError(schemas.CodeNotFound, "this chat has no payload "+in.PayloadID).Because(err)
		}
		if err != nil {
			return "", err
		}
		text := fmt.Sprintf("Payload %s of type %s", in.PayloadID, p.Type)
		if p.Summary != "" {
			text += ": " + p.Summary
		}
		if p.Outcome != "" {
			text += " (" + p.Outcome + " by the user)"
		}
		text += "\n"
		shown, note := part(call, string(p.Data), in.Start, text)
		if note != "" {
			note = "\n" + note
		}
		return text + shown + note, nil
	}
	return []turn.Tool{tools.NewText("get_payload", "Get the whole data of an earlier payload of this chat by its id. Long data comes in parts: pass start to read on.", get,
		tools.Words("Look at earlier data", "Looked at earlier data|Looked at earlier data {n} times"), tools.Global(), tools.Idempotent(), tools.InChat(), tools.Retold(), tools.Refine(func(s *jsonschema.Schema) {
			s.Properties["payload_id"].Pattern = "^[0-9a-f]{8}$"
			atLeast(s, 0, "start")
		}))}
}

type payloadPart struct {
	PayloadID string `json:"payload_id" jsonschema:"the payload's id, 8 hex digits"`
	Start     int    `json:"start,omitempty" jsonschema:"character at which to start, from the note at the end of an earlier part"`
}
