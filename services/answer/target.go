package answer

import (
	"context"
	"slices"
	"strings"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/services/documents"
	"github.com/chattray/chattray/services/eventlog"
)

// Target finds out where the answer of a run goes. In the chat, the answer's
// message has the id of the first block. A run whose blocks cannot be read is stopped (see
// Unread): it would take a table for text, or bring a rejected block back.
func (wr *Writer) Target(ctx context.Context) runlog.Target {
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), eventlog.CommitWait)
	defer done()
	wr.lookForRejected(ctx)
	document, blocks := turn.Answer(wr.run.Request.Context)
	t := runlog.Target{Place: runlog.Place{DocumentID: document}, MessageID: wr.run.MessageID, Awaited: document != "" && len(blocks) > 0}
	if document == "" {
		if i := slices.Index(blocks, wr.run.MessageID); i >= 0 {
			t.Awaited = true
			blocks = slices.DeleteFunc(blocks[i+1:], func(id string) bool {
				document, chat, err := wr.deps.Drafts.Place(ctx, wr.run.Owner, id) // an answer in the chat does not go elsewhere
				wr.stopUnread(err)
				return err != nil || document != "" || wr.deps.Drafts != nil && chat != wr.run.ChatKey
			})
		} else {
			blocks = nil
		}
		blocks = append([]string{wr.run.MessageID}, blocks...)
	}
	if len(blocks) == 0 {
		blocks = []string{turn.AnswerBlock(wr.run.ID)}
	}
	t.BlockIDs = strings.Join(blocks, ",")
	if document != "" && wr.deps.Drafts != nil {
		blocks = wr.run.Earlier.Wanted(blocks)
		if len(blocks) == 0 { // the user has withdrawn them all
			wr.deps.Stop(ErrWithdrawn)
		}
		there := make(map[string]bool)
		for i, id := range blocks {
			b, found, err := wr.deps.Drafts.Find(ctx, wr.run.Owner, id)
			wr.stopUnread(err)
			there[id] = found && b.DocumentID == document
			if i == 0 && found && b.Type != schemas.BlockMarkdown {
				t.Type, t.Header = b.Type, documents.Header(&b)
			}
		}
		wr.answer.Use(document, blocks, there, t.Type)
	}
	wr.target = t
	return t
}

func (wr *Writer) stopUnread(err error) {
	if err != nil {
		wr.unread = err
		wr.deps.Stop(err)
	}
}

// Unread returns why Target could not read the blocks of the answer, nil if it has.
func (wr *Writer) Unread() error { return wr.unread }

// clear clears the blocks of an answer in the chat that pages may show already: an
// earlier answer, or a block that was removed. The answer counts as later than those.
func (wr *Writer) clear(t *runlog.Target) {
	replaces, replaced := wr.run.Replaces, []string{t.BlockIDs}
	if t.DocumentID == "" && t.Awaited { // the client has chosen the ids
		replaced = strings.Split(t.BlockIDs, ",")
		removed, err := wr.deps.Drafts.Removed(wr.ctx, wr.run.Owner, replaced)
		replaces = replaces || err != nil && wr.ctx.Err() == nil // a run that was cancelled while it waited writes nothing
		replaced = slices.DeleteFunc(replaced, func(id string) bool {
			last, reused := removed[id]
			if reused {
				wr.emit(runlog.Level{}, &runlog.BlockReset{Place: runlog.Place{BlockIDs: id}, Revision: last + 1})
			}
			return reused
		})
	}
	if replaces && len(replaced) > 0 {
		wr.emit(runlog.Level{}, &runlog.BlockReset{Place: runlog.Place{BlockIDs: strings.Join(replaced, ",")}})
	}
}
