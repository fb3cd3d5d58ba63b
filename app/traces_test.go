package app

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/chattray/chattray/app/settings"
	"github.com/chattray/chattray/app/telemetry"
	"github.com/chattray/chattray/app/telemetry/telemetrytest"
)

// TestRunsJoinTheCallersTrace sends a request to the whole service over HTTP.
func TestRunsJoinTheCallersTrace(t *testing.T) {
	const traceID = "0af7651916cd43dd8448eb211c80319c"
	c, _, err := settings.Load(nil, []string{"CHATTRAY_DATABASE_URL=sqlite:" + filepath.Join(t.TempDir(), "a.db")}, "")
	if err != nil {
		t.Fatal(err)
	}
	spans := tracetest.NewInMemoryExporter()
	watch, err := telemetry.New(t.Context(), telemetry.Options{Tracer: sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)).Tracer("test")})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	log, flush := telemetry.NewLogger(&out, slog.LevelInfo, "json")
	s, err := Build(t.Context(), c, Options{}, watch, log)
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
	flush()
	run := w.Header().Get("X-Run-Id")
	if w.Code != http.StatusOK || run == "" {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	for _, name := range []string{"POST", "invoke_agent chattray", "chat " + defaultModel(c)} {
		span := telemetrytest.Span(t, spans, name)
		if got := span.SpanContext.TraceID().String(); got != traceID {
			t.Errorf("%s is in the trace %s", name, got)
		}
		if name == "POST" {
			continue
		}
		got := telemetrytest.Attributes(span)
		if got["run_id"] != run || got["gen_ai.conversation.id"] != "1" || got["gen_ai.provider.name"] == "" {
			t.Errorf("%s has %v", name, got)
		}
		if name == "invoke_agent chattray" && (got["attempt"] != "1" || got["replica"] != "") {
			t.Errorf("%s of the only process has %v, want the attempt 1", name, got)
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
