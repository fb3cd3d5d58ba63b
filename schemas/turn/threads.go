package turn

import (
	"context"
	"slices"

	"github.com/chattray/chattray/schemas"
)

// Conclusion is the result of a conversation in a thread.
type Conclusion struct {
	// Text is the text of the last reply, and Model the model that wrote it, if it is not
	// the requested one.
	Text, Model string

	StopReason schemas.StopReason
	// Payloads came from the tools that ran, in the order in which the tools
	// ended.
	Payloads []Payload
}

var errNoThreads = schemas.NewError(schemas.CodeInvalid, "this tool works only inside a chat")

// Converse runs a bounded conversation with a model in a thread of its own and
// returns its answer. The user sees the thread under its label, and its usage
// counts in the run. Zero fields of req take the run's values, except Tools: nil
// means none. Several may run at a time, on goroutines that the tool joins. A
// thread cannot open threads.
//
// If ctx is cancelled, the error is its cause. Any other error comes from the model's server.
func (c *Call) Converse(ctx context.Context, label string, req Request) (Conclusion, error) {
	if c.Loop == nil {
		return Conclusion{}, errNoThreads
	}
	return c.Loop(ctx, label, req)
}

// Tools returns the offered tools with these names, in the order of the
// names.
func (c *Call) Tools(names ...string) []Tool {
	var out []Tool
	for _, name := range names {
		if i := slices.IndexFunc(c.Offered, func(t Tool) bool { return t.Name == name }); i >= 0 {
			out = append(out, c.Offered[i])
		}
	}
	return out
}
