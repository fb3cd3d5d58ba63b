package turn

import (
	"context"
	"slices"

	"github.com/chattray/chattray/schemas"
)

// Conclusion is what a conversation in a thread came to.
type Conclusion struct {
	// Text is the last reply's.
	Text       string
	StopReason schemas.StopReason
	// Payloads are those of the tools that ran, in the order in which they
	// ended.
	Payloads []Payload
}

var errNoThreads = schemas.NewError(schemas.CodeInvalid, "this tool works only inside a chat")

// Converse has a bounded conversation with a model in a thread of its own and
// returns its answer. The user sees the thread under its label while it goes
// on, and the call's usage counts in the run. Fields of req that are zero are
// the run's own, Tools excepted: none. It is safe to have several at a time, on
// goroutines that the tool joins. There are no threads inside a thread.
//
// A cancelled ctx ends it with the context's cause. Any other error says what
// the model's server failed at.
func (c *Call) Converse(ctx context.Context, label string, req Request) (Conclusion, error) {
	if c.Loop == nil {
		return Conclusion{}, errNoThreads
	}
	return c.Loop(ctx, label, req)
}

// Tools returns those of the offered tools that are named, in the order of the
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
