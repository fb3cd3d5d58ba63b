package runs

import (
	"bytes"
	"context"
	"slices"

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

// intoDocument is what a model is told whose answer goes into a document.
const intoDocument = "\n\nYour answer's text is written into the user's document as it is. Write only what belongs there: no greeting, no remarks about it."

// forMode leaves out the tools that write the document where the answer itself
// is written into it.
func forMode(tools []turn.Tool, page schemas.Object) []turn.Tool {
	if document, _ := turn.Answer(page); document == "" {
		return tools
	}
	return slices.DeleteFunc(slices.Clone(tools), func(t turn.Tool) bool { return t.Document })
}

// modeNote is what the prompt adds for the mode.
func modeNote(page schemas.Object) string {
	if document, _ := turn.Answer(page); document == "" {
		return ""
	}
	return intoDocument
}
