package clicks

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/text"
	"github.com/chattray/chattray/services/pages"
)

// maxSearched is how many of a chat's newest messages are searched for the
// suggestion that the user clicked.
const maxSearched = 50

// Check refuses the click of a request that cannot be done on a page with this offer, and
// sets the payload that it accepts in the request.
func (c *Clicks) Check(ctx context.Context, user schemas.User, req *schemas.ChatRequest, offer pages.Offer) error {
	call := c.call(user, req, req.ConversationID, offer)
	if err := c.Actions.Allow(ctx, call); err != nil {
		return err
	}
	kind := ""
	for _, a := range call.Page.Actions {
		if a.Action == call.Action {
			kind = a.PayloadType
		}
	}
	if kind == "" && req.ActionMetadata.PayloadID == "" {
		return nil
	}
	return c.checkDecision(ctx, user.ID, req, kind)
}

// checkDecision refuses a click whose payload has been decided, and finds the payload of
// a click on an action that accepts payloads of the kind and names none.
func (c *Clicks) checkDecision(ctx context.Context, owner string, req *schemas.ChatRequest, kind string) error {
	click := req.ActionMetadata
	chat, err := c.chatOf(ctx, owner, req)
	if err != nil {
		return err
	}
	var list []schemas.CustomPayload
	if chat != 0 {
		if list, err = c.Store.Payloads(ctx, owner, chat, ""); err != nil {
			return err
		}
	}
	if click.PayloadID == "" && len(list) > 0 {
		if click.PayloadID, err = c.clicked(ctx, owner, chat, click, kind, list); err != nil {
			return err
		}
	}
	if click.PayloadID == "" {
		return nil
	}
	at := slices.IndexFunc(list, func(p schemas.CustomPayload) bool { return p.PayloadID == click.PayloadID })
	switch {
	case at < 0:
		return schemas.Invalid("/action_metadata/payload_id", "is not a payload of this chat")
	case list[at].Outcome != "":
		return schemas.NewError(schemas.CodeConflict, "this has been "+list[at].Outcome+" already")
	}
	return nil
}

// clicked returns the payload that a click accepts: that of the newest suggestion of the
// same action with the same data, else the only one of the kind; "" if the chat has none.
func (c *Clicks) clicked(ctx context.Context, owner string, chat int64, click *schemas.ActionMetadata, kind string, list []schemas.CustomPayload) (string, error) {
	id, err := c.suggestedFor(ctx, owner, chat, click)
	if err != nil || id != "" {
		return id, err
	}
	for _, p := range list {
		switch {
		case p.Type != kind:
		case id != "":
			return "", schemas.Invalid("/action_metadata/payload_id", "is required: the chat has several payloads that this action may accept")
		default:
			id = p.PayloadID
		}
	}
	return id, nil
}

// chatOf returns the number of the chat that a request names, 0 for a new chat.
func (c *Clicks) chatOf(ctx context.Context, owner string, req *schemas.ChatRequest) (int64, error) {
	if req.ConversationID != 0 || req.ChatID == "" {
		return req.ConversationID, nil
	}
	chat, err := c.Store.ChatByKey(ctx, owner, req.ChatID)
	if err != nil && schemas.Visible(err).Code == schemas.CodeNotFound {
		return 0, nil
	}
	return chat.ConversationID, err
}

// suggestedFor returns the payload of the suggestion that the user clicked, ""
// for none.
func (c *Clicks) suggestedFor(ctx context.Context, owner string, chat int64, click *schemas.ActionMetadata) (string, error) {
	messages, _, err := c.Store.Messages(ctx, owner, chat, record.MessageQuery{Limit: maxSearched})
	if err != nil {
		return "", err
	}
	data, found := comparable(click.ActionData), ""
	for i := range messages {
		for _, a := range messages[i].SuggestedActions {
			if a.PayloadID != "" && a.Action == click.ActionIdentifier && bytes.Equal(comparable(a.Data), data) {
				found = a.PayloadID
			}
		}
	}
	return found, nil
}

// comparable returns JSON on one line with sorted keys and one form for each number: a
// page may have decoded it. Text that is not JSON is returned unchanged.
func comparable(raw json.RawMessage) []byte {
	v, err := text.Decode(raw)
	if err != nil {
		return raw
	}
	return []byte(text.JSON(v))
}
