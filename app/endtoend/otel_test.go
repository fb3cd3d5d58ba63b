package endtoend

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The program sends what OpenTelemetry reports to its log. It ends because its
// address is in use.
func TestErrorsOfOpenTelemetryAreInTheLog(t *testing.T) {
	used, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer used.Close()
	var out, errs bytes.Buffer
	program := exec.CommandContext(t.Context(), os.Args[0])
	program.Env = append(os.Environ(), "TEST_AS_PROGRAM=1", "GORACE=atexit_sleep_ms=0",
		"CHATTRAY_ADDR="+used.Addr().String(), "CHATTRAY_DATABASE_URL=sqlite:"+filepath.Join(t.TempDir(), "c.db"), "CHATTRAY_LOG_FORMAT=json",
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_HEADERS=SEKRIT")
	program.Stdout, program.Stderr = &out, &errs
	if err := program.Run(); err == nil {
		t.Error("the program succeeds, want an error: its address is in use")
	}
	if want := `"level":"WARN","msg":"OpenTelemetry reports an error"`; !strings.Contains(out.String(), want) {
		t.Errorf("the log is\n%s\nwant %s in it", out.String(), want)
	}
	if got := errs.String(); strings.Count(got, "\n") != 1 || !strings.HasPrefix(got, "chattray: ") {
		t.Errorf("standard error has %q, want only the reason for the end", got)
	}
}
