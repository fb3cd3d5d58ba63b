package questions

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/text"
	"github.com/chattray/chattray/schemas/turn"
)

// checkTargets refuses block ids that are not valid, and a document id where the
// answer would go into that document or the page offers tools that write it. Other pages
// may use the key for other things.
func (q *Questions) checkTargets(user schemas.User, page schemas.Object) error {
	absent := func(key string) bool { s := string(page[key]); return s == "" || s == "null" || s == `""` }
	if !absent(turn.ContextBlocks) && !validBlocks(page.String(turn.ContextBlocks)) {
		return schemas.Invalid("/context/"+turn.ContextBlocks, "must be at most 16 ids of letters, digits, - and _, comma separated")
	}
	if absent(turn.ContextDocument) || text.IsID(page.String(turn.ContextDocument)) {
		return nil
	}
	if _, blocks := turn.Answer(page); len(blocks) > 0 || page.String(turn.ContextMode) == "chat" || q.writesDocuments(user, page) {
		return schemas.Invalid("/context/"+turn.ContextDocument, "must be 1 to 64 letters, digits, - or _")
	}
	return nil
}

// writesDocuments reports whether the page offers tools that write documents.
func (q *Questions) writesDocuments(user schemas.User, page schemas.Object) bool {
	offer, err := q.Pages.OfferFor(page, nil, user)
	return err == nil && slices.ContainsFunc(offer.Tools, func(t turn.Tool) bool { return t.Document })
}

// validBlocks says whether a list of block ids names some, and only valid ones.
func validBlocks(list string) bool {
	named := 0
	for id := range strings.SplitSeq(list, ",") {
		if id = strings.TrimSpace(id); id == "" {
			continue
		}
		if named++; !text.IsID(id) || named > turn.MaxTargets {
			return false
		}
	}
	return named > 0
}

// place finds where the blocks of a request are: it sets the document in the
// context, so that the answer goes into them, or else the chat in which they are
// generated again, where the request does not say. It reports whether it has
// changed the request.
func (q *Questions) place(ctx context.Context, user schemas.User, req *schemas.ChatRequest) (bool, error) {
	_, blocks := turn.Answer(req.Context)
	if len(blocks) == 0 {
		return false, nil
	}
	if document := req.Context.String(turn.ContextDocument); document != "" {
		return into(req, document), nil
	}
	chat := ""
	for _, id := range blocks {
		document, in, err := q.Documents.Place(ctx, user, id)
		if err != nil {
			return false, err
		}
		if document != "" {
			return into(req, document), nil
		}
		chat = cmp.Or(chat, in)
	}
	if chat == "" || req.ConversationID != 0 || req.ChatID != "" {
		return false, nil
	}
	req.ChatID = chat
	return true, nil
}

// into lets the answer of a request with blocks go into a document, unless its
// mode says otherwise. It reports whether it has changed the request.
func into(req *schemas.ChatRequest, document string) bool {
	mode := req.Context.String(turn.ContextMode)
	if mode != "" && req.Context.String(turn.ContextDocument) != "" {
		return false
	}
	req.Context = maps.Clone(req.Context)
	req.Context[turn.ContextDocument] = schemas.Encode(document)
	if mode == "" {
		req.Context[turn.ContextMode] = json.RawMessage(`"chat"`)
	}
	return true
}

// reserve gives the answer's message in a chat the id of the first block that
// the client has chosen, and keeps further ones as aliases: block ids are
// persistent. Blocks for an answer in a document must be in that document, or
// new.
func (q *Questions) reserve(ctx context.Context, page schemas.Object, b *record.Begin) error {
	document, blocks := turn.Answer(page)
	if document != "" {
		if err := q.Documents.CheckTargets(ctx, b.Run.Owner, blocks); err != nil {
			return err
		}
	}
	for _, id := range blocks {
		found, used, err := q.Documents.Find(ctx, b.Run.Owner, id)
		switch {
		case err != nil:
			return err
		case document != "" && used && found.DocumentID != document:
			return schemas.ErrTaken
		case document == "" && found.DocumentID != "" && found.DocumentID != turn.DocumentID(page, 0):
			return schemas.Invalid("/context/"+turn.ContextBlocks, "the block "+id+" is in another document")
		case document != "" || found.DocumentID != "":
		case b.Reserve:
			b.Aliases = append(b.Aliases, id)
		default:
			b.Run.MessageID, b.Reserve = id, true
		}
	}
	return nil
}
