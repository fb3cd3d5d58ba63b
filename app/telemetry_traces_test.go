package app

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/chattray/chattray/app/settings"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/turn"
)

// TestRunsJoinTheCallersTrace asks the whole service over HTTP.
func TestRunsJoinTheCallersTrace(t *testing.T) {
	const traceID = "0af7651916cd43dd8448eb211c80319c"
	c, _, err := settings.Load(nil, []string{"CHATTRAY_DATABASE_URL=sqlite:" + filepath.Join(t.TempDir(), "a.db")}, "")
	if err != nil {
		t.Fatal(err)
	}
	watch, spans := watch(t)
	var out bytes.Buffer
	s, err := build(t.Context(), c, Options{}, watch, newLogger(&out, slog.LevelInfo, "json"))
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/api/chat", strings.NewReader(`{"message":"hi"}`))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Traceparent", "00-"+traceID+"-b7ad6b7169203331-01")
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	s.end(t.Context())
	s.mcp.stop()
	if err := s.store.Close(); err != nil {
		t.Fatal(err)
	}
	run := w.Header().Get("X-Run-Id")
	if w.Code != http.StatusOK || run == "" {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	for _, name := range []string{"POST", "invoke_agent chattray", "chat " + defaultModel(c)} {
		span := spanNamed(t, spans, name)
		if got := span.SpanContext.TraceID().String(); got != traceID {
			t.Errorf("%s is in the trace %s", name, got)
		}
		if name == "POST" {
			continue
		}
		if got := attributesOf(span); got["run_id"] != run || got["gen_ai.conversation.id"] != "1" || got["gen_ai.provider.name"] == "" {
			t.Errorf("%s has %v", name, got)
		}
	}
	var line struct {
		TraceID string `json:"trace_id"`
		RunID   string `json:"run_id"`
	}
	at := strings.Index(out.String(), `"msg":"request"`)
	if at < 0 {
		t.Fatalf("the log is %s", out.String())
	}
	text := out.String()[strings.LastIndex(out.String()[:at], "{"):]
	if err := json.NewDecoder(strings.NewReader(text)).Decode(&line); err != nil || line.TraceID != traceID || line.RunID != run {
		t.Errorf("the line of the request is %s (%v)", text, err)
	}
}

func spanNamed(t *testing.T, spans *tracetest.InMemoryExporter, name string) tracetest.SpanStub {
	t.Helper()
	for _, s := range spans.GetSpans() {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("no span %s", name)
	return tracetest.SpanStub{}
}

func attributesOf(s tracetest.SpanStub) map[string]string {
	list := map[string]string{}
	for _, a := range s.Attributes {
		list[string(a.Key)] = a.Value.String()
	}
	return list
}

func TestFailuresSayTheirType(t *testing.T) {
	telemetry, spans := watch(t)
	telemetry.servers = map[string]string{"m": "models.example"}
	script := scripted{events: []turn.Event{
		turn.CallStart{}, turn.ToolComplete{ID: "c", Name: "search", Result: turn.Result{IsError: true, Duration: time.Second}},
	}, err: schemas.NewError(schemas.CodeUpstreamTimeout, "x").Because(errors.New("y"))}
	request := turn.Request{Model: "m", Tools: []turn.Tool{{Name: "search"}}, RunID: "r", ConversationID: 7}
	if err := last(telemetry.Watch(script).Run(t.Context(), request)); err == nil {
		t.Fatal("no error")
	}
	for name, want := range map[string]string{"execute_tool search": "tool_error", "chat m": "upstream_timeout", "invoke_agent chattray": "upstream_timeout"} {
		got := attributesOf(spanNamed(t, spans, name))
		if got["error.type"] != want || got["run_id"] != "r" || got["gen_ai.conversation.id"] != "7" || got["gen_ai.provider.name"] != "openai" {
			t.Errorf("%s has %v, want the error %s", name, got, want)
		}
	}
	if got := attributesOf(spanNamed(t, spans, "chat m"))["server.address"]; got != "models.example" {
		t.Errorf("server.address is %q", got)
	}
}

func TestProtocolsOfTheCollector(t *testing.T) {
	for _, protocol := range []string{"grpc", "http/protobuf", "http/json"} {
		telemetry, err := newTelemetry(t.Context(), []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_PROTOCOL=" + protocol})
		if err != nil {
			t.Errorf("%s: %v", protocol, err)
			continue
		}
		if _, span := telemetry.tracer.Start(t.Context(), "x"); !span.IsRecording() {
			t.Errorf("%s: nothing is recorded", protocol)
		}
	}
}
