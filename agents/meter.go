package agents

import (
	"cmp"
	"context"
	"iter"
	"unicode/utf8"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/turn"
)

// The constants for estimating tokens.
const (
	charsPerToken = 4
	imageTokens   = 1_000
)

// Metered returns a model that calls next and reports each call to the
// context's meter (see turn.WithMeter) when it is over. A call's usage is what
// the server reported. Without a report the tokens are estimated at four
// characters each, for a reply that is incomplete or whose server does not
// count. If it counts only the prompt, only the reply's tokens are estimated. A
// call that was cancelled before its first token counts its prompt; one that
// failed before its first token counts nothing.
func Metered(next Model) Model { return metered{next} }

type metered struct{ next Model }

// Stream passes the call on and counts it.
func (m metered) Stream(ctx context.Context, req ModelRequest) iter.Seq2[Delta, error] {
	return func(yield func(Delta, error) bool) {
		var used schemas.Usage
		written, began := 0, false
		defer func() {
			if used == (schemas.Usage{}) && (began || ctx.Err() != nil) {
				used.InputTokens, used.OutputTokens = estimate(&req), tokens(written)
				used.TotalTokens = used.InputTokens + used.OutputTokens
			}
			if used.OutputTokens == 0 && written > 0 {
				used.OutputTokens = cmp.Or(used.TotalTokens-used.InputTokens, tokens(written))
				used.TotalTokens = used.InputTokens + used.OutputTokens
			}
			if used != (schemas.Usage{}) {
				turn.Metered(ctx, turn.ModelCall{Model: req.Model, Usage: used})
			}
		}()
		for d, err := range deltas(ctx, m.next, &req) {
			if err == nil {
				began = true
				written += d.chars()
				if d.Usage != (schemas.Usage{}) {
					used = d.Usage
				}
			}
			if !yield(d, err) {
				return
			}
		}
	}
}

// deltas starts a model's reply. It is a function of its own so that the copy
// of the request is not in its caller's stack frame, which lasts as long as the
// reply: with that copy most running runs would have a stack of 16 KiB instead
// of 8.
//
//go:noinline
func deltas(ctx context.Context, m Model, req *ModelRequest) iter.Seq2[Delta, error] {
	return m.Stream(ctx, *req)
}

// chars counts what the model wrote.
func (d *Delta) chars() int {
	n := utf8.RuneCountInString(d.Text) + utf8.RuneCountInString(d.Thinking)
	if d.Call != nil {
		n += utf8.RuneCountInString(d.Call.Name) + utf8.RuneCountInString(d.Call.Arguments)
	}
	return n
}

// estimate returns the approximate number of tokens of a prompt.
func estimate(req *ModelRequest) int {
	chars, images := utf8.RuneCountInString(req.System), 0
	for _, msg := range req.Messages {
		chars += utf8.RuneCountInString(msg.Content)
		images += len(msg.Images)
		for _, c := range msg.ToolCalls {
			chars += len(c.Name) + utf8.RuneCountInString(c.Arguments)
		}
	}
	for _, t := range req.Tools {
		chars += len(t.Name) + utf8.RuneCountInString(t.Description) + len(t.InputSchema)
	}
	return tokens(chars) + images*imageTokens
}

func tokens(chars int) int { return (chars + charsPerToken - 1) / charsPerToken }
