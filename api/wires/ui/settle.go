package ui

import "github.com/chattray/chattray/api/wires"

// settle shows the outputs that the request brought as those of the service, in a response
// that ends because other calls of the same step still wait. A client that sends by itself
// when all its calls have outputs would otherwise send them again and again.
func (t *table) settle(out *wires.Frames) {
	for _, a := range t.brought {
		c := t.calls[a.Index]
		switch {
		case a.Output == nil || c == nil || !c.client:
		case a.IsError:
			put(out, "tool-output-error", object{"toolCallId": c.id, "errorText": a.Output, "providerExecuted": true})
		default:
			put(out, "tool-output-available", object{"toolCallId": c.id, "output": a.Output, "providerExecuted": true})
		}
	}
}
