package tools

import (
	"context"
	"errors"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/turn"
)

// errOfPage is returned if the service is asked to run a tool of the page.
var errOfPage = errors.New("this tool is run by the page")

// NewClient makes a tool that the page runs, from the request's definition. The
// page checks the arguments. The error says what is wrong with the tool. It
// wraps a *jsonlimit.Fault if a place in the schema is wrong.
func NewClient(def schemas.ClientTool) (turn.Tool, error) {
	t := NewForeign(def.Name, def.Description, def.InputSchema, func(context.Context, *Call) (Result, error) { return Result{}, errOfPage })
	t.Client, t.Untrusted = true, true
	return t, fault(t)
}
