//go:build unix

package app_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/chattray/chattray/app"
	"github.com/chattray/chattray/app/apptest"
)

// TestFilesAreBounded names files that never end, and others that are no files, wherever a
// setting names one.
func TestFilesAreBounded(t *testing.T) {
	dir := t.TempDir()
	pages, large := filepath.Join(dir, "pages"), filepath.Join(dir, "large.yaml")
	if err := os.Mkdir(pages, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(pages, "a.yaml"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{large, filepath.Join(pages, "b.yaml")} { // gigabytes that take no room
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(name, 8<<30); err != nil {
			t.Fatal(err)
		}
	}
	nats := []string{"--replicas=many", "--database-url=postgres://h/db", "--nats-url=nats://h"}
	for _, tt := range []struct {
		args []string
		want []string
	}{
		{[]string{"--config=/dev/zero"}, []string{"/dev/zero is larger than"}},
		{[]string{"--config=" + large}, []string{"large.yaml is larger than"}},
		{[]string{"--config=" + dir}, []string{"is a directory"}},
		{[]string{"--auth-jwt-secret-file=/dev/zero"}, []string{"/dev/zero is larger than"}},
		{[]string{"--auth-jwt-secret-file=" + dir}, []string{"is a directory"}},
		{[]string{"--models=[{name: m, base_url: https://h, api_key_file: /dev/zero}]"}, []string{"/dev/zero is larger than"}},
		{[]string{"--pages=" + pages}, []string{"a.yaml: is not a regular file", "b.yaml: has more than"}},
		{append(nats, "--nats-creds-file=/dev/zero"), []string{"/dev/zero is not a regular file"}},
		{append(nats, "--nats-creds-file="+dir), []string{"is not a regular file"}},
		{append(nats, "--nats-creds-file="+large), []string{"large.yaml is larger than"}},
		{append(nats, "--nats-creds-file="+filepath.Join(dir, "none")), []string{"no such file"}},
	} {
		_, err := apptest.Command(t, nil, append([]string{"config", "check"}, tt.args...)...)
		for _, want := range tt.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want %q", tt.args, err, want)
			}
		}
	}
}

// TestPipesAreRead has settings come through pipes, as from a process substitution of a shell.
func TestPipesAreRead(t *testing.T) {
	for arg, content := range map[string]string{"--config": "model: piped\n", "--auth-jwt-secret-file": "secret-of-32-bytes-for-this-test"} {
		pipe := newPipe(t)
		go func() { _ = os.WriteFile(pipe, []byte(content), 0o600) }()
		out, err := apptest.Command(t, nil, "config", "print", arg+"="+pipe)
		if err != nil || !strings.Contains(out, pipe) && !strings.Contains(out, "flag --auth-jwt-secret-file") {
			t.Errorf("%s: %v, %s", arg, err, out)
		}
	}
}

// TestStopWhileThePipeIsSilent stops commands that wait for the content of a pipe.
func TestStopWhileThePipeIsSilent(t *testing.T) {
	records := filepath.Join(t.TempDir(), "records")
	if err := os.WriteFile(records, []byte(`{"version": 1, "question": "Why?"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]string{
		"settings": {"serve", "--config"},
		"import":   {"import"},
		"records":  {"eval", "run", "--output", filepath.Join(t.TempDir(), "out")},
		"prompt":   {"eval", "run", records, "--output", filepath.Join(t.TempDir(), "out"), "--prompt"},
		"page":     {"eval", "run", records, "--output", filepath.Join(t.TempDir(), "out"), "--page"},
	} {
		t.Run(name, func(t *testing.T) {
			pipe := newPipe(t)
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			ended := make(chan error, 1)
			go func() {
				environ := []string{"CHATTRAY_DATABASE_URL=sqlite:" + filepath.Join(t.TempDir(), "c.db")}
				ended <- app.Run(ctx, app.Program{Args: append(args, pipe), Environ: environ, Stdout: io.Discard})
			}()
			writer, err := os.OpenFile(pipe, os.O_WRONLY, 0) // waits for the command
			if err != nil {
				t.Fatal(err)
			}
			defer writer.Close()
			if _, err := writer.Write(bytes.Repeat([]byte("\n"), 1<<20-1)); err != nil { // more than a pipe holds: the command reads
				t.Fatal(err)
			}
			stop()
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Errorf("the command ends with %v, want canceled", err)
			}
		})
	}
}

func newPipe(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
