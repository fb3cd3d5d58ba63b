package runs

import (
	"bytes"
	"context"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/services/answer"
)

// reserve makes the first block that the client has chosen for an answer in the
// chat the id of that answer's message, and further ones other names of it:
// block ids are persisted. Blocks for an answer in a document must be of that
// document, or new.
func (r *Runs) reserve(ctx context.Context, user schemas.User, req *schemas.ChatRequest, b *record.Begin) error {
	document, blocks := turn.Answer(req.Context)
	for _, id := range blocks {
		in, used, err := answer.PlaceOf(ctx, r.Drafts, user, id)
		switch {
		case err != nil:
			return err
		case document != "" && used && in != document:
			return schemas.ErrTaken
		case document != "" || in != "":
		case b.Reserve:
			b.Aliases = append(b.Aliases, id)
		default:
			b.Run.MessageID, b.Reserve = id, true
		}
	}
	return nil
}

// resent returns the run under way that the very same request has begun, as a
// client sends it that does not know whether it has arrived; nil for none.
func (r *Runs) resent(user schemas.User, req *schemas.ChatRequest, b *record.Begin) *run {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range r.live {
		if one.messageID == b.Run.MessageID && one.owner.ID == user.ID && bytes.Equal(schemas.Encode(one.req), schemas.Encode(req)) {
			return one
		}
	}
	return nil
}
