package answer

import (
	"encoding/json"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/schemas/turn"
)

// arguments shows a piece of the arguments of a call that the model writes. The text
// of an argument that goes into a block is shown there and nowhere else.
func (wr *Writer) arguments(e turn.ToolArguments) {
	if wr.silent || wr.deps.Drafts == nil {
		wr.levels.Arguments(e)
		return
	}
	c := wr.blocks[e.Index]
	if c == nil {
		if wr.blocks == nil {
			wr.blocks = make(map[int]*blockCall)
		}
		c = &blockCall{wr: wr, index: e.Index, later: wr.planning(e.Index)}
		wr.blocks[e.Index] = c
	}
	c.take(e)
}

// take takes a piece of the arguments. A piece that arrives before the tool's name
// waits for it.
func (c *blockCall) take(e turn.ToolArguments) {
	if c.unread += e.Fragment; c.name == "" {
		if e.Name == "" {
			return
		}
		c.name, c.callID, c.tool = e.Name, e.ID, c.wr.tool(e.Name)
	}
	piece := c.unread
	c.unread = ""
	if !c.streams() {
		c.tell(piece)
		return
	}
	c.args.Argument = c.tool.Streams.Argument
	content, from, to := c.args.Feed(piece)
	c.held += content
	c.tell(piece[:from])
	c.withheld += piece[from:]
	c.beside += piece[to:]
	c.step()
	c.settle(false)
}

// tell shows a piece of the arguments as such.
func (c *blockCall) tell(piece string) {
	if !c.again {
		c.wr.levels.Arguments(turn.ToolArguments{Index: c.index, ID: c.callID, Name: c.name, Fragment: piece})
	}
}

// settle shows the arguments that were withheld, once it is known whether the
// content goes into a block. If ended, it goes into none unless that is already
// known.
func (c *blockCall) settle(ended bool) {
	switch {
	case c.withheld == "":
		return
	case c.draft != nil, c.later:
		if !c.streamed && !c.again {
			c.wr.levels.Streamed(c.index, c.tool.Streams.Argument)
		}
		c.streamed = true
		c.tell(c.beside)
	case c.closed, ended:
		c.tell(c.withheld)
	default:
		return
	}
	c.withheld, c.beside = "", ""
}

// streamed returns the argument of a call whose text goes into a block, "" for none.
func (wr *Writer) streamed(index int) string {
	if c := wr.blocks[index]; c != nil && c.streamed {
		return c.tool.Streams.Argument
	}
	return ""
}

// without returns an object without one of its properties.
func without(object json.RawMessage, name string) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(object, &fields) != nil {
		return object
	}
	delete(fields, name)
	return schemas.Encode(fields)
}

// caller names the call in what is shown of its block.
func (c *blockCall) caller() *runlog.Caller {
	if c.by == nil {
		c.by = &runlog.Caller{Tool: c.name, ToolUseID: c.callID, Index: c.index}
	}
	return c.by
}

// reset is what readers are told when a block's content no longer counts; with end,
// nothing more comes.
func (c *blockCall) reset(end bool) *runlog.BlockReset {
	return &runlog.BlockReset{Place: c.place, End: end, Revision: c.since, By: c.caller()}
}
