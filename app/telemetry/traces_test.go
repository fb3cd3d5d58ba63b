package telemetry

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/chattray/chattray/app/telemetry/telemetrytest"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/turn"
)

func TestFailuresSayTheirType(t *testing.T) {
	telemetry, spans := watch(t)
	telemetry.ModelServers(map[string]string{"m": "models.example"})
	script := scripted{events: []turn.Event{
		turn.CallStart{}, turn.ToolComplete{ID: "c", Name: "search", Result: turn.Result{IsError: true, Duration: time.Second}},
	}, err: schemas.NewError(schemas.CodeUpstreamTimeout, "x").Because(errors.New("y"))}
	request := turn.Request{Model: "m", Tools: []turn.Tool{{Name: "search"}}, RunID: "r", ConversationID: 7}
	if err := last(telemetry.Watch(script).Run(t.Context(), request)); err == nil {
		t.Fatal("got no error, want one")
	}
	for name, want := range map[string]string{"execute_tool search": "tool_error", "chat m": "upstream_timeout", "invoke_agent chattray": "upstream_timeout"} {
		got := telemetrytest.Attributes(telemetrytest.Span(t, spans, name))
		if got["error.type"] != want || got["run_id"] != "r" || got["gen_ai.conversation.id"] != "7" || got["gen_ai.provider.name"] != "openai" {
			t.Errorf("%s has %v, want the error %s", name, got, want)
		}
	}
	if got := telemetrytest.Attributes(telemetrytest.Span(t, spans, "chat m"))["server.address"]; got != "models.example" {
		t.Errorf("server.address is %q", got)
	}
}

// An attempt of a run is found by its process and its number.
func TestSpansOfAttempts(t *testing.T) {
	telemetry, spans := watch(t)
	telemetry.Leases(func() string { return "here" }, func() time.Duration { return 0 }, func() int { return 2 })
	if err := last(telemetry.Watch(scripted{}).Run(t.Context(), turn.Request{Model: "m", RunID: "r", Attempt: 2})); err != nil {
		t.Fatal(err)
	}
	got := telemetrytest.Attributes(telemetrytest.Span(t, spans, "invoke_agent chattray"))
	if got["replica"] != "here" || got["attempt"] != "2" {
		t.Errorf("the span of the run has %v, want the replica here and the attempt 2", got)
	}
}

// Whoever looks for a failed answer finds what the model and the tools have logged of it.
func TestLinesOfALoopNameItsRun(t *testing.T) {
	telemetry, err := New(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	log, flush := NewLogger(&out, slog.LevelInfo, "json")
	loop := logging{func(ctx context.Context) { log.WarnContext(ctx, "tool failed", "tool", "a") }}
	if err := last(telemetry.Watch(loop).Run(t.Context(), turn.Request{RunID: "r"})); err != nil {
		t.Fatal(err)
	}
	log.WarnContext(t.Context(), "outside")
	flush()
	if got := out.String(); strings.Count(got, `"run_id":"r"`) != 1 || !strings.Contains(got, `"tool":"a","run_id":"r"`) {
		t.Errorf("logged %s, want the run in the line of its loop and in no other", got)
	}
}

// logging is an agent that only logs.
type logging struct{ write func(context.Context) }

func (l logging) Run(ctx context.Context, _ turn.Request) iter.Seq2[turn.Event, error] {
	return func(func(turn.Event, error) bool) { l.write(ctx) }
}

func TestProtocolsOfTheCollector(t *testing.T) {
	for _, protocol := range []string{"grpc", "http/protobuf", "http/json"} {
		telemetry, err := New(t.Context(), Options{Environ: []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_PROTOCOL=" + protocol}})
		if err != nil {
			t.Errorf("%s: %v", protocol, err)
			continue
		}
		if _, span := telemetry.tracer.Start(t.Context(), "x"); !span.IsRecording() {
			t.Errorf("%s: nothing is recorded", protocol)
		}
	}
}

// What a caller sends does not make spans large.
func TestSpansAreBounded(t *testing.T) {
	telemetry, err := New(t.Context(), Options{Environ: []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1"}})
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("x", 1<<20)
	_, started := telemetry.startRequest(httptest.NewRequestWithContext(t.Context(), long, "/api/"+long, http.NoBody))
	span, ok := started.(sdktrace.ReadOnlySpan)
	if !ok {
		t.Fatalf("the span is %T", started)
	}
	if span.Name() != "HTTP" {
		t.Errorf("the span's name has %d bytes", len(span.Name()))
	}
	got := telemetrytest.Attributes(tracetest.SpanStubFromReadOnlySpan(span))
	if path := got["url.path"]; got["http.request.method"] != "_OTHER" || len(path) != maxAttribute || !strings.HasPrefix("/api/"+long, path) {
		t.Errorf("the method is %.20q and the path has %d bytes, want _OTHER and the first %d", got["http.request.method"], len(path), maxAttribute)
	}
}

// The path of a request need not be UTF-8. An export is, or all its spans would be lost.
func TestSpansOfAnyPathAreExported(t *testing.T) {
	var exported []byte
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		exported, _ = io.ReadAll(r.Body)
	}))
	defer collector.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	telemetry, err := New(t.Context(), Options{Environ: os.Environ()})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/api/chats", "/api/%ff%fe", "/api/x" + strings.Repeat("%C3%BC", 5_000)} {
		_, span := telemetry.startRequest(httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody))
		span.End()
	}
	if err := telemetry.stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/api/chats", "/api/\uFFFD", "/api/xü"} {
		if !bytes.Contains(exported, []byte(path)) {
			t.Errorf("the collector has %q, want the span of %q", exported, path)
		}
	}
}
