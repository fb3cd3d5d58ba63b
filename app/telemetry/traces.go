package telemetry

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/chattray/chattray/schemas/turn"
)

// maxAttribute is how many characters of an attribute a span has, unless
// OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT says another number: a caller may send a path of
// a megabyte, and a full queue has 2,048 spans.
const maxAttribute = 4 << 10

// newTracer returns a tracer that exports over OTLP; the exporter and the sampler
// read the rest of the OTEL_* variables themselves. Without an endpoint it traces
// nothing. Variables that CheckEnvironment refuses are an error.
func newTracer(ctx context.Context, o Options) (trace.Tracer, func(context.Context) error, error) {
	if err := CheckEnvironment(o.Environ); err != nil {
		return nil, nil, fmt.Errorf("traces: %w", err)
	}
	environment := readEnvironment(o.Environ)
	if !environment.traces() {
		return noop.NewTracerProvider().Tracer(namespace), func(context.Context) error { return nil }, nil
	}
	exporter, err := newExporter(ctx, environment.protocol())
	if err != nil {
		return nil, nil, fmt.Errorf("traces: %w", err)
	}
	about, err := resource.New(ctx,
		resource.WithAttributes(attribute.String("service.name", namespace), attribute.String("service.version", o.Version)),
		resource.WithFromEnv())
	if err != nil {
		return nil, nil, fmt.Errorf("traces: %w", err)
	}
	limits := sdktrace.NewSpanLimits() // of the environment
	if limits.AttributeValueLengthLimit < 0 {
		limits.AttributeValueLengthLimit = maxAttribute
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about), sdktrace.WithRawSpanLimits(limits))
	return provider.Tracer(namespace), provider.Shutdown, nil
}

// traces reports whether spans are recorded. Their attributes are not made otherwise.
func (t *Telemetry) traces() bool {
	_, none := t.tracer.(noop.Tracer)
	return !none
}

// newExporter uses a protocol that CheckEnvironment accepts. Collectors that
// accept JSON over HTTP accept protobuf too.
func newExporter(ctx context.Context, protocol string) (sdktrace.SpanExporter, error) {
	if protocol == "grpc" {
		return otlptracegrpc.New(ctx)
	}
	return otlptracehttp.New(ctx)
}

// propagated reads a caller's trace from its headers.
var propagated = propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})

// Traced returns a handler with a span for each request of the API, in the
// caller's trace if there is one.
func (t *Telemetry) Traced(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/api/") && r.URL.Path != "/mcp" {
			next.ServeHTTP(w, r)
			return
		}
		r, span := t.startRequest(r)
		defer span.End()
		next.ServeHTTP(w, r)
	})
}

// startRequest starts the span of a request. It is a function of its own to
// keep Traced's stack frame small, which lasts as long as a stream: a stack of
// which a quarter is used never shrinks from 16 KiB to 8.
//
//go:noinline
func (t *Telemetry) startRequest(r *http.Request) (*http.Request, trace.Span) {
	name, method := r.Method, r.Method
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions, http.MethodConnect, http.MethodTrace:
	default:
		name, method = "HTTP", "_OTHER" // the conventions' words for what a caller made up
	}
	ctx, span := t.tracer.Start(propagated.Extract(r.Context(), propagation.HeaderCarrier(r.Header)), name,
		trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(attribute.String("http.request.method", method), attribute.String("url.path", strings.ToValidUTF8(r.URL.Path, "\uFFFD"))))
	return r.WithContext(ctx), span
}

// CarryTrace copies the request's trace to the context of a run, which outlives the request.
func CarryTrace(from, to context.Context) context.Context {
	to = trace.ContextWithSpanContext(to, trace.SpanContextFromContext(from))
	return baggage.ContextWithBaggage(to, baggage.FromContext(from))
}

// start begins the span of a run's attempt.
func (t *Telemetry) start(ctx context.Context, req *turn.Request) (context.Context, trace.Span) {
	ctx = context.WithValue(ctx, runKey{}, req)
	if !t.traces() {
		return ctx, noop.Span{}
	}
	ctx, span := t.tracer.Start(ctx, "invoke_agent "+namespace, trace.WithAttributes(
		attribute.String("gen_ai.operation.name", "invoke_agent"), attribute.String("gen_ai.agent.name", namespace),
		attribute.String("gen_ai.request.model", req.Model)), trace.WithAttributes(ofRun(req)...))
	if req.Attempt != 0 {
		span.SetAttributes(attribute.Int("attempt", req.Attempt))
	}
	if t.replica != nil {
		span.SetAttributes(attribute.String("replica", t.replica()))
	}
	return ctx, span
}

// ofRun are the attributes that every span of a run has.
func ofRun(req *turn.Request) []attribute.KeyValue {
	list := []attribute.KeyValue{attribute.String("gen_ai.provider.name", "openai")} // the provider whose protocol is used
	if req.RunID != "" {
		list = append(list, attribute.String("run_id", req.RunID))
	}
	if req.ConversationID != 0 {
		list = append(list, attribute.String("gen_ai.conversation.id", strconv.FormatInt(req.ConversationID, 10)))
	}
	return list
}

// runKey is the key of the context's *turn.Request within a loop.
type runKey struct{}

// tracedLog adds the id of the trace to log lines, and that of the run to those of a loop.
type tracedLog struct{ slog.Handler }

// Handle implements slog.Handler.
func (h tracedLog) Handle(ctx context.Context, r slog.Record) error {
	if span := trace.SpanContextFromContext(ctx); span.HasTraceID() {
		r.AddAttrs(slog.String("trace_id", span.TraceID().String()))
	}
	if req, ok := ctx.Value(runKey{}).(*turn.Request); ok && req.RunID != "" {
		r.AddAttrs(slog.String("run_id", req.RunID))
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h tracedLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	return tracedLog{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (h tracedLog) WithGroup(name string) slog.Handler { return tracedLog{h.Handler.WithGroup(name)} }
