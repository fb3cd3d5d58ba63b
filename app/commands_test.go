package app_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chattray/chattray/api/auth"
	"github.com/chattray/chattray/app"
	"github.com/chattray/chattray/app/apptest"
)

func TestCommands(t *testing.T) {
	tests := []struct {
		name    string
		environ []string
		args    []string
		want    []string
	}{
		{"help", nil, []string{"--help"}, []string{"serve ", "migrate ", "import ", "backup ", "config ", "token ", "user ", "eval ", "openapi ", "healthcheck ", "version ", "completion ", "--config", "--addr"}},
		{"help of the settings", nil, []string{"help", "settings"}, []string{"limits.body", "CHATTRAY_MAX_BODY", "--limits-body", "--auth-jwt-secret-file"}},
		{"version", nil, []string{"version"}, []string{"chattray "}},
		{"completion", nil, []string{"completion", "bash"}, []string{"__chattray"}},
		{"contract", nil, []string{"openapi"}, []string{"openapi: 3.", "/api/chat/stream"}},
		{"print", []string{"CHATTRAY_MODEL=m"}, []string{"config", "print"}, []string{"environment CHATTRAY_MODEL"}},
		{"flags of settings", nil, []string{"config", "print", "--limits-body=2MiB"}, []string{"flag --limits-body"}},
		{"check", nil, []string{"config", "check"}, []string{"valid"}},
		{"check of settings with a warning", []string{"CHATTRAY_OIDC_ISSUER=https://id.example"}, []string{"config", "check"}, []string{"warning: auth.audience is not set", "the settings are valid"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out, err := apptest.Command(t, tt.environ, tt.args...)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range tt.want {
				if !strings.Contains(out, want) {
					t.Errorf("%q is not in the answer:\n%s", want, out)
				}
			}
		})
	}
}

func TestInvalidCommands(t *testing.T) {
	tests := []struct {
		name    string
		environ []string
		args    []string
		want    string
	}{
		{"unknown command", nil, []string{"sing"}, `unknown command "sing" for "chattray"; see chattray --help`},
		{"no file to import", nil, []string{"import"}, "received 0; see chattray import --help"},
		{"unknown command of migrate", nil, []string{"migrate", "down"}, `unknown command "down" for "chattray migrate"; see chattray migrate --help`},
		{"no command of migrate", nil, []string{"migrate"}, "chattray migrate needs a command; see chattray migrate --help"},
		{"no command of completion", nil, []string{"completion"}, "chattray completion needs a command"},
		{"unknown command of config", nil, []string{"config", "chek"}, "unknown command"},
		{"unknown command of user", nil, []string{"user", "remove", "x"}, "unknown command"},
		{"unknown command of mcp", nil, []string{"mcp", "acept"}, "unknown command"},
		{"unknown command of eval", nil, []string{"eval", "rn"}, "unknown command"},
		{"completion for an unknown shell", nil, []string{"completion", "tcsh"}, "unknown command"},
		{"unknown flag", nil, []string{"--colour=red"}, "unknown flag"},
		{"wrong settings stop the start", []string{"CHATTRAY_MAX_BODY=x", "CHATTRAY_NO=1"}, nil, "2 settings are wrong"},
		{"check", []string{"CHATTRAY_MAX_BODY=x"}, []string{"config", "check"}, "limits.body"},
		{"check of a page file", []string{"CHATTRAY_PAGES=testdata/wrongpages", "OTEL_EXPORTER_OTLP_ENDPOINT=http://u:p@h:bad/"}, []string{"config", "check"}, `wrong.yaml:2: unknown tool "nope"`},
		{"check of the traces' endpoint", []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://u:p@h:bad/", "CHATTRAY_PAGES=testdata/wrongpages"}, []string{"config", "check"}, "OTEL_EXPORTER_OTLP_ENDPOINT"},
		{"service without a folder for its database", []string{"CHATTRAY_DATABASE_URL=sqlite:/dev/null/db"}, nil, "database_url: "},
		{"command without a folder for its database", []string{"CHATTRAY_DATABASE_URL=sqlite:/dev/null/db"}, []string{"migrate", "up"}, "database_url: "},
		{"file that is not there", nil, []string{"--config=/no/such/file", "config", "check"}, "/no/such/file"},
		{"token without a secret", nil, []string{"token", "--user=u"}, "auth.jwt_secret is not set"},
		{"token without a user", []string{"CHATTRAY_JWT_SECRET=s"}, []string{"token"}, "user"},
		{"token that is over at once", []string{"CHATTRAY_JWT_SECRET=s"}, []string{"token", "--user=u", "--ttl=0s"}, "--ttl"},
		{"secret on the command line", nil, []string{"--auth-jwt-secret=s"}, "unknown flag"},
		{"import without a file", nil, []string{"import"}, "arg"},
		{"backup without a file", nil, []string{"backup"}, "arg"},
		{"backup of Postgres", []string{"CHATTRAY_DATABASE_URL=postgres://user:secret@host/db"}, []string{"backup", "copy.db"}, "pg_dump --format=custom"},
		{"backup of nothing", []string{"CHATTRAY_DATABASE_URL=sqlite:no/such.db"}, []string{"backup", "copy.db"}, "no/such.db"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := apptest.Command(t, tt.environ, tt.args...)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error is %v, want one with %q", err, tt.want)
			}
		})
	}
}

// Commands that act on an existing database neither make one nor change one that is not
// chattray's or of another release.
func TestCommandsNeedADatabase(t *testing.T) {
	commands := [][]string{{"migrate", "status"}, {"user", "export", "u"}, {"user", "delete", "u"}, {"eval", "export"}, {"mcp", "list"}, {"mcp", "accept", "s"}}
	for _, d := range apptest.Databases() {
		t.Run(d.Name, func(t *testing.T) {
			url := d.Empty(t)
			path, isFile := strings.CutPrefix(url, "sqlite:")
			all := func(want string, commands ...[]string) {
				t.Helper()
				for _, args := range commands {
					if _, err := apptest.Command(t, []string{"CHATTRAY_DATABASE_URL=" + url}, args...); err == nil || !strings.Contains(err.Error(), want) {
						t.Errorf("%v: got %v, want an error with %q", args, err, want)
					}
				}
			}
			run := func(statement string) {
				t.Helper()
				if _, err := apptest.Open(t, url).ExecContext(t.Context(), statement); err != nil {
					t.Fatal(err)
				}
			}
			if isFile {
				folder := filepath.Join(t.TempDir(), "wrong")
				url = "sqlite:" + filepath.Join(folder, "chat.db")
				all(`store: open: the database does not exist; "chattray migrate up" makes one`, commands...)
				if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("the folder: %v, want that it does not exist", err)
				}
				if err := os.WriteFile(path, nil, 0o600); err != nil {
					t.Fatal(err)
				}
				url = "sqlite:" + path
			}
			all("chattray migrate up", commands...)
			run("CREATE TABLE theirs (a INTEGER)")
			all("not a chattray database", commands...)
			if isFile {
				all("not a chattray database", []string{"migrate", "up"})
			}
			var tables int
			count := "SELECT COUNT(*) FROM pg_tables WHERE schemaname = current_schema()"
			if isFile {
				count = "SELECT COUNT(*) FROM sqlite_master"
			}
			if err := apptest.Open(t, url).QueryRowContext(t.Context(), count).Scan(&tables); err != nil || tables != 1 {
				t.Errorf("the other program's database has %d tables, %v, want 1", tables, err)
			}
			if isFile { // Postgres may serve several programs
				run("DROP TABLE theirs")
			}
			if _, err := apptest.Command(t, []string{"CHATTRAY_DATABASE_URL=" + url}, "migrate", "up"); err != nil {
				t.Fatal(err)
			}
			run("INSERT INTO goose_db_version (version_id, is_applied) VALUES (99999, true)")
			all("newer release", commands...)
			run("DELETE FROM goose_db_version WHERE version_id = 99999 OR version_id = (SELECT MAX(version_id) FROM goose_db_version WHERE version_id < 99999)")
			all("chattray migrate up", commands[1:]...)
			out, err := apptest.Command(t, []string{"CHATTRAY_DATABASE_URL=" + url}, commands[0]...)
			if err != nil || strings.Count(out, "pending") != 1 {
				t.Errorf("the status is %v, %v, want one migration that is pending", out, err)
			}
		})
	}
}

func TestTokenIsAccepted(t *testing.T) {
	environ := []string{"CHATTRAY_JWT_SECRET=secret-of-32-bytes-for-this-test", "CHATTRAY_AUDIENCE=tray"}
	out, err := apptest.Command(t, environ, "token", "--user", "una", "--role", "admin", "--ttl", "10m")
	if err != nil {
		t.Fatal(err)
	}
	user, expires, err := auth.NewHS256("secret-of-32-bytes-for-this-test", "tray").Authenticate(t.Context(), strings.TrimSpace(out))
	if err != nil || user.Name != "una" || !user.Admin() {
		t.Errorf("got %+v, %v", user, err)
	}
	if left := time.Until(expires); left < 9*time.Minute || left > 10*time.Minute {
		t.Errorf("the token is valid for %s, want 10m", left)
	}
}

func TestServeAnswersAndStops(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	environ := []string{"CHATTRAY_ADDR=127.0.0.1:0", "CHATTRAY_DATABASE_URL=sqlite:" + filepath.Join(t.TempDir(), "c.db"), "CHATTRAY_LOG_FORMAT=json"}
	out, in := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- app.Run(ctx, app.Program{Environ: environ, Stdout: in})
		in.Close()
	}()
	addr := apptest.Listening(t, out)

	if output, err := apptest.Command(t, []string{"CHATTRAY_ADDR=" + addr}, "healthcheck"); err != nil || !strings.Contains(output, "healthy") {
		t.Errorf("healthcheck says %q, %v", output, err)
	}
	answer := apptest.Get(t, "http://"+addr+"/metrics")
	if !strings.Contains(answer, "chattray_runs_active 0") {
		t.Errorf("metrics lack chattray_runs_active:\n%.500s", answer)
	}

	stop()
	if err := <-ended; err != nil {
		t.Errorf("serve ended with %v", err)
	}
	if _, err := apptest.Command(t, []string{"CHATTRAY_ADDR=" + addr}, "healthcheck"); err == nil {
		t.Error("healthcheck succeeds after the service has stopped, want an error")
	}
}

// A service that is told to stop while it starts, such as during a long migration, has not
// failed.
func TestServeStopsWhileItStarts(t *testing.T) {
	silent, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		defer stop()
		if conn, err := silent.Accept(); err == nil {
			context.AfterFunc(t.Context(), func() { _ = conn.Close() })
			_, _ = conn.Read(make([]byte, 1)) // the start waits for an answer
		}
	}()
	environ := []string{"CHATTRAY_ADDR=127.0.0.1:0", "CHATTRAY_DATABASE_URL=postgres://u@" + silent.Addr().String() + "/c?sslmode=disable"}
	log := new(bytes.Buffer)
	if err := app.Run(ctx, app.Program{Environ: environ, Stdout: log}); err != nil || !strings.Contains(log.String(), "stopped before the service listened") {
		t.Errorf("serve ended with %v, want nil and a line about it in its log:\n%s", err, log)
	}
}

// A collector of traces that takes the spans and never answers is no failure of a stop.
func TestServeStopsWithoutItsCollector(t *testing.T) {
	release := make(chan struct{})
	collector := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer collector.Close()
	defer close(release)
	// The exporter reads these itself. It does not give up the spans before the stop, however late that is.
	for name, value := range map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": collector.URL, "OTEL_EXPORTER_OTLP_TIMEOUT": "3600000", "OTEL_BSP_EXPORT_TIMEOUT": "3600000"} {
		t.Setenv(name, value)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	environ := []string{
		"OTEL_EXPORTER_OTLP_ENDPOINT=" + collector.URL,
		"CHATTRAY_ADDR=127.0.0.1:0", "CHATTRAY_DATABASE_URL=sqlite:" + filepath.Join(t.TempDir(), "c.db"), "CHATTRAY_LOG_FORMAT=json",
	}
	out, in := io.Pipe()
	log := new(bytes.Buffer)
	ended := make(chan error, 1)
	go func() {
		ended <- app.Run(ctx, app.Program{Environ: environ, Stdout: io.MultiWriter(log, in)})
		in.Close()
	}()
	apptest.Get(t, "http://"+apptest.Listening(t, out)+"/api/me") // its span is what cannot be sent
	stop()
	if err := <-ended; err != nil || !strings.Contains(log.String(), "the last spans could not be sent") {
		t.Errorf("serve ended with %v, want nil and a line about the spans in its log:\n%s", err, log)
	}
}

func TestServeSaysThatTheAddressIsTaken(t *testing.T) {
	taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	environ := []string{"CHATTRAY_ADDR=" + taken.Addr().String(), "CHATTRAY_DATABASE_URL=sqlite:" + filepath.Join(t.TempDir(), "c.db")}
	if _, err := apptest.Command(t, environ); err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("error is %v", err)
	}
}

func TestImportSaysWhatItHasImported(t *testing.T) {
	lines := filepath.Join(t.TempDir(), "lines.jsonl")
	if err := os.WriteFile(lines, []byte(`{"kind":"stream","stream_id":1,"name":"n"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := apptest.Command(t, []string{"CHATTRAY_DATABASE_URL=sqlite:" + filepath.Join(t.TempDir(), "c.db")}, "import", lines)
	if want := "imported 1 stream, 0 reports, 0 articles\n"; err != nil || !strings.HasSuffix(got, want) {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}
