package tools

import (
	"context"
	"errors"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/turn"
)

// errOfPage is the outcome of running a tool of the page here.
var errOfPage = errors.New("this tool is run by the page")

// NewClient makes a tool that the page runs, of what a request says of it. The
// page checks the arguments. The error says what is wrong with the tool; where a
// place in its schema is, a *jsonlimit.Fault is in the error's tree.
func NewClient(def schemas.ClientTool) (turn.Tool, error) {
	t := NewForeign(def.Name, def.Description, def.InputSchema, func(context.Context, *Call) (Result, error) { return Result{}, errOfPage })
	t.Client, t.Untrusted = true, true
	return t, fault(t)
}
