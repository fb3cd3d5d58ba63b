package written

import (
	"strings"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/services/documents"
)

// finish ends the block of a call whose arguments are whole and fit.
func (c *call) finish() {
	c.whole = true
	c.end("completed")
}

// end stores the content and ends the block. A draft that is held goes on until the
// call is whole.
func (c *call) end(status string) {
	if c.closed || c.draft == nil {
		c.closed = true
		c.settle(true)
		return
	}
	held := c.draft.Held()
	if held && !c.whole && !c.draft.Withdrawn() {
		return
	}
	c.closed = true
	whole, failed, away := c.all.store(c.draft, func() { c.done(status) })
	if away != nil { // the call writes all of it
		ctx, done := c.all.Storing()
		defer done()
		c.draft.Leave(ctx)
	}
	switch {
	case failed:
		c.refuse()
		return
	case !c.open:
		return
	case whole:
		c.late = held
	case status == "completed":
		status = "partial"
	}
	c.close(status)
}

// done shows the end of the block; the draft calls it.
func (c *call) done(status string) {
	if c.open {
		c.all.Emit(c.at, &runlog.BlockDone{Place: c.place, By: c.caller()})
		c.close(status)
	}
}

// close closes the levels of the block.
func (c *call) close(status string) {
	if c.open && !c.ended {
		c.ended = true
		c.all.Levels.CloseDocument(c.at, status)
	}
}

// refuse ends a call that is not run, or has failed: what it has written is removed, and
// what was in the block before is shown. It reports false if it has written nothing, or
// if the user has decided about the text.
func (c *call) refuse() bool {
	stored, ok := c.discard()
	if ok {
		c.restore(stored)
	}
	c.close("partial")
	return ok
}

// discard is refuse without showing what is stored then.
func (c *call) discard() (stored *schemas.Block, ok bool) {
	if c.refused || c.draft == nil {
		c.refused, c.closed = true, true
		return nil, false
	}
	c.refused, c.closed = true, true
	ctx, done := c.all.Storing()
	defer done()
	stored, ok, err := c.draft.Discard(ctx)
	if c.all.Fenced(err); err != nil {
		c.all.Logger.Warn("could not remove what a call has written", "run_id", c.all.Run, "error", err)
		return nil, ok
	}
	return stored, ok
}

// restore shows a block as it is stored, in place of what the call has shown.
func (c *call) restore(stored *schemas.Block) {
	pending := stored != nil && stored.New != nil && stored.State != schemas.BlockPendingDelete
	c.withdraw(!pending)
	c.close("partial")
	if !pending {
		return
	}
	c.place.Type = stored.Type
	c.at = c.all.Levels.OpenDocument(c.name, c.place.BlockIDs, c.place.Type)
	if header := documents.Header(stored); header != "" {
		c.all.Emit(c.at, &runlog.BlockHeader{Place: c.place, Header: header, Revision: c.since, By: c.caller()})
	}
	c.content(*stored.New)
	c.all.Emit(c.at, &runlog.BlockDone{Place: c.place, By: c.caller()})
	c.all.Levels.CloseDocument(c.at, "completed")
}

// withdraw shows that what the call has written does not count; with end, nothing more
// comes.
func (c *call) withdraw(end bool) {
	reset := c.reset(end)
	reset.Refused = true
	if c.ended {
		c.at = runlog.Level{}
	}
	c.all.Emit(c.at, reset)
}

// again writes the block of a call once more, with all the arguments.
func (c *call) again(arguments string) {
	if !c.draft.Held() {
		c.finish()
	}
	var stored *schemas.Block
	ok, same := false, c.id() == c.asked.block
	if same {
		if stored, ok = c.discard(); ok {
			c.withdraw(false)
		}
		c.close("partial")
	} else {
		if stored, ok = c.discard(); ok {
			c.restore(stored)
		}
		c.close("partial")
		ok = ok || stored != nil // the user has accepted the block that was added
	}
	if !ok {
		return
	}
	first := strings.TrimSuffix(string(schemas.Encode(c.args.Head)), "}")
	second := &call{all: c.all, index: c.index, second: true}
	if same {
		second.cleared = c.asked.block
	}
	c.all.each[c.index] = second
	second.take(turn.ToolArguments{
		Index: c.index, ID: c.callID, Name: c.name, Fragment: first + `,` + strings.TrimPrefix(strings.TrimSpace(arguments), "{"),
	})
	if second.later {
		return
	}
	second.finish()
	if second.draft == nil && same { // the tool will report it
		c.restore(stored)
	}
}
