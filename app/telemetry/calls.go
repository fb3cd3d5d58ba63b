package telemetry

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/turn"
)

// Agent runs the agent loop; agents.Agent implements it.
type Agent interface {
	Run(ctx context.Context, req turn.Request) iter.Seq2[turn.Event, error]
}

// Watch returns an agent that calls next, counts its calls of models and tools,
// and traces each run with the GenAI names of OpenTelemetry. Spans have no text
// of users, models or tools.
func (t *Telemetry) Watch(next Agent) Agent { return watched{t, next} }

type watched struct {
	*Telemetry
	next Agent
}

// Run yields the events of the loop and counts them.
func (w watched) Run(ctx context.Context, req turn.Request) iter.Seq2[turn.Event, error] {
	return func(yield func(turn.Event, error) bool) {
		ctx, span := w.start(ctx, &req)
		defer span.End()
		s := &callTracer{Telemetry: w.Telemetry, req: &req}
		for event, err := range w.events(w.metered(ctx), &req) {
			s.see(ctx, event, err)
			if err != nil {
				failed(span, err)
			}
			if !yield(event, err) {
				return
			}
		}
	}
}

// events starts the loop. It is a function of its own to keep a copy of the
// request out of Run's stack frame, which lasts as long as the run.
//
//go:noinline
func (w watched) events(ctx context.Context, req *turn.Request) iter.Seq2[turn.Event, error] {
	return w.next.Run(ctx, *req)
}

// failed records in a run's span why the run has failed.
//
//go:noinline
func failed(span trace.Span, err error) {
	span.SetStatus(codes.Error, errorType(err))
	span.SetAttributes(attribute.String("error.type", errorType(err)))
}

// callTracer counts and traces the calls of one run of the loop.
type callTracer struct {
	*Telemetry
	req *turn.Request
	// asked is when the current model call began, zero if there is none, and model
	// the one that it goes to.
	asked time.Time
	model string
	// threads are the open threads, by call and number.
	threads map[[2]int]*callTracer
}

// see counts one event.
func (s *callTracer) see(ctx context.Context, event turn.Event, err error) {
	if err != nil {
		s.callEnded(ctx, errorType(err), turn.Reply{})
		return
	}
	switch e := event.(type) {
	case turn.CallStart:
		s.asked, s.model = time.Now(), s.req.Model
	case turn.ModelAsked:
		if e.Err != nil {
			s.callEnded(ctx, errorType(e.Err), turn.Reply{})
		}
		s.asked, s.model = time.Now(), e.Model
	case turn.Reply:
		outcome := "ok"
		if e.Synthetic {
			outcome = "error" // it replaces a reply that failed
		}
		s.callEnded(ctx, outcome, e)
	case turn.Cancelled:
		s.callEnded(ctx, "cancelled", turn.Reply{})
	case turn.ToolComplete:
		s.toolEnded(ctx, e)
	case turn.ThreadEvent:
		s.thread(ctx, e)
	}
}

// thread counts an event of a thread as an event of a separate run.
func (s *callTracer) thread(ctx context.Context, e turn.ThreadEvent) {
	id := [2]int{e.Index, e.Thread}
	switch event := e.Event.(type) {
	case turn.ThreadStart:
		if s.threads == nil {
			s.threads = make(map[[2]int]*callTracer)
		}
		s.threads[id] = &callTracer{Telemetry: s.Telemetry, req: &turn.Request{Model: event.Model, Tools: s.req.Tools, RunID: s.req.RunID, ConversationID: s.req.ConversationID}}
	case turn.ThreadEnd:
		if t := s.threads[id]; t != nil && event.Err != nil {
			t.see(ctx, nil, event.Err)
		}
		delete(s.threads, id)
	default:
		if t := s.threads[id]; t != nil {
			t.see(ctx, e.Event, nil)
		}
	}
}

// callEnded counts and traces the open model call, if there is one.
func (s *callTracer) callEnded(ctx context.Context, outcome string, reply turn.Reply) {
	if s.asked.IsZero() {
		return
	}
	took := time.Since(s.asked)
	answered := cmp.Or(reply.Model, s.model)
	s.ModelCall(answered, outcome, took)
	s.traceCall(ctx, answered, outcome, reply)
	s.asked = time.Time{}
}

// traceCall traces a model call that has ended.
func (s *callTracer) traceCall(ctx context.Context, answered, outcome string, reply turn.Reply) {
	if !s.traces() {
		return
	}
	_, span := s.tracer.Start(ctx, "chat "+s.req.Model, trace.WithTimestamp(s.asked), trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(
			attribute.String("gen_ai.operation.name", "chat"), attribute.String("gen_ai.request.model", s.req.Model),
			attribute.String("gen_ai.response.model", answered),
			attribute.Int("gen_ai.usage.input_tokens", reply.Usage.InputTokens),
			attribute.Int("gen_ai.usage.output_tokens", reply.Usage.OutputTokens)), trace.WithAttributes(ofRun(s.req)...))
	if host := s.servers[answered]; host != "" {
		span.SetAttributes(attribute.String("server.address", host))
	}
	if outcome != "ok" {
		span.SetStatus(codes.Error, outcome)
		span.SetAttributes(attribute.String("error.type", outcome))
	} else {
		span.SetAttributes(attribute.StringSlice("gen_ai.response.finish_reasons", []string{string(reply.StopReason)}))
	}
	span.End()
}

// toolEnded counts and traces a tool call.
func (s *callTracer) toolEnded(ctx context.Context, e turn.ToolComplete) {
	name, label, outcome := e.Name, e.Name, "ok"
	switch i := slices.IndexFunc(s.req.Tools, func(t turn.Tool) bool { return t.Name == name }); {
	case i < 0:
		name, label = unknownTool, unknownTool
	case s.req.Tools[i].Client:
		label = clientTool
	}
	if e.Result.IsError {
		outcome = "error"
	}
	s.ToolCall(label, outcome, e.Result.Duration)
	if !s.traces() {
		return
	}
	_, span := s.tracer.Start(ctx, "execute_tool "+name, trace.WithTimestamp(time.Now().Add(-e.Result.Duration)),
		trace.WithAttributes(
			attribute.String("gen_ai.operation.name", "execute_tool"), attribute.String("gen_ai.tool.name", name),
			attribute.String("gen_ai.tool.call.id", e.ID), attribute.String("gen_ai.tool.type", "function")), trace.WithAttributes(ofRun(s.req)...))
	if e.Result.IsError {
		span.SetStatus(codes.Error, outcome)
		span.SetAttributes(attribute.String("error.type", "tool_error"))
	}
	span.End()
}

// errorType returns a code for an error that may be shown.
func errorType(err error) string {
	if errors.Is(err, context.Canceled) {
		return "cancelled"
	}
	return string(schemas.Visible(err).Code)
}
