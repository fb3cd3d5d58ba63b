package answer

import (
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/services/trace"
)

// drop keeps a part that is not shown for the trace, and logs why, unless there are too many.
func (wr *Writer) drop(d schemas.DroppedPart) {
	if wr.dropped.Add(d) {
		wr.deps.Logger.Warn("a part of an answer is not shown", "run_id", wr.run.ID, "type", d.Type, "reason", d.Reason)
	}
}

// diagnostics returns the trace in its stored form. A call of the model that
// the run's end interrupted is the last iteration; its stop reason is how the
// run ended.
func (wr *Writer) diagnostics(state schemas.RunState) schemas.Diagnostics {
	if wr.prepared == nil {
		return trace.New(wr.run.Request.Context, nil, wr.dropped.All())
	}
	d := trace.New(wr.run.Request.Context, &wr.prepared.Request, wr.dropped.All())
	d.Model = wr.model()
	for i := range wr.steps {
		reply := &wr.steps[i].Reply
		var calls []schemas.TraceToolCall
		for i, c := range reply.ToolCalls {
			calls = append(calls, wr.traceCall(reply.FirstIndex+i, c))
		}
		d.Iterations = append(d.Iterations, trace.Iteration(reply, calls))
	}
	if !wr.calling.IsZero() { // a call was interrupted
		d.Iterations = append(d.Iterations, schemas.TraceIteration{
			Reply: wr.writing.String(), StopReason: levelStatus[state], StartedAt: wr.calling,
			DurationMS: wr.deps.Now().Sub(wr.calling).Milliseconds(),
		})
	}
	return d
}

// model returns the model that wrote the last reply, else the request's model.
func (wr *Writer) model() string {
	if n := len(wr.steps); n > 0 && wr.steps[n-1].Reply.Model != "" {
		return wr.steps[n-1].Reply.Model
	}
	return wr.prepared.Request.Model
}

// traceCall returns a call with its outcome; without an outcome, only with its
// input.
func (wr *Writer) traceCall(index int, asked turn.ToolCall) schemas.TraceToolCall {
	t := trace.Asked(asked)
	if index < len(wr.calls) && wr.calls[index] != nil {
		c := wr.calls[index]
		t.ToolUseID, t.Input = c.ToolUseID, c.Input
		t.Output, t.IsError, t.DurationMS = c.Output, c.IsError, c.Duration.Milliseconds()
		if c.ModelOutput != c.Output {
			t.ModelOutput = c.ModelOutput
		}
		if c.payload != nil {
			t.PayloadID = c.payload.PayloadID
		}
	}
	return t
}
