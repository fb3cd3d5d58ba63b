// Package demo is a model for machines without a key or a network. It tells the
// stories of texts/stories.yaml: what the user asks for, and the steps of the answer. A
// story writes what a real model writes: text, reasoning, tool calls, payloads
// and suggestions after their markers. The service can thus do its whole job
// without configuration, and tests and tours can ask for each behaviour by name
// ("help" lists them).
//
// It owns stories and wording, and reads no prompt: it has the user's question,
// turn.Facts, the offered tools and the data of their results. It looks things up
// with the tools that it is offered, has no figures of its own, and says so when a
// tool found nothing.
package demo

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"regexp"
	"time"

	"github.com/chattray/chattray/agents"
	"github.com/chattray/chattray/schemas"
)

// Name is the model's name in settings and requests.
const Name = "demo"

// Limits of a reply.
const (
	// maxPiece is the longest word of a delta, in characters.
	maxPiece = 256
	// charsPerToken is the rule of thumb for the usage.
	charsPerToken = 4
)

// Model is the demo model. It is safe for concurrent use. It keeps nothing
// between calls: the same request always gives the same reply. Temperature,
// MaxTokens and the model's name have no effect; the command "max tokens" gives
// a reply that is cut off.
type Model struct{ delay time.Duration }

// New returns a model that waits for delay between two words; 0 does not wait. The command
// "slow" always waits for longer.
func New(delay time.Duration) *Model { return &Model{delay: delay} }

// reply is one reply of the model: thinking, then text, then calls. Its fields are those of
// a step (see step). Chips and buttons are suggested if the page allows it.
type reply struct {
	thinking string
	text     string
	calls    []toolCall
	pace     time.Duration
	stop     schemas.StopReason
	fail     *schemas.Error
	chips    []string
	buttons  []schemas.SuggestedAction
}

// toolCall is a tool call. Arguments is JSON, and is streamed.
type toolCall struct{ name, arguments string }

// Stream writes the reply that the request's story gives (see agents.Model).
func (m *Model) Stream(ctx context.Context, req agents.ModelRequest) iter.Seq2[agents.Delta, error] {
	return func(yield func(agents.Delta, error) bool) {
		out := newRequest(req).reply()
		delay := max(m.delay, out.pace)
		for delta := range out.deltas(len(req.Messages)) {
			if err := wait(ctx, delay); err != nil {
				yield(agents.Delta{}, err)
				return
			}
			if !yield(delta, nil) {
				return
			}
		}
		if out.fail != nil {
			yield(agents.Delta{}, out.fail)
			return
		}
		yield(agents.Delta{Stop: cmp.Or(out.stop, schemas.EndTurn), Usage: usage(req, out)}, nil)
	}
}

// deltas returns the reply word by word. The id of a call contains the length
// of the conversation, so that it is unique in it.
func (out reply) deltas(length int) iter.Seq[agents.Delta] {
	return func(yield func(agents.Delta) bool) {
		for _, piece := range words(out.thinking) {
			if !yield(agents.Delta{Thinking: piece}) {
				return
			}
		}
		for _, piece := range words(out.text) {
			if !yield(agents.Delta{Text: piece}) {
				return
			}
		}
		for i, c := range out.calls {
			if !yield(agents.Delta{Call: &agents.CallFragment{Index: i, ID: fmt.Sprintf("demo_%d_%d", length, i), Name: c.name}}) {
				return
			}
			for _, piece := range words(c.arguments) {
				if !yield(agents.Delta{Call: &agents.CallFragment{Index: i, Arguments: piece}}) {
					return
				}
			}
		}
	}
}

// wait waits for one delay. It returns an error when the context is cancelled.
func wait(ctx context.Context, delay time.Duration) error {
	if delay > 0 && ctx.Err() == nil {
		select {
		case <-time.After(delay):
		case <-ctx.Done():
		}
	}
	if ctx.Err() == nil {
		return nil
	}
	return schemas.NewError(schemas.CodeCancelled, "the model call was cancelled").Because(context.Cause(ctx))
}

// words cuts text into words, each with the white space after it; a long word is cut.
func words(text string) []string { return word.FindAllString(text, -1) }

var word = regexp.MustCompile(fmt.Sprintf(`\S{1,%d}\s*|\s+`, maxPiece))

// usage estimates tokens.
func usage(req agents.ModelRequest, out reply) schemas.Usage {
	read, written := len(req.System), len(out.thinking)+len(out.text)
	for _, m := range req.Messages {
		read += len(m.Content)
		for _, c := range m.ToolCalls {
			read += len(c.Name) + len(c.Arguments)
		}
	}
	for _, t := range req.Tools {
		read += len(t.Name) + len(t.Description) + len(t.InputSchema)
	}
	for _, c := range out.calls {
		written += len(c.arguments)
	}
	u := schemas.Usage{InputTokens: read/charsPerToken + 1, OutputTokens: written/charsPerToken + 1}
	u.TotalTokens = u.InputTokens + u.OutputTokens
	return u
}
