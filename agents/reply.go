package agents

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/text"
	"github.com/chattray/chattray/schemas/turn"
)

// maxToolName is the length of a name that a model writes, in bytes.
const maxToolName = 256

// lastNote asks for the answer when the iterations are used up.
const lastNote = "The limit of tool use for this question has been reached: no more tools can be called. " +
	"Answer now from what the tools have found so far, and say plainly what is still missing."

// ask makes model call n and yields its events up to the Reply. False means
// that the loop has ended.
func (l *loop) ask(ctx context.Context, n int, reply *turn.Reply) bool {
	reply.StartedAt, reply.FirstIndex, reply.Final = time.Now(), l.calls, n >= l.limit
	if !l.emit(turn.CallStart{Iteration: n, Final: reply.Final}) {
		return false
	}
	err := l.stream(ctx, reply)
	for err != nil && !l.gone && ctx.Err() == nil && l.shorten(err, reply) {
		err = l.stream(ctx, reply)
	}
	reply.Duration = time.Since(reply.StartedAt)
	switch {
	case l.gone:
		return false
	case err != nil && ctx.Err() != nil:
		return l.cancelled(ctx)
	case err != nil && (!reply.Final || errors.Is(err, record.ErrUnavailable)): // an image could not be read now
		l.fail(err)
		return false
	case reply.Final && (err != nil || reply.Text == ""):
		if err != nil {
			l.opts.Logger.WarnContext(ctx, "last model call failed; the answer is a summary of the tool results", "error", err)
		}
		l.summarize(reply)
	case reply.StopReason == schemas.ContentFilter && !l.shown:
		l.fail(schemas.NewError(schemas.CodeContentFilter, "the model's content filter refused this request"))
		return false
	}
	return l.emit(*reply)
}

// request returns the next call of the model.
func (l *loop) request(final bool) ModelRequest {
	messages := l.messages
	if final {
		messages = append(slices.Clip(messages), turn.Message{Role: turn.User, Content: lastNote})
	}
	return ModelRequest{
		Model: l.req.Model, System: l.req.System, Messages: messages, Facts: l.req.Facts,
		Tools: l.req.Tools, ToolsForbidden: final,
		Temperature: l.req.Temperature, MaxTokens: l.req.MaxTokens,
		Asked: l.modelAsked, Waits: l.modelWaits,
	}
}

// modelAsked tells which model is asked, and why the one before it has failed.
func (l *loop) modelAsked(model string, failed error) bool {
	return l.emit(turn.ModelAsked{Model: model, Err: failed})
}

// modelWaits tells that the model waits, or has waited.
func (l *loop) modelWaits(d time.Duration) bool { return l.emit(turn.ModelWaits{For: d}) }

// writing is a reply that is being written.
type writing struct {
	text      *strings.Builder
	thinking  strings.Builder
	arguments []*strings.Builder
}

// stream makes the call and yields its deltas until the reply is complete.
func (l *loop) stream(ctx context.Context, reply *turn.Reply) error {
	w := writing{text: l.req.Writing}
	if w.text == nil {
		w.text = new(strings.Builder)
	}
	w.text.Reset()
	err := errTruncated
	for d, failed := range l.deltas(ctx, reply.Final) {
		if failed != nil {
			err = failed
			break
		}
		if ctx.Err() != nil {
			err = context.Cause(ctx)
			break
		}
		if err = l.delta(&w, reply, d); err != nil || l.gone {
			break
		}
		if d.Stop != "" {
			reply.StopReason = d.Stop
			break
		}
		err = errTruncated
	}
	reply.Text, reply.Reasoning = w.text.String(), w.thinking.String()
	for i, a := range w.arguments {
		reply.ToolCalls[i].Arguments = a.String()
	}
	if reply.StopReason == schemas.ContentFilter || reply.StopReason == schemas.Refusal {
		reply.ToolCalls = nil // a filtered reply's calls are not what the model meant
	}
	return err
}

// deltas starts the model's reply, see the function deltas.
//
//go:noinline
func (l *loop) deltas(ctx context.Context, final bool) iter.Seq2[Delta, error] {
	return l.model.Stream(ctx, l.request(final))
}

var errTruncated error = schemas.NewError(schemas.CodeUpstreamTruncated, "the model's reply ended before it was complete")

// delta adds one delta to the reply and yields its events.
func (l *loop) delta(w *writing, reply *turn.Reply, d Delta) error {
	if d.Usage != (schemas.Usage{}) {
		reply.Usage = d.Usage
	}
	if d.Model != "" {
		reply.Model = d.Model
	}
	if d.Thinking != "" {
		w.thinking.WriteString(d.Thinking)
		l.emit(turn.Thinking{Text: d.Thinking})
	}
	if d.Text != "" && !l.gone {
		if n := len(d.Text); w.text.Cap()-w.text.Len() < n {
			w.text.Grow(max(n, w.text.Len())) // twice as much: the builder itself adds a quarter
		}
		w.text.WriteString(d.Text)
		l.shown = true
		if d.Full {
			l.emit(turn.FullText{Text: d.Text})
		} else {
			l.emit(turn.TextDelta{Text: d.Text})
		}
	}
	if d.Call != nil && !reply.Final && !l.gone {
		return l.fragment(w, reply, d.Call)
	}
	return nil
}

// shown returns a name that a model wrote with U+FFFD for each character that
// cannot be seen: databases refuse NUL, and pages show the name to people.
func shown(name string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsGraphic(c) {
			return c
		}
		return unicode.ReplacementChar
	}, name)
}

// fragment adds a piece of a tool call to the reply and yields it.
func (l *loop) fragment(w *writing, reply *turn.Reply, f *CallFragment) error {
	index := reply.FirstIndex + f.Index
	switch {
	case f.Index < 0 || f.Index > len(reply.ToolCalls):
		return schemas.NewError(schemas.CodeUpstreamError, "the model's tool calls are not numbered in order")
	case f.Index == len(reply.ToolCalls):
		reply.ToolCalls = append(reply.ToolCalls, turn.ToolCall{ID: l.callID(f.ID, index)})
		w.arguments = append(w.arguments, new(strings.Builder))
	}
	call := &reply.ToolCalls[f.Index]
	if call.Name == "" {
		call.Name = text.Bytes(shown(f.Name), maxToolName)
	}
	call.Extra = cmp.Or(call.Extra, f.Extra)
	w.arguments[f.Index].WriteString(f.Arguments)
	l.emit(turn.ToolArguments{Index: index, ID: call.ID, Name: call.Name, Fragment: f.Arguments})
	return nil
}
