package written

import "github.com/chattray/chattray/schemas/turn"

// take takes a piece of the arguments. A piece that arrives before the tool's name
// waits for it.
func (c *call) take(e turn.ToolArguments) {
	if c.unread += e.Fragment; c.by.Tool == "" {
		if e.Name == "" {
			return
		}
		c.by.Tool, c.by.ToolUseID, c.tool = e.Name, e.ID, c.all.Tool(e.Name)
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
	c.settle()
}

// tell shows a piece of the arguments as such.
func (c *call) tell(piece string) {
	if !c.second {
		c.all.Levels.Arguments(turn.ToolArguments{Index: c.by.Index, ID: c.by.ToolUseID, Name: c.by.Tool, Fragment: piece})
	}
}

// settle shows the arguments that were withheld, once it is known whether the
// content goes into a block.
func (c *call) settle() {
	switch {
	case c.withheld == "":
		return
	case c.draft != nil, c.phase == later:
		if !c.streamed && !c.second {
			c.all.Levels.Streamed(c.by.Index, c.tool.Streams.Argument)
		}
		c.streamed = true
		c.tell(c.beside)
	case c.phase >= closed:
		c.tell(c.withheld)
	default:
		return
	}
	c.withheld, c.beside = "", ""
}
