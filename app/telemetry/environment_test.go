package telemetry

import (
	"strings"
	"testing"
)

func TestCheckEnvironment(t *testing.T) {
	const (
		base   = "OTEL_EXPORTER_OTLP_ENDPOINT="
		traces = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT="
		grpc   = "OTEL_EXPORTER_OTLP_PROTOCOL=grpc"
	)
	for _, tt := range []struct {
		name    string
		environ []string
		want    string // the variable at fault; empty if there is none
	}{
		{"nothing", nil, ""},
		{"URL", []string{base + "http://u:SEKRIT@h:4318/"}, ""},
		{"URL with space around it", []string{base + " https://h "}, ""},
		{"URL of the traces", []string{traces + "https://h/v1/traces"}, ""},
		{"port that is no number", []string{base + "http://u:SEKRIT@h:bad/"}, base},
		{"port of the traces that is no number", []string{traces + "http://u:SEKRIT@h:bad/"}, traces},
		{"base that is no URL, beside one for traces", []string{base + "http://u:SEKRIT@h:bad/", traces + "http://h"}, base},
		{"base that is not used", []string{base + "collector:4317", traces + "http://h"}, ""},
		{"no scheme", []string{base + "collector:4318"}, base},
		{"another scheme", []string{base + "ftp://u:SEKRIT@h"}, base},
		{"no host", []string{traces + "http:///SEKRIT"}, traces},
		{"not used: exporter", []string{base + "http://h:bad", "OTEL_TRACES_EXPORTER=none"}, ""},
		{"not used: SDK", []string{base + "http://h:bad", "OTEL_SDK_DISABLED=TRUE"}, ""},
		{"gRPC with a URL", []string{grpc, base + "http://u:SEKRIT@h:4317"}, ""},
		{"gRPC with host and port", []string{grpc, base + "collector:4317"}, ""},
		{"gRPC with a socket", []string{grpc, base + "unix:///run/collector"}, ""},
		{"gRPC with a port that is no number", []string{grpc, traces + "http://u:SEKRIT@h:bad"}, traces},
		{"gRPC with no host", []string{grpc, base + "https://"}, base},
		{"gRPC with a password in the host", []string{grpc, base + "u:SEKRIT@h:4317"}, base},
		{"protocol", []string{base + "http://h", "OTEL_EXPORTER_OTLP_PROTOCOL=smoke"}, "OTEL_EXPORTER_OTLP_PROTOCOL"},
		{"protocol of the traces", []string{base + "http://h", grpc, "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=smoke"}, "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := CheckEnvironment(tt.environ)
			if _, started := New(t.Context(), Options{Environ: tt.environ}); (started == nil) != (err == nil) {
				t.Errorf("the check says %v, the start %v; want the same", err, started)
			}
			if tt.want == "" {
				if err != nil {
					t.Errorf("got the error %v, want none", err)
				}
				return
			}
			if want := strings.TrimSuffix(tt.want, "="); err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "SEKRIT") {
				t.Errorf("got the error %v, want one that begins with %s, without the value", err, want)
			}
		})
	}
}
