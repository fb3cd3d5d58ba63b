package answer

import (
	"context"
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

// Target finds out where the answer of a run goes. In the chat the block whose id
// its message has comes first.
func (wr *Writer) Target(ctx context.Context) runlog.Target {
	document, blocks := turn.Answer(wr.run.Request.Context)
	t := runlog.Target{Place: runlog.Place{DocumentID: document}, MessageID: wr.run.MessageID, Awaited: document != "" && len(blocks) > 0}
	if document == "" {
		if i := slices.Index(blocks, wr.run.MessageID); i >= 0 {
			t.Awaited = true
			blocks = slices.DeleteFunc(blocks[i+1:], func(id string) bool {
				in, _, err := wr.deps.Drafts.DocumentOf(ctx, wr.run.Owner, id) // what is said in the chat does not go to a document
				return in != "" || err != nil
			})
		} else {
			blocks = nil
		}
		blocks = append([]string{wr.run.MessageID}, blocks...)
	}
	if len(blocks) == 0 {
		blocks = []string{turn.BlockID(wr.run.ID, 0, "answer", 0)}
	}
	t.BlockIDs = strings.Join(blocks, ",")
	if document != "" && wr.deps.Drafts != nil {
		wr.answer.document, wr.answer.blocks = document, blocks
		if b, err := wr.deps.Drafts.Block(ctx, wr.run.Owner, blocks[0]); err == nil && b.Type != schemas.BlockMarkdown {
			t.Type, t.Header = b.Type, blockHeader(&b)
		}
	}
	wr.answer.target = t
	return t
}

// add takes visible text of the answer.
func (a *answerDraft) add(wr *Writer, text string) {
	piece := a.joiner.Text(text)
	if a.document == "" || piece == "" {
		return
	}
	a.text.WriteString(piece)
	if wr.silent {
		return
	}
	if !a.opened {
		a.open(wr)
		return
	}
	ctx, done := wr.storing()
	defer done()
	for _, d := range a.drafts {
		_ = d.Write(ctx, piece) // end looks at what came of it
	}
}

// open begins the blocks with all text that there is. A block that the page
// shows is told to begin anew.
func (a *answerDraft) open(wr *Writer) {
	a.opened = true
	ctx, done := wr.storing()
	defer done()
	for _, id := range a.blocks {
		_, unknown := wr.deps.Drafts.Block(ctx, wr.run.Owner, id)
		draft, b, err := wr.deps.Drafts.Draft(ctx, wr.run.Owner, a.document, record.BlockWrite{NewBlock: record.NewBlock{ID: id, Content: a.text.String()}})
		if err != nil {
			wr.warn("The answer could not be written into the block " + id + ": " + schemas.Visible(err).Message + ".")
			continue
		}
		if unknown == nil {
			wr.emit(runlog.Level{}, &runlog.BlockReset{Place: runlog.Place{BlockIDs: id, DocumentID: a.document, Type: b.Type}})
		}
		a.drafts = append(a.drafts, draft)
	}
}

// end stores what is held. What a user has accepted in the middle is proposed
// whole, so that the rest is not lost; what they have refused stays away.
func (a *answerDraft) end(wr *Writer) {
	if !a.opened && a.text.Len() > 0 {
		a.open(wr)
	}
	ctx, done := wr.storing()
	defer done()
	for _, d := range a.drafts {
		wr.flush(ctx, d)
		whole := a.text.String()
		if !d.Settled() || wr.refused(ctx, d.Block(), whole) {
			continue
		}
		w := record.BlockWrite{Only: true, NewBlock: record.NewBlock{ID: d.Block(), Content: whole}}
		if _, err := wr.deps.Drafts.Write(ctx, wr.run.Owner, a.document, w); err != nil {
			wr.deps.Logger.Warn("propose a block again", "run_id", wr.run.ID, "error", err)
		}
	}
}
