package telemetry

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel"

	"github.com/chattray/chattray/schemas/seldom"
)

func TestErrorsAreLoggedOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		to, flush := NewLogger(&out, slog.LevelInfo, "json")
		log := &errorLog{log: to}
		for range 3 {
			log.Handle(errors.New(`Post "http://u:SEK@RIT@h/v1/traces": connection refused`))
		}
		<-time.After(seldom.Pause)
		log.Handle(errors.New("later"))
		flush()
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if len(lines) != 2 {
			t.Fatalf("got %d lines, want 2:\n%s", len(lines), out.String())
		}
		for i, want := range []string{`"error":"Post \"http://h/v1/traces\": connection refused","left_out":0`, `"error":"later","left_out":2`} {
			if !strings.Contains(lines[i], `"level":"WARN"`) || !strings.Contains(lines[i], want) {
				t.Errorf("line %d is %s, want a warning with %s", i, lines[i], want)
			}
		}
	})
}

func TestOpenTelemetryUsesTheLog(t *testing.T) {
	t.Cleanup(func() { LogErrors(slog.New(slog.DiscardHandler)) })
	var out bytes.Buffer
	log, flush := NewLogger(&out, slog.LevelInfo, "json")
	LogErrors(log)
	otel.Handle(errors.New("connection refused"))
	flush()
	if want := `"error":"connection refused"`; !strings.Contains(out.String(), want) {
		t.Errorf("the log is %q, want %s in it", out.String(), want)
	}

	out.Reset()
	LogErrors(log)
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "SEKRIT") // the exporter reads it itself
	if _, err := New(t.Context(), Options{Environ: []string{endpointVariable + "=http://127.0.0.1:1"}}); err != nil {
		t.Fatal(err)
	}
	flush()
	if want := `"error":"parse headers: missing`; !strings.Contains(out.String(), want) || strings.Contains(out.String(), "SEKRIT") {
		t.Errorf("the log is %q, want %s in it and no value of a variable", out.String(), want)
	}
}
