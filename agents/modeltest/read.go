package modeltest

import (
	"context"
	"fmt"

	"github.com/chattray/chattray/agents"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/turn"
)

// Result is a reply read to its end.
type Result struct {
	Text, Thinking string
	Calls          []turn.ToolCall
	Stop           schemas.StopReason
	Usage          schemas.Usage
	Full           bool
	// Code is the visible error's code, empty for none.
	Code schemas.Code
	// Err is the error itself.
	Err error
	// Deltas counts the deltas.
	Deltas int
	// Broken is how the sequence broke the contract of agents.Model, empty if
	// it did not.
	Broken string
}

// Read reads a reply to its end.
func Read(ctx context.Context, m agents.Model, req agents.ModelRequest) Result {
	var r Result
	for d, err := range m.Stream(ctx, req) {
		if r.Err != nil || r.Stop != "" {
			r.Broken = "continues after its end"
			break
		}
		if err != nil {
			r.Err, r.Code = err, schemas.Visible(err).Code
			if d != (agents.Delta{}) {
				r.Broken = "has a delta beside its error"
			}
			continue
		}
		r.Deltas++
		r.add(d)
	}
	if r.Broken == "" && r.Err == nil && r.Stop == "" {
		r.Broken = "ends without stop or error"
	}
	return r
}

func (r *Result) add(d agents.Delta) {
	r.Text += d.Text
	r.Thinking += d.Thinking
	r.Full = r.Full || d.Full
	r.Stop = d.Stop
	if d.Usage != (schemas.Usage{}) {
		r.Usage = d.Usage
	}
	f := d.Call
	if f == nil {
		return
	}
	switch {
	case f.Index == len(r.Calls):
		r.Calls = append(r.Calls, turn.ToolCall{ID: f.ID, Name: f.Name})
	case f.Index < 0 || f.Index > len(r.Calls):
		r.Broken = fmt.Sprintf("has a fragment of call %d after %d calls", f.Index, len(r.Calls))
		return
	}
	r.Calls[f.Index].Arguments += f.Arguments
	if f.Extra != "" {
		r.Calls[f.Index].Extra = f.Extra
	}
}
