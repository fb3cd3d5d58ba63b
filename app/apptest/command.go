package apptest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chattray/chattray/app"
)

// Command runs the program to its end and returns its output.
func Command(t *testing.T, environ []string, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	err := app.Run(t.Context(), app.Program{Args: args, Environ: environ, Stdout: &out, Contract: contract(t)})
	return out.String(), err
}

// contract returns openapi.yaml of the repository in which the test runs.
func contract(t *testing.T) []byte {
	t.Helper()
	for dir := "."; ; dir = filepath.Join(dir, "..") {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err != nil {
			continue
		}
		raw, err := os.ReadFile(filepath.Join(dir, "openapi.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
}

// Listening reads the log until the service logs its address, and returns that.
// It discards the rest in the background until the log ends.
func Listening(t *testing.T, log io.Reader) string {
	t.Helper()
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		var line struct{ Msg, URL string }
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatalf("log line %q: %v", lines.Text(), err)
		}
		if line.Msg == "listening" {
			go io.Copy(io.Discard, log) //nolint:errcheck // ends with the log
			return strings.TrimPrefix(line.URL, "http://")
		}
	}
	t.Fatal("the log ended, want a line that says where the service listens")
	return ""
}

// Get returns the body at a URL. The answer has to arrive within Limit, with
// status 200.
func Get(t *testing.T, url string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Limit)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: status %d, %v, want 200", url, answer.StatusCode, err)
	}
	return string(body)
}
