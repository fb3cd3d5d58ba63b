package services

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/services/documents"
)

// answerDraft is the text of an answer that goes into blocks of a document.
// The zero value is of an answer
// that goes to the chat alone.
type answerDraft struct {
	target   runlog.Target
	document string
	blocks   []string
	joiner   runlog.Joiner
	text     strings.Builder
	opened   bool
	drafts   []*documents.Draft
}

// reserve makes the first block that the client has chosen for an answer in the
// chat the id of that answer's message, and further ones other names of it:
// block ids are persisted. Blocks for an answer in a document must be of that
// document, or new.
func (r *Runs) reserve(ctx context.Context, user schemas.User, req *schemas.ChatRequest, b *record.Begin) error {
	document, blocks := turn.Answer(req.Context)
	for _, id := range blocks {
		in, used, err := r.placeOf(ctx, user, id)
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

// placeOf returns the document that the block is in, "" of one in a chat or of
// none, and whether there is such a block.
func (r *Runs) placeOf(ctx context.Context, user schemas.User, id string) (document string, used bool, err error) {
	if r.Drafts == nil {
		return "", false, nil
	}
	b, err := r.Drafts.Block(ctx, user, id)
	if errors.Is(err, schemas.ErrNotFound) {
		return "", false, nil
	}
	return b.DocumentID, err == nil, err
}

// resent returns the run under way that the very same request has begun, as a
// client sends it that does not know whether it has arrived; nil for none.
func (r *Runs) resent(user schemas.User, b *record.Begin) *run {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range r.live {
		if one.messageID == b.Run.MessageID && one.owner.ID == user.ID && bytes.Equal(encode(one.req), b.Run.Request) {
			return one
		}
	}
	return nil
}

// target finds out where the answer of a run goes. In the chat the block whose id
// its message has comes first.
func (rec *recorder) target(ctx context.Context) runlog.Target {
	one := rec.run
	document, blocks := turn.Answer(one.req.Context)
	t := runlog.Target{Place: runlog.Place{DocumentID: document}, MessageID: one.messageID, Awaited: document != "" && len(blocks) > 0}
	if document == "" {
		if i := slices.Index(blocks, one.messageID); i >= 0 {
			t.Awaited = true
			blocks = slices.DeleteFunc(blocks[i+1:], func(id string) bool {
				in, _, err := one.runs.placeOf(ctx, one.owner, id) // what is said in the chat does not go to a document
				return in != "" || err != nil
			})
		} else {
			blocks = nil
		}
		blocks = append([]string{one.messageID}, blocks...)
	}
	if len(blocks) == 0 {
		blocks = []string{turn.BlockID(one.id, 0, "answer", 0)}
	}
	t.BlockIDs = strings.Join(blocks, ",")
	if document != "" && one.runs.Drafts != nil {
		rec.answer.document, rec.answer.blocks = document, blocks
		if b, err := one.runs.Drafts.Block(ctx, one.owner, blocks[0]); err == nil && b.Type != schemas.BlockMarkdown {
			t.Type, t.Header = b.Type, blockHeader(&b)
		}
	}
	rec.answer.target = t
	return t
}

// add takes visible text of the answer.
func (a *answerDraft) add(rec *recorder, text string) {
	piece := a.joiner.Text(text)
	if a.document == "" || piece == "" {
		return
	}
	a.text.WriteString(piece)
	if rec.silent {
		return
	}
	if !a.opened {
		a.open(rec)
		return
	}
	ctx, done := rec.storing()
	defer done()
	for _, d := range a.drafts {
		_ = d.Write(ctx, piece) // end looks at what came of it
	}
}

// open begins the blocks with all text that there is. A block that the page
// shows is told to begin anew.
func (a *answerDraft) open(rec *recorder) {
	a.opened = true
	one := rec.run
	ctx, done := rec.storing()
	defer done()
	for _, id := range a.blocks {
		_, unknown := one.runs.Drafts.Block(ctx, one.owner, id)
		draft, b, err := one.runs.Drafts.Draft(ctx, one.owner, a.document, record.BlockWrite{NewBlock: record.NewBlock{ID: id, Content: a.text.String()}})
		if err != nil {
			rec.warn("The answer could not be written into the block " + id + ": " + schemas.Visible(err).Message + ".")
			continue
		}
		if unknown == nil {
			rec.emit(runlog.Level{}, &runlog.BlockReset{Place: runlog.Place{BlockIDs: id, DocumentID: a.document, Type: b.Type}})
		}
		a.drafts = append(a.drafts, draft)
	}
}

// end stores what is held. What a user has accepted in the middle is proposed
// whole, so that the rest is not lost; what they have refused stays away.
func (a *answerDraft) end(rec *recorder) {
	if !a.opened && a.text.Len() > 0 {
		a.open(rec)
	}
	ctx, done := rec.storing()
	defer done()
	for _, d := range a.drafts {
		rec.flush(ctx, d)
		whole := a.text.String()
		if !d.Settled() || rec.refused(ctx, d.Block(), whole) {
			continue
		}
		w := record.BlockWrite{Only: true, NewBlock: record.NewBlock{ID: d.Block(), Content: whole}}
		if _, err := rec.run.runs.Drafts.Write(ctx, rec.run.owner, a.document, w); err != nil {
			rec.run.runs.Logger.Warn("propose a block again", "run_id", rec.run.id, "error", err)
		}
	}
}

// intoDocument is what a model is told whose answer goes into a document.
const intoDocument = "\n\nYour answer's text is written into the user's document as it is. Write only what belongs there: no greeting, no remarks about it."

// forMode leaves out the tools that write the document where the answer itself
// is written into it.
func forMode(tools []turn.Tool, page schemas.Object) []turn.Tool {
	if document, _ := turn.Answer(page); document == "" {
		return tools
	}
	writing := []string{planDocument, writeBlock, editBlock, "delete_block", "move_block"}
	return slices.DeleteFunc(slices.Clone(tools), func(t turn.Tool) bool { return slices.Contains(writing, t.Name) })
}

// modeNote is what the prompt adds for the mode.
func modeNote(page schemas.Object) string {
	if document, _ := turn.Answer(page); document == "" {
		return ""
	}
	return intoDocument
}

// Live returns the ids of the user's runs of a chat that have not ended, the one
// under way first, then those that wait in the order in which they came.
func (r *Runs) Live(user schemas.User, chat string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []*run
	for _, one := range r.live {
		if _, over := one.log.Ended(); !over && one.owner.ID == user.ID && one.chatKey == chat {
			list = append(list, one)
		}
	}
	slices.SortFunc(list, func(a, b *run) int { // ids are made in order of time
		if (a.attempt > 0) != (b.attempt > 0) {
			return map[bool]int{true: -1, false: 1}[a.attempt > 0]
		}
		return strings.Compare(a.id, b.id)
	})
	ids := make([]string, len(list))
	for i, one := range list {
		ids[i] = one.id
	}
	return ids
}
