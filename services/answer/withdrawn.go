package answer

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/services/answer/argstream"
	"github.com/chattray/chattray/services/documents"
)

// withdrawnText tells the model that the user did not want the block.
const withdrawnText = "What you wrote is not in the document: while you were writing it, the user rejected it, or deleted the block or the document. " +
	"Do not write it again unless the user asks for it."

// changedText tells the model that the user has already decided otherwise.
const changedText = "The block was written, and before this call ran the user accepted it and changed it, or wrote something else there. " +
	"What the user wrote stays; call read_document to see it. Do not write the block again unless the user asks for it."

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
// user has rejected or deleted since, while no process worked on the run. A run whose blocks
// cannot be read is stopped: it would write again what the user does not want.
func (wr *Writer) lookForRejected(ctx context.Context) {
	if wr.run.Earlier == nil || wr.deps.Drafts == nil {
		return
	}
	for _, t := range wr.run.Earlier.BlockTexts() {
		if t.Place.DocumentID == "" {
			continue
		}
		b, found, err := wr.deps.Drafts.Find(ctx, wr.run.Owner, t.Place.BlockIDs)
		wr.stopUnread(err)
		pending := found && (b.New != nil || b.State != schemas.BlockClean)
		if err != nil || pending || found && !documents.Refuses(&b, cmp.Or(t.Text, standing(wr.run.Earlier.Text()))) {
			continue
		}
		wr.run.Earlier.Withdrawn[t.Place.BlockIDs] = true
		wr.rejected = append(wr.rejected, &runlog.BlockReset{Place: t.Place, End: true, Revision: t.Revision})
	}
}

// dropPlanned removes the blocks that the run has planned and not written. Those of a
// complete answer stay: the model may have planned first, and writes when the user asks for it.
// A call of an earlier attempt may have planned without being known.
func (wr *Writer) dropPlanned() {
	if wr.document() == "" || wr.run.Earlier == nil && !slices.ContainsFunc(wr.calls, func(c *call) bool { return c != nil && wr.tool(c.Name).Replans }) {
		return
	}
	ctx, done := wr.written.Storing()
	defer done()
	err := wr.deps.Drafts.DropPlanned(ctx, wr.run.Owner, wr.document(), wr.watch)
	if wr.stopFenced(err); err != nil {
		wr.deps.Logger.Warn("could not remove blocks that were planned and not written", "run_id", wr.run.ID, "error", err)
	}
}

// errWithdrawn is the error of a write that the user has refused since its call began.
type errWithdrawn struct{ result turn.Result }

func (errWithdrawn) Error() string { return "the user has withdrawn the block" }

// checkWrite returns a context in which a call writes only what the user has not refused.
// While the database is away it writes nothing: the tool waits, without the owner's lock.
func (wr *Writer) checkWrite(ctx context.Context, t *turn.Tool, c *turn.Call) context.Context {
	return documents.WithCheck(ctx, func(ctx context.Context) error {
		result, withdrawn, err := wr.withdrawn(ctx, t, c)
		if withdrawn {
			return errWithdrawn{result}
		}
		return err
	})
}

// withdrawn returns the result of a call that must not write, because the user has refused
// what the model was writing, or has changed it. The error says that this cannot be read.
func (wr *Writer) withdrawn(ctx context.Context, t *turn.Tool, c *turn.Call) (result turn.Result, ok bool, err error) {
	d := wr.notes.of(c.Index).draft
	refused := turn.Result{Text: withdrawnText, IsError: true}
	var input map[string]json.RawMessage
	switch {
	case json.Unmarshal(c.Input, &input) != nil:
		return result, false, nil
	case d == nil:
		return refused, t.Streams != nil && wr.run.Earlier.Withdrew(c.Index, cmp.Or(argstream.Text(input, t.Streams.Block), c.BlockID(0))), nil
	case d.Withdrawn():
		return refused, true, nil
	}
	b, found, err := wr.deps.Drafts.Find(ctx, wr.run.Owner, d.Block())
	switch {
	case err != nil || found && !documents.Refuses(&b, argstream.Text(input, t.Streams.Argument)):
		return result, false, err
	case !d.Undone(b.Current):
		return turn.Result{Text: changedText}, true, nil
	}
	return refused, true, nil
}
