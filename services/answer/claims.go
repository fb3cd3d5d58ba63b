package answer

import (
	"cmp"
	"encoding/json"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/services/answer/argstream"
	"github.com/chattray/chattray/services/documents"
)

// document is the id of the document that the run writes, "" if its page names no
// valid one.
func (wr *Writer) document() string {
	return turn.DocumentID(wr.run.Request.Context, wr.run.ChatID)
}

// claimOf returns the run's claim to blocks of its document.
func (wr *Writer) claimOf(blocks ...string) documents.Claim {
	return documents.Claim{Run: wr.run.ID, Owner: wr.run.Owner.ID, Document: wr.document(), Blocks: blocks}
}

// claim claims what a call of a document tool changes: a block, or the
// structure. If another run writes it, claim waits up to ClaimWait; after that
// the call is not run.
func (wr *Writer) claim(e turn.ToolStart) {
	t := wr.tool(e.Name)
	var input map[string]json.RawMessage
	if !t.Document || wr.deps.Drafts == nil || wr.document() == "" || json.Unmarshal(e.Input, &input) != nil {
		return
	}
	c := wr.claimOf(cmp.Or(argstream.Text(input, turn.BlockArgument), turn.BlockID(wr.run.ID, e.Index, e.Name, 0)))
	if t.Replans {
		c = wr.claimOf()
		c.Plan = true
	}
	holder, err := wr.deps.Drafts.Claim(wr.ctx, c)
	if holder != "" || err != nil {
		wr.line(e.Index, e.ID, e.Name, runlog.Status{Message: "Waiting for another answer that writes here...", Code: schemas.StatusWaitingForAnswer})
		holder = wr.deps.Drafts.Await(wr.ctx, c, documents.ClaimWait)
	}
	wr.notes.change(e.Index, func(n *note) { n.elsewhere = holder != "" })
}

// elsewhereText tells the model that a call was not run because another run
// writes the same.
const elsewhereText = "This was not done: another answer, in another chat of the user, is writing this block or planning this document, and it has not ended yet. " +
	"Go on with other blocks or tell the user, and do not repeat the call at once."
