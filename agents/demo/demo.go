// Package demo is the model for a machine with no key and no network. It is a
// table of rules that reads the request's data (the user's question, turn.Facts,
// the offered tools and the data of their results) and writes what a real model
// writes: text, reasoning, tool calls, payloads and suggestions after their
// markers. So the service does its whole job with nothing configured, and tests
// and tours can ask for each behaviour by name ("help" lists them).
//
// It owns rules and wording, and reads no prompt. It looks things up with the
// tools that it is offered, has no figures of its own, and says so when a tool
// found nothing.
package demo

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/chattray/chattray/agents"
	"github.com/chattray/chattray/schemas"
)

// Name is the model's name where one is asked for.
const Name = "demo"

// DefaultDelay is a pace that a person can read along with.
const DefaultDelay = 15 * time.Millisecond

// Limits of what is written.
const (
	// slowPace is how many delays one word of "slow N" takes.
	slowPace = 10
	// maxPiece is the longest delta, in bytes; a longer word is cut.
	maxPiece = 256
	// charsPerToken is the rule of thumb behind the usage.
	charsPerToken = 4
)

// Model is the demo model. It is safe for concurrent use. It keeps nothing
// between calls: the same request always gives the same reply. Temperature,
// MaxTokens and the model's name have no effect; the command "max tokens" gives
// a reply that was cut.
type Model struct{ delay time.Duration }

// New returns a model that waits for delay between two words; 0 does not wait.
func New(delay time.Duration) *Model { return &Model{delay: delay} }

// reply is what a rule wants to say: thinking, then text, then calls.
type reply struct {
	thinking string
	text     string
	calls    []toolCall
	// pace multiplies the delay; 0 is 1.
	pace int
	// stop is EndTurn when empty.
	stop schemas.StopReason
	// fail ends the reply with an error after what was written.
	fail *schemas.Error
	// chips and buttons are suggested where the page lets the model do so.
	chips   []string
	buttons []schemas.SuggestedAction
	// bare leaves out the first answer's introduction.
	bare bool
	// refused says that this page lacks what the answer needs.
	refused bool
}

// call is a tool call. Arguments is the JSON that is streamed.
type toolCall struct{ name, arguments string }

// Stream writes the reply that the first matching rule gives (see agents.Model).
func (m *Model) Stream(ctx context.Context, req agents.ModelRequest) iter.Seq2[agents.Delta, error] {
	return func(yield func(agents.Delta, error) bool) {
		r := newScene(req).answer()
		p := &pen{delay: m.delay * time.Duration(max(r.pace, 1)), yield: yield}
		defer p.close()

		ok := p.write(ctx, r.thinking, func(piece string) agents.Delta { return agents.Delta{Thinking: piece} }) &&
			p.write(ctx, r.text, func(piece string) agents.Delta { return agents.Delta{Text: piece} }) &&
			p.calls(ctx, len(req.Messages), r.calls)
		switch {
		case !ok:
		case r.fail != nil:
			yield(agents.Delta{}, r.fail)
		default:
			yield(agents.Delta{Stop: cmp.Or(r.stop, schemas.EndTurn), Usage: usage(req, p.written)}, nil)
		}
	}
}

// pen writes word by word. Its methods return false when the sequence has ended.
type pen struct {
	delay   time.Duration
	timer   *time.Timer
	yield   func(agents.Delta, error) bool
	written int // bytes
}

func (p *pen) close() {
	if p.timer != nil {
		p.timer.Stop()
	}
}

// write yields text in words.
func (p *pen) write(ctx context.Context, text string, delta func(piece string) agents.Delta) bool {
	for piece := range words(text) {
		if !p.wait(ctx) || !p.yield(delta(piece), nil) {
			return false
		}
		p.written += len(piece)
	}
	return true
}

// calls yields tool calls one after the other, arguments word by word. An id
// holds the length of the conversation, so that it is unique in it.
func (p *pen) calls(ctx context.Context, length int, calls []toolCall) bool {
	for i, c := range calls {
		head := agents.CallFragment{Index: i, ID: fmt.Sprintf("demo_%d_%d", length, i), Name: c.name}
		if !p.wait(ctx) || !p.yield(agents.Delta{Call: &head}, nil) {
			return false
		}
		if !p.write(ctx, c.arguments, func(piece string) agents.Delta {
			return agents.Delta{Call: &agents.CallFragment{Index: i, Arguments: piece}}
		}) {
			return false
		}
	}
	return true
}

// wait waits for one delay. When the context is cancelled it yields that error.
func (p *pen) wait(ctx context.Context) bool {
	if ctx.Err() == nil && p.delay > 0 {
		if p.timer == nil {
			p.timer = time.NewTimer(p.delay)
		} else {
			p.timer.Reset(p.delay)
		}
		select {
		case <-p.timer.C:
		case <-ctx.Done():
		}
	}
	if ctx.Err() == nil {
		return true
	}
	stopped := schemas.NewError(schemas.CodeCancelled, "the model call was cancelled")
	p.yield(agents.Delta{}, stopped.Because(context.Cause(ctx)))
	return false
}

// words cuts text into words, each with the white space after it.
func words(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		start, space := 0, false
		for i, r := range text {
			isSpace := unicode.IsSpace(r)
			if (space && !isSpace) || i+utf8.RuneLen(r)-start > maxPiece {
				if !yield(text[start:i]) {
					return
				}
				start = i
			}
			space = isSpace
		}
		if start < len(text) {
			yield(text[start:])
		}
	}
}

// usage estimates tokens.
func usage(req agents.ModelRequest, written int) schemas.Usage {
	read := len(req.System)
	for _, m := range req.Messages {
		read += len(m.Content)
		for _, c := range m.ToolCalls {
			read += len(c.Name) + len(c.Arguments)
		}
	}
	for _, t := range req.Tools {
		read += len(t.Name) + len(t.Description) + len(t.InputSchema)
	}
	u := schemas.Usage{InputTokens: read/charsPerToken + 1, OutputTokens: written/charsPerToken + 1}
	u.TotalTokens = u.InputTokens + u.OutputTokens
	return u
}
