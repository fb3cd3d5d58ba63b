// Package telemetrytest reads the spans that a test has kept.
package telemetrytest

import (
	"testing"

	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// Span returns the span of this name. The test fails if there is none.
func Span(t testing.TB, spans *tracetest.InMemoryExporter, name string) tracetest.SpanStub {
	t.Helper()
	var names []string
	for _, s := range spans.GetSpans() {
		if s.Name == name {
			return s
		}
		names = append(names, s.Name)
	}
	t.Fatalf("the spans are %q, want one named %q", names, name)
	return tracetest.SpanStub{}
}

// Attributes returns the attributes of a span by name.
func Attributes(s tracetest.SpanStub) map[string]string {
	list := map[string]string{}
	for _, a := range s.Attributes {
		list[string(a.Key)] = a.Value.String()
	}
	return list
}
