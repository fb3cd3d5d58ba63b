package agents

import (
	"context"
	"iter"
	"unicode/utf8"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/turn"
)

// What an estimate of tokens stands on.
const (
	charsPerToken = 4
	imageTokens   = 1_000
)

// Metered returns next with each of its calls reported to the context's meter
// (see turn.WithMeter) when it is over. A call's usage is what the server
// reported. Where it reported none the tokens are estimated at four characters
// each: of a reply that broke off or was not read to its end, of one whose
// server does not count, and, for the prompt alone, of a call that was cancelled
// before its first token. A call that failed before its first token counts
// nothing.
func Metered(next Model) Model { return metered{next} }

type metered struct{ next Model }

// Stream passes the call on and counts it.
func (m metered) Stream(ctx context.Context, req ModelRequest) iter.Seq2[Delta, error] {
	return func(yield func(Delta, error) bool) {
		var used schemas.Usage
		written, began := 0, false
		defer func() {
			if used == (schemas.Usage{}) && (began || ctx.Err() != nil) {
				used.InputTokens, used.OutputTokens = estimate(req), tokens(written)
				used.TotalTokens = used.InputTokens + used.OutputTokens
			}
			if used != (schemas.Usage{}) {
				turn.Metered(ctx, turn.ModelCall{Model: req.Model, Usage: used})
			}
		}()
		for d, err := range m.next.Stream(ctx, req) {
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

// chars counts what the model wrote.
func (d *Delta) chars() int {
	n := utf8.RuneCountInString(d.Text) + utf8.RuneCountInString(d.Thinking)
	if d.Call != nil {
		n += utf8.RuneCountInString(d.Call.Name) + utf8.RuneCountInString(d.Call.Arguments)
	}
	return n
}

// estimate is the tokens of a prompt.
func estimate(req ModelRequest) int {
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
