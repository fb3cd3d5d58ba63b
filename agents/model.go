package agents

import (
	"context"
	"iter"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/turn"
)

// Model streams replies. It is safe for concurrent use.
//
// Stream makes one call. The sequence yields deltas in the order in which the
// model wrote them and ends in one of two ways: with a delta whose Stop is set,
// which is the last, or with an error and a zero Delta. A sequence that ends in
// any other way is a truncated reply. Every error wraps a *schemas.Error, which
// is what a client may see. Breaking out of the sequence or cancelling ctx ends
// the call, also upstream; after a cancel the error has context.Cause(ctx) in
// its tree. The Model retries by itself, and only while it has yielded nothing.
//
// The tests in agents/modeltest hold implementations to this contract.
type Model interface {
	Stream(ctx context.Context, req ModelRequest) iter.Seq2[Delta, error]
}

// ModelRequest is one call of a model. The model must not change it.
type ModelRequest struct {
	// Model is the model's name as its server knows it.
	Model string
	// System is the system prompt; empty for none.
	System   string
	Messages []turn.Message
	// Facts and the Data of Messages are for a model that reads data instead of
	// prompts; an adapter sends neither.
	Facts *turn.Facts
	// Tools are the tools that the model may call. Their names, descriptions
	// and schemas are sent.
	Tools []turn.Tool
	// ToolsForbidden says that Tools are defined but none may be called.
	ToolsForbidden bool
	Temperature    float64
	// MaxTokens bounds the reply; 0 leaves it to the server.
	MaxTokens int
	// Asked, if set, is called before each Model that is asked in turn, with why the one
	// before has failed. It is called, and answers, as Waits.
	Asked func(model string, failed error) bool
	// Waits, if set, is called before the Model waits to ask its server again, with
	// how long it will wait, and with 0 when it has waited. It is called where the
	// sequence is read. False means that the call is not needed any longer.
	Waits func(time.Duration) bool
}

// Delta is a piece of a reply. Any of its fields may be set.
type Delta struct {
	// Model is set on the first delta of a reply from another model than the
	// requested one.
	Model string
	// Text is a piece of the reply's text, Thinking of its reasoning.
	Text     string
	Thinking string
	// Call is a piece of a tool call, nil for none.
	Call *CallFragment
	// Usage counts the call's tokens. It may be sent more than once; the last
	// value that is not zero counts.
	Usage schemas.Usage
	// Stop is set on the last delta and says why the reply ended. A reply that
	// asks for tools stops with EndTurn.
	Stop schemas.StopReason
	// Full says that the model did not stream: Text and Thinking hold
	// the whole reply.
	Full bool
}

// CallFragment is a piece of a tool call. Index counts the reply's calls from 0
// without gaps; ID and Name come with the first fragment of an index at the
// latest (ID may be empty: the loop makes one) and Arguments are appended. Extra
// is turn.ToolCall's and comes with any fragment.
type CallFragment struct {
	Index     int
	ID        string
	Name      string
	Arguments string
	Extra     string
}
