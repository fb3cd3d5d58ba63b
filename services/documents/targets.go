package documents

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/turn"
)

// CheckTargets refuses blocks that cannot take the text of one answer: images,
// which only a tool writes, and blocks of different types. A new block is
// Markdown. A nil Documents refuses nothing.
func (d *Documents) CheckTargets(ctx context.Context, user schemas.User, blocks []string) error {
	if d == nil {
		return nil
	}
	first := ""
	for i, id := range blocks {
		kind, err := d.typeOf(ctx, user, id)
		switch {
		case err != nil:
			return err
		case strings.HasPrefix(kind, "image/"):
			return schemas.Invalid("/context/"+turn.ContextBlocks, "the block "+id+" is an image; an answer's text does not go there, ask for it in the mode agent")
		case i > 0 && kind != first:
			return schemas.Invalid("/context/"+turn.ContextBlocks, "the blocks are of different types, "+first+" and "+kind+"; one answer goes to blocks of one type")
		}
		first = kind
	}
	return nil
}

// Place returns the document or the key of the chat in which a block is, also if a run
// has only begun to write it. Both are empty for an unknown block, and for a nil
// Documents.
func (d *Documents) Place(ctx context.Context, user schemas.User, id string) (document, chat string, err error) {
	if d == nil {
		return "", "", nil
	}
	b, found, err := d.Find(ctx, user, id)
	if err != nil || found {
		return b.DocumentID, b.ChatID, err
	}
	if document, err := d.claimedIn(ctx, user.ID, id); document != "" || err != nil {
		return document, "", err
	}
	chat, err = d.blocks.AnswerChat(ctx, user.ID, id)
	if errors.Is(err, schemas.ErrNotFound) {
		return "", "", nil
	}
	return "", chat, err
}

// ChatBlocks returns the ids that the client has chosen for an answer in a chat, that of
// its message first; none if the message's id is not the client's.
func (d *Documents) ChatBlocks(ctx context.Context, user schemas.User, page schemas.Object, message string) ([]string, error) {
	document, blocks := turn.Answer(page)
	at := slices.Index(blocks, message)
	if document != "" || at < 0 {
		return nil, nil
	}
	names := []string{message}
	for _, id := range blocks[at+1:] {
		document, _, err := d.Place(ctx, user, id)
		if err != nil {
			return nil, err
		}
		if document == "" {
			names = append(names, id)
		}
	}
	return names, nil
}

// TargetType returns the type of the blocks that the answer on a page goes to.
func (d *Documents) TargetType(ctx context.Context, user schemas.User, page schemas.Object) (string, error) {
	_, blocks := turn.Answer(page)
	if d == nil || len(blocks) == 0 {
		return schemas.BlockMarkdown, nil
	}
	return d.typeOf(ctx, user, blocks[0])
}

func (d *Documents) typeOf(ctx context.Context, user schemas.User, id string) (string, error) {
	b, err := d.Block(ctx, user, id)
	switch {
	case errors.Is(err, schemas.ErrNotFound):
		return schemas.BlockMarkdown, nil
	case err != nil:
		return "", err
	}
	return b.Type, nil
}
