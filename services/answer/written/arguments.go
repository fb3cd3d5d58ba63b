package written

import (
	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/schemas/turn"
)

// take takes a piece of the arguments. A piece that arrives before the tool's name
// waits for it.
func (c *call) take(e turn.ToolArguments) {
	if c.unread += e.Fragment; c.name == "" {
		if e.Name == "" {
			return
		}
		c.name, c.callID, c.tool = e.Name, e.ID, c.all.Tool(e.Name)
	}
	piece := c.unread
	c.unread = ""
	if !c.streams() {
		if c.tool.Document && c.tool.Streams == nil { // for the block that it names, see behind
			c.args.Feed(piece)
		}
		c.tell(piece)
		return
	}
	c.args.Argument = c.tool.Streams.Argument
	content, from, to := c.args.Feed(piece)
	c.raw += content
	c.tell(piece[:from])
	c.withheld += piece[from:]
	c.beside += piece[to:]
	c.step()
	c.settle(false)
}

// tell shows a piece of the arguments as such.
func (c *call) tell(piece string) {
	if !c.second {
		c.all.Levels.Arguments(turn.ToolArguments{Index: c.index, ID: c.callID, Name: c.name, Fragment: piece})
	}
}

// settle shows the arguments that were withheld, once it is known whether the
// content goes into a block. If ended, it goes into none unless that is already
// known.
func (c *call) settle(ended bool) {
	switch {
	case c.withheld == "":
		return
	case c.draft != nil, c.later:
		if !c.streamed && !c.second {
			c.all.Levels.Streamed(c.index, c.tool.Streams.Argument)
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

// caller names the call in what is shown of its block.
func (c *call) caller() *runlog.Caller {
	if c.by == nil {
		c.by = &runlog.Caller{Tool: c.name, ToolUseID: c.callID, Index: c.index}
	}
	return c.by
}

// reset is what readers are told when a block's content no longer counts; with end,
// nothing more comes.
func (c *call) reset(end bool) *runlog.BlockReset {
	return &runlog.BlockReset{Place: c.place, End: end, Revision: c.since, By: c.caller()}
}
