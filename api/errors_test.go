package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chattray/chattray/api"
	"github.com/chattray/chattray/api/auth"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

// TestErrorsOfServices shows what the client and the log see of an error: a
// client never sees the cause.
func TestErrorsOfServices(t *testing.T) {
	cause := errors.New("dial postgres://chat:hunter2@db: refused")
	busy := schemas.NewError(schemas.CodeBusy, "this chat works on another message")
	busy.RunID = aRun
	for _, tt := range []struct {
		name   string
		err    error
		status int
		code   schemas.Code
		detail string
		retry  string
		runID  string
		logged bool
	}{
		{"plain", cause, 500, schemas.CodeInternal, "something went wrong on our side; it has been logged", "", "", true},
		{"wrapped", fmt.Errorf("run: %w", schemas.ErrNotFound), 404, schemas.CodeNotFound, "there is nothing under this id", "", "", false},
		{"other words for not found", schemas.NewError(schemas.CodeNotFound, "chat 7 belongs to bob"), 404, schemas.CodeNotFound, "there is nothing under this id", "", "", false},
		{"caused", fmt.Errorf("x: %w", busy.Because(cause)), 409, schemas.CodeBusy, busy.Message, "", aRun, false},
		{"database away", fmt.Errorf("chats: %w: %w", record.ErrUnavailable, cause), 503, schemas.CodeStoreUnavailable, "the database is not available; try again soon", "5", "", true},
		{"database full", fmt.Errorf("chats: %w: %w: %w", record.ErrUnavailable, schemas.ErrNoRoom, cause), 503, schemas.CodeStoreUnavailable, "the disk of the database is full; try again when its operator has made room", "30", "", true},
		{"own hint, of a planned restart", &schemas.Error{Code: schemas.CodeShuttingDown, Message: "soon", RetryAfter: 9}, 503, schemas.CodeShuttingDown, "soon", "9", "", false},
		{"answer that continues elsewhere", schemas.NewError(schemas.CodeInterrupted, "it continues"), 503, schemas.CodeInterrupted, "it continues", "1", "", false},
		{"upstream", schemas.NewError(schemas.CodeRateLimited, "busy upstream").Because(cause), 502, schemas.CodeRateLimited, "busy upstream", "", "", true},
		{"unknown code", schemas.NewError("strange", "odd"), 500, "strange", "odd", "", "", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var log bytes.Buffer
			_, ts := newTestEnv(t, func(w *testEnv, o *api.Options) {
				w.fails = tt.err
				o.Log = slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelError}))
			})
			got, _ := send(t, ts.URL, "GET", "/api/chat/runs/"+aRun, "")
			ts.Close()
			p := got.problem(t)
			want := schemas.Problem{Type: "about:blank", Title: http.StatusText(tt.status), Status: tt.status, Detail: tt.detail, Code: tt.code, RequestID: "test-1", RunID: tt.runID}
			if diff := cmp.Diff(want, p); diff != "" {
				t.Errorf("the problem differs (-want +got):\n%s", diff)
			}
			if got.header.Get("Retry-After") != tt.retry {
				t.Errorf("Retry-After is %q, want %q", got.header.Get("Retry-After"), tt.retry)
			}
			if logged := log.Len() > 0; logged != tt.logged {
				t.Errorf("logged %v, want %v: %s", logged, tt.logged, log.String())
			}
		})
	}
}

// A request that fails is one line of the log, with its cause.
func TestFailureIsOneLine(t *testing.T) {
	var log bytes.Buffer
	_, ts := newTestEnv(t, func(w *testEnv, o *api.Options) {
		w.fails = fmt.Errorf("chats: %w: the cable is out", record.ErrUnavailable)
		o.Log = slog.New(slog.NewJSONHandler(&log, nil))
	})
	send(t, ts.URL, "GET", "/api/chat/runs/"+aRun, "")
	ts.Close()
	var line struct {
		Level, Msg, Code, Error string
		Status                  int
	}
	if err := json.Unmarshal(log.Bytes(), &line); err != nil {
		t.Fatalf("%v, want one line of\n%s", err, log.String())
	}
	if line.Level != "ERROR" || line.Msg != "request" || line.Status != 503 || line.Code != "store_unavailable" || !strings.Contains(line.Error, "the cable is out") {
		t.Errorf("the line is %s", log.String())
	}
}

// While tokens cannot be checked, anybody can send any number of them. They do not fill the
// log with errors.
func TestUncheckedTokensAreLoggedSeldom(t *testing.T) {
	var log bytes.Buffer
	_, ts := newTestEnv(t, func(w *testEnv, o *api.Options) {
		refuses(schemas.CodeAuthUnavailable)(w, o)
		o.Log = slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelError}))
	})
	for range 20 {
		send(t, ts.URL, "GET", "/api/me", "")
	}
	ts.Close()
	if lines := strings.Count(log.String(), "\n"); lines != 1 {
		t.Errorf("20 requests log %d errors, want 1:\n%s", lines, log.String())
	}
}

// TestPanic checks that a panic of a handler becomes a problem for the client
// and a line with the place in the log, also if the handler's work runs on
// another goroutine.
func TestPanic(t *testing.T) {
	for _, tt := range []struct{ name, method, path, body string }{
		{"on the handler's stack", "GET", "/api/chat/runs/" + aRun, ""},
		{"on a fresh stack", "POST", "/api/chat/stream", `{"message": "hi"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var log bytes.Buffer
			_, ts := newTestEnv(t, func(w *testEnv, o *api.Options) {
				o.Runs, o.Streams = panicking{fakeRuns{w}}, panickingStreams{fakeStreams{w}}
				o.Log = slog.New(slog.NewJSONHandler(&log, nil))
			})
			got, _ := send(t, ts.URL, tt.method, tt.path, tt.body)
			ts.Close()
			if p := got.problem(t); p.Status != 500 || p.Code != schemas.CodeInternal {
				t.Errorf("got %s", got.body)
			}
			for _, secret := range []string{"goroutine", "index out of range", ".go"} {
				if bytes.Contains(got.body, []byte(secret)) {
					t.Errorf("the client sees %q: %s", secret, got.body)
				}
			}
			if s := log.String(); !strings.Contains(s, "errors_test.go:") || strings.Contains(s, "goroutine") {
				t.Errorf("the log does not name the place, or has a stack: %s", s)
			}
		})
	}
}

type panicking struct{ fakeRuns }

func (panicking) Run(context.Context, schemas.User, string) (schemas.Run, error) {
	var none []schemas.Run
	return none[len(none)], nil
}

type panickingStreams struct{ fakeStreams }

func (panickingStreams) Start(context.Context, schemas.User, *schemas.ChatRequest, record.StartOptions) (schemas.Run, error) {
	var none []schemas.Run
	return none[len(none)], nil
}

func TestReady(t *testing.T) {
	w, ts := newTestEnv(t, nil)
	for _, tt := range []struct {
		name   string
		err    error
		status int
		code   schemas.Code
	}{
		{"database away", errors.New("no connection"), 503, schemas.CodeStoreUnavailable},
		{"stopping", schemas.NewError(schemas.CodeShuttingDown, "the service is about to stop"), 503, schemas.CodeShuttingDown},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w.ready = tt.err
			got, req := send(t, ts.URL, "GET", "/readyz", "", "Authorization", "-")
			w.CheckResponse(t, req, got.status, got.header, got.body)
			if p := got.problem(t); p.Status != tt.status || p.Code != tt.code || got.header.Get("Retry-After") == "" {
				t.Errorf("got %d %s", p.Status, p.Code)
			}
		})
	}
}

// TestAccessLog checks that a line has the request's names and nothing of its
// content.
func TestAccessLog(t *testing.T) {
	var log bytes.Buffer
	_, ts := newTestEnv(t, func(_ *testEnv, o *api.Options) { o.Log = slog.New(slog.NewJSONHandler(&log, nil)) })
	send(t, ts.URL, "GET", "/healthz", "", "Authorization", "-")
	send(t, ts.URL, "PATCH", "/api/chats/789?q=whisper", `{"title":"whisper"}`)
	ts.Close()
	var line map[string]any
	if err := json.Unmarshal(log.Bytes(), &line); err != nil {
		t.Fatalf("not one line: %v in %s", err, log.String())
	}
	for key, want := range map[string]any{
		"level": "INFO", "msg": "request", "request_id": "test-1", "method": "PATCH", "path": "/api/chats/789",
		"route": "/api/chats/:conversation_id", "status": 200.0, "user": alice.ID,
	} {
		if line[key] != want {
			t.Errorf("%s is %v, want %v", key, line[key], want)
		}
	}
	if strings.Contains(log.String(), "whisper") || strings.Contains(log.String(), "Bearer") {
		t.Errorf("the log has content: %s", log.String())
	}
}

// TestAccessLogSaysWhyATokenIsRefused checks that the operator reads what the client does not,
// and nobody reads the token.
func TestAccessLogSaysWhyATokenIsRefused(t *testing.T) {
	const secret = "the secret of this test"
	now := time.Now()
	for name, tt := range map[string]struct{ secret, audience, want string }{
		"key":      {"another secret", "tray", "signature is invalid"},
		"audience": {secret, "other", `aud ["other"] does not have "tray"`},
		"long":     {secret, strings.Repeat("o", 5_000), `aud ["ooo`},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			_, ts := newTestEnv(t, func(_ *testEnv, o *api.Options) {
				o.Log, o.Auth = slog.New(slog.NewJSONHandler(&log, nil)), auth.NewHS256(secret, "tray")
			})
			token, err := auth.SignToken(tt.secret, tt.audience, alice, now, now.Add(time.Hour))
			if err != nil {
				t.Fatal(err)
			}
			got, _ := send(t, ts.URL, "GET", "/api/me", "", "Authorization", "Bearer "+token)
			ts.Close()
			if p := got.problem(t); p.Status != http.StatusUnauthorized || p.Detail != "the bearer token is not valid" {
				t.Errorf("the client reads %d %s", p.Status, p.Detail)
			}
			var line struct{ Refused string }
			if err := json.Unmarshal(log.Bytes(), &line); err != nil {
				t.Fatalf("not one line: %v in %s", err, log.String())
			}
			if !strings.Contains(line.Refused, tt.want) || len(line.Refused) > 300 {
				t.Errorf("the log says %q, want %q", line.Refused, tt.want)
			}
			if strings.Contains(log.String(), token[:20]) {
				t.Errorf("the log has the token: %s", log.String())
			}
		})
	}
}

// TestAccessLogIsBounded has clients without a token that send the longest headers: their log
// lines stay short.
func TestAccessLogIsBounded(t *testing.T) {
	const size, most = 30_000, 6_000 // a byte takes up to six in JSON
	for name, asked := range map[string][2]string{
		"path": {"GET", "/" + strings.Repeat("%01", size/3)}, "method": {strings.Repeat("A", size), "/healthz"},
		"characters": {"GET", "/api/chats/" + strings.Repeat("ü", size/6)},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			_, ts := newTestEnv(t, func(_ *testEnv, o *api.Options) { o.Log = slog.New(slog.NewJSONHandler(&log, nil)) })
			got, _ := send(t, ts.URL, asked[0], asked[1], "", "Authorization", "-")
			ts.Close()
			if log.Len() == 0 || log.Len() > most || strings.Contains(log.String(), "\ufffd") {
				t.Errorf("a request that is answered with %d logs %d bytes, want 1 to %d", got.status, log.Len(), most)
			}
		})
	}
}
