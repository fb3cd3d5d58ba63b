package answer

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/fences"
	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/services/answer/argstream"
	"github.com/chattray/chattray/services/documents"
)

// withdrawnText tells the model that the user did not want the block.
const withdrawnText = "What you wrote is not in the document: while you were writing it, the user rejected it, or deleted the block or the document. " +
	"Do not write it again unless the user asks for it."

// lookForWithdrawals withdraws what the run has shown of documents that the user has
// reverted or deleted, if that was elsewhere or between two attempts.
func (wr *Writer) lookForWithdrawals() {
	if wr.watch == nil {
		return
	}
	ctx, done := wr.written.Storing()
	defer done()
	if err := wr.watch.Look(ctx); err != nil { // the store refuses the run's writes
		wr.deps.Logger.Warn("look for documents that were withdrawn", "run_id", wr.run.ID, "error", err)
	}
}

// lookForRejected notes the blocks of documents that earlier attempts wrote and that the
// user has rejected or deleted since, while no process worked on the run.
func (wr *Writer) lookForRejected(ctx context.Context) {
	if wr.run.Earlier == nil || wr.deps.Drafts == nil {
		return
	}
	for _, t := range wr.run.Earlier.BlockTexts() {
		b, found, err := wr.deps.Drafts.Find(ctx, wr.run.Owner, t.Place.BlockIDs)
		pending := found && (b.New != nil || b.State != schemas.BlockClean)
		whole := cmp.Or(t.Text, standing(wr.run.Earlier.Text()))
		if t.Place.DocumentID == "" || err != nil || pending || !wr.refused(ctx, t.Place.BlockIDs, whole) {
			continue
		}
		wr.run.Earlier.Withdrawn[t.Place.BlockIDs] = true
		wr.rejected = append(wr.rejected, &runlog.BlockReset{Place: t.Place, End: true, Revision: t.Revision})
	}
}

// noteDraft notes the block that a call has been writing when it begins to run.
func (wr *Writer) noteDraft(index int) {
	if wr.written == nil {
		return
	}
	if d := wr.written.Draft(index); d != nil {
		wr.mu.Lock()
		defer wr.mu.Unlock()
		if wr.drafts == nil {
			wr.drafts = make(map[int]*documents.Draft)
		}
		wr.drafts[index] = d
	}
}

// withdrawn reports whether the user has refused what the model was writing:
// the call must not write it again.
func (wr *Writer) withdrawn(ctx context.Context, t *turn.Tool, c *turn.Call) bool {
	wr.mu.Lock()
	d := wr.drafts[c.Index]
	wr.mu.Unlock()
	var input map[string]json.RawMessage
	switch {
	case json.Unmarshal(c.Input, &input) != nil:
		return false
	case d == nil:
		return t.Streams != nil && wr.run.Earlier.Withdrew(c.Index, cmp.Or(argstream.Text(input, t.Streams.Block), c.BlockID(0)))
	}
	return d.Withdrawn() || wr.refused(ctx, d.Block(), argstream.Text(input, t.Streams.Argument))
}

// refused reports whether the user has refused the block. A refused block no
// longer exists, or has nothing pending and none of the text. If the user
// accepted a part of the text, the block's content is a prefix of the whole.
func (wr *Writer) refused(ctx context.Context, id, whole string) bool {
	b, err := wr.deps.Drafts.Block(ctx, wr.run.Owner, id)
	switch {
	case errors.Is(err, schemas.ErrNotFound):
		return true
	case err != nil, b.New != nil, b.State == schemas.BlockPendingDelete:
		return false
	}
	return b.Current == nil || *b.Current == "" || !strings.HasPrefix(fences.Whole(b.Type, whole), *b.Current)
}
