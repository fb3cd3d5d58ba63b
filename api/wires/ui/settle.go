package ui

import (
	"maps"
	"slices"

	"github.com/chattray/chattray/api/wires"
	"github.com/chattray/chattray/schemas/runlog"
)

// complete shows the outcome of a call. The client has that of a tool of the page, unless
// the call had another answer: one that came before the response is shown at its beginning.
func (t *table) complete(out *wires.Frames, b *runlog.ToolComplete) {
	c := t.call(b.Index, b.Tool)
	c.shown, c.waits, c.ended = true, false, true // with its outcome, if not before
	if c.client && t.Answered[b.Index] && out.Hidden() {
		t.ended = append(t.ended, b)
	}
	switch {
	case c.denied && t.major > noApprovals:
		out.Typed("tool-output-denied", object{"toolCallId": c.id})
	case b.IsError:
		out.Typed("tool-output-error", t.whose(b.Index, c, object{"toolCallId": c.id, "errorText": b.Output}))
	case !c.client || t.Answered[b.Index]:
		out.Typed("tool-output-available", t.whose(b.Index, c, object{"toolCallId": c.id, "output": b.Output}))
	}
}

// settle shows the outputs that the request brought as those of the service, in a response
// that ends because other calls of the same step still wait. A client that sends by itself
// when all its calls have outputs would otherwise send them again and again. An output that
// did not count has been replaced before.
func (t *table) settle(out *wires.Frames) {
	for _, a := range t.brought {
		c := t.calls[a.Index]
		switch {
		case a.Output == nil || c == nil || !c.client || t.Answered[a.Index]:
		case a.IsError:
			out.Typed("tool-output-error", object{"toolCallId": c.id, "errorText": a.Output, "providerExecuted": true})
		default:
			out.Typed("tool-output-available", object{"toolCallId": c.id, "output": a.Output, "providerExecuted": true})
		}
	}
}

// giveUp ends the calls that have no outcome when the run ends, as calls of the service: the
// page runs none of them, and the client does not send them. Their parts are of its last step.
func (t *table) giveUp(out *wires.Frames) {
	for _, index := range slices.Sorted(maps.Keys(t.calls)) {
		if c := t.calls[index]; !c.ended {
			c.ended, c.unasked = true, true
			out.Typed("tool-output-error", t.whose(index, c, object{"toolCallId": c.id, "errorText": wires.NoOutcome}))
		}
	}
}
