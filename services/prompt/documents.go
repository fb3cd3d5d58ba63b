package prompt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/text"
	"github.com/chattray/chattray/schemas/turn"
)

// Limits of the parts of a document in a prompt.
const (
	maxContextBlocks = 100
	maxContextBlock  = 100    // characters of a block's beginning
	maxContextMeant  = 12_000 // characters of the blocks that the message is about
)

// Documents reads documents with their blocks. An unknown document, or another
// user's, is schemas.ErrNotFound.
type Documents interface {
	Document(ctx context.Context, owner, id string) (schemas.Document, error)
}

// documentContext lists the blocks of the document under document_id, else of
// the chat's own document, and shows the blocks that the user's message is
// about.
func documentContext(ctx context.Context, p *Builder, in *Input) loadedContext {
	var l loadedContext
	id := turn.DocumentID(in.Context, in.ConversationID)
	switch {
	case p.documents == nil:
		return l
	case id == "":
		l.note("the page names no valid document_id")
		return l
	}
	d, err := p.documents.Document(ctx, in.Owner, id)
	switch {
	case errors.Is(err, schemas.ErrNotFound):
		l.note("the document does not exist yet; it is created when something is written into it")
	case err != nil:
		l.note("the document could not be loaded")
	default:
		l.add("document "+id, documentOutline(&d))
		l.outside = len(d.Blocks) > 0 // a model that had read a web page may have written them
		_, meant := turn.Answer(in.Context)
		for i := range d.Blocks {
			if b := &d.Blocks[i]; slices.Contains(meant, b.ID) && !strings.HasPrefix(b.Type, "image/") {
				l.add("block "+b.ID+", which the user's message is about", cutText(proposedContent(b), maxContextMeant/len(meant)))
			}
		}
	}
	return l
}

// proposedContent returns a block's content as it will be once the user accepts
// it.
func proposedContent(b *schemas.Block) string { return *cmp.Or(b.New, b.Current, new(string)) }

// documentOutline lists a document's blocks in order, each with its beginning.
func documentOutline(d *schemas.Document) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Title: %s\n", text.Line(d.Title, maxContextLine))
	if d.NewTitle != "" {
		fmt.Fprintf(&b, "New title, not yet accepted: %s\n", text.Line(d.NewTitle, maxContextLine))
	}
	fmt.Fprintf(&b, "Blocks: %d\n", len(d.Blocks))
	for i := range d.Blocks {
		if i == maxContextBlocks {
			fmt.Fprintf(&b, "(%s not listed)\n", text.Plural(len(d.Blocks)-i, "more block"))
			break
		}
		block := &d.Blocks[i]
		content := proposedContent(block)
		fmt.Fprintf(&b, "%d. block_id %s | %s | %s | %s", i+1, block.ID, text.Line(block.Type, maxPromptName),
			strings.ReplaceAll(string(block.State), "_", " "), text.Plural(utf8.RuneCountInString(content), "character"))
		if !strings.HasPrefix(block.Type, "image/") && content != "" {
			fmt.Fprintf(&b, " | %s", text.Line(content[:min(len(content), 8*maxContextBlock)], maxContextBlock))
		}
		b.WriteByte('\n')
	}
	return b.String()
}
