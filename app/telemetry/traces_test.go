package telemetry

import (
	"errors"
	"testing"
	"time"

	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/turn"
)

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
	telemetry.ModelServers(map[string]string{"m": "models.example"})
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
