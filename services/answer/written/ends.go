package written

import (
	"strings"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/turn"
)

// end stores the content and ends the block.
func (c *call) end(status string) {
	if c.phase >= closed || c.draft == nil {
		c.reach(closed)
		c.settle()
		return
	}
	c.reach(closed)
	held := c.draft.Held()
	whole, failed, away := c.all.Store(c.draft, func() { c.done(status) })
	if away != nil { // the call writes all of it
		ctx, done := c.all.Storing()
		defer done()
		c.draft.Leave(ctx)
	}
	switch {
	case failed:
		c.refuse()
		return
	case c.stage == hidden:
		return
	case whole && held:
		c.reach(kept)
	case !whole && status == "completed":
		status = "partial"
	}
	c.close(status)
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
	before := c.phase
	if c.reach(refused); before == refused || c.draft == nil {
		return nil, false
	}
	ctx, done := c.all.Storing()
	defer done()
	stored, ok, err := c.draft.Discard(ctx)
	if c.all.Fenced(err); err != nil {
		c.all.Logger.Warn("could not remove what a call has written", "run_id", c.all.Run, "error", err)
		return nil, ok
	}
	return stored, ok
}

// again writes the block of a call once more, with all the arguments.
func (c *call) again(arguments string) {
	if !c.draft.Held() {
		c.end("completed")
	}
	same := c.id() == c.asked.block
	stored, ok := c.discard()
	switch {
	case ok && same:
		c.withdraw(false)
	case ok:
		c.restore(stored)
	case !same && stored != nil: // the user has accepted the block that was added
		ok = true
	}
	c.close("partial")
	if !ok {
		return
	}
	first := strings.TrimSuffix(string(schemas.Encode(c.args.Head)), "}")
	second := c.all.newCall(c.by.Index)
	if second.second = true; same {
		second.cleared = c.asked.block
	}
	c.all.each[c.by.Index] = second
	second.take(turn.ToolArguments{
		Index: c.by.Index, ID: c.by.ToolUseID, Name: c.by.Tool, Fragment: first + `,` + strings.TrimPrefix(strings.TrimSpace(arguments), "{"),
	})
	if second.phase == later {
		return
	}
	second.end("completed")
	if second.draft == nil && same { // the tool will report it
		c.restore(stored)
	}
}
