package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chattray/chattray/api"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/runlog"
)

// wireRows has every route of every wire, and requests that no route answers: each path
// with the methods that it does not allow, and unknown paths beside and below it.
func wireRows() (routes, wrong, unknown []api.Row) {
	methods := map[string][]string{}
	for _, r := range api.Table() {
		if r.Wire {
			routes = append(routes, r)
			methods[r.Path] = append(methods[r.Path], r.Method)
			if r.Method == http.MethodGet && !r.Stream {
				methods[r.Path] = append(methods[r.Path], http.MethodHead)
			}
		}
	}
	for _, path := range slices.Sorted(maps.Keys(methods)) {
		for _, m := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
			if !slices.Contains(methods[path], m) {
				wrong = append(wrong, api.Row{Method: m, Path: path})
			}
		}
		if strings.HasSuffix(path, "/:thread") || strings.HasPrefix(path, "/v1/models") {
			continue // the last parameter may have slashes
		}
		for _, m := range []string{"GET", "POST", "DELETE"} {
			unknown = append(unknown, api.Row{Method: m, Path: path + "/no/such/path"})
		}
	}
	for _, path := range []string{"/v1", "/v1/", "/v1/embeddings", "/v1/audio/speech", "/v1/conversations", "/api/copilotkit/agent", "/api/copilotkit/memories"} {
		unknown = append(unknown, api.Row{Method: "POST", Path: path})
	}
	return routes, wrong, unknown
}

// kinds are the types of OpenAI's errors by status.
var kinds = map[int]string{401: "authentication_error", 403: "permission_error", 429: "rate_limit_error", 500: "server_error", 503: "server_error"}

// checkForm checks that an error has the form that the clients of the path's wire read.
func checkForm(t *testing.T, path string, got answer, status int, code schemas.Code) {
	t.Helper()
	kind := got.header.Get("Content-Type")
	var v struct {
		Error           map[string]any
		Status          int
		Detail, Message string
		Code            schemas.Code
		RequestID       string `json:"request_id"`
	}
	isJSON := json.Unmarshal(got.body, &v) == nil
	ok := got.status == status
	switch {
	case strings.HasPrefix(path, "/v1"):
		want := kinds[status]
		if want == "" {
			want = "invalid_request_error"
		}
		_, pointed := v.Error["param"]
		ok = ok && kind == "application/json" && isJSON && len(v.Error) == 4 && pointed &&
			v.Error["message"] != "" && v.Error["type"] == want && v.Error["code"] == string(code)
		again := status == 429 || status >= 500
		ok = ok && (got.header.Get("X-Should-Retry") == "") == again
	case strings.HasPrefix(path, "/api/ui"):
		ok = ok && kind == "text/plain; charset=utf-8" && len(got.body) > 1 && got.header.Get("X-Error-Code") == string(code)
	default:
		ok = ok && kind == "application/problem+json" && isJSON && v.Status == status && v.Code == code && v.Detail != "" && strings.HasPrefix(v.Message, v.Detail) && v.RequestID == "test-1"
	}
	if !ok {
		t.Errorf("%s: got %d %v %.200s, want %d %s in the form of the wire", path, got.status, got.header, got.body, status, code)
	}
}

// TestErrorsOfWires checks that whatever refuses a request of a wire, the error has the
// form that the wire's clients read.
func TestErrorsOfWires(t *testing.T) {
	routes, wrong, unknown := wireRows()
	bodies := slices.DeleteFunc(slices.Clone(routes), func(r api.Row) bool { return !r.Body })
	plain := slices.DeleteFunc(slices.Clone(bodies), func(r api.Row) bool { return r.Files })
	files := slices.DeleteFunc(slices.Clone(bodies), func(r api.Row) bool { return !r.Files })
	large, middle := strings.Repeat("x", 9<<20), strings.Repeat("x", 2<<20)
	for _, tt := range []struct {
		name   string
		rows   []api.Row
		change func(*testEnv, *api.Options)
		body   string
		header []string
		status int
		code   schemas.Code
		has    string // a header
	}{
		{name: "no token", rows: routes, header: []string{"Authorization", "-"}, status: 401, code: schemas.CodeUnauthorized, has: "WWW-Authenticate"},
		{name: "bad token", rows: routes, header: []string{"Authorization", "Bearer x"}, status: 401, code: schemas.CodeUnauthorized, has: "WWW-Authenticate"},
		{name: "no access", rows: routes, change: refuses(schemas.CodeForbidden), status: 403, code: schemas.CodeForbidden},
		{name: "no check of tokens", rows: routes, change: refuses(schemas.CodeAuthUnavailable), status: 503, code: schemas.CodeAuthUnavailable, has: "Retry-After"},
		{name: "panic", rows: routes, change: func(_ *testEnv, o *api.Options) { o.Auth = panics{} }, status: 500, code: schemas.CodeInternal},
		{name: "page of another origin", rows: bodies, header: []string{"Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"}, status: 403, code: schemas.CodeForbidden},
		{name: "another name", rows: routes, change: func(_ *testEnv, o *api.Options) { o.LocalHosts = []string{"chat.test"} }, header: []string{"Host", "evil.test"}, status: 421, code: schemas.CodeMisdirected},
		{name: "rate", rows: routes, change: exhausted, status: 429, code: schemas.CodeTooManyRequests, has: "Retry-After"},
		{name: "large body", rows: bodies, body: large, status: 413, code: schemas.CodeTooLarge},
		{name: "large body without files", rows: plain, body: middle, status: 413, code: schemas.CodeTooLarge},
		{name: "body with files", rows: files, body: middle, status: 400, code: schemas.CodeBadRequest},
		{name: "media type", rows: bodies, body: "hi", header: []string{"Content-Type", "text/plain"}, status: 415, code: schemas.CodeUnsupportedMedia},
		{name: "no JSON", rows: bodies, body: "{", status: 400, code: schemas.CodeBadRequest},
		{name: "method", rows: wrong, status: 405, code: schemas.CodeMethodNotAllowed, has: "Allow"},
		{name: "path", rows: unknown, status: 404, code: schemas.CodeNotFound},
		{name: "path without a token", rows: unknown, header: []string{"Authorization", "-"}, status: 404, code: schemas.CodeNotFound},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, r := range tt.rows {
				w, ts := newTestEnv(t, tt.change)
				path := examplePath(w, r.Path)
				if tt.name == "rate" {
					direct(t, ts, r.Method, path, "")
				}
				got := direct(t, ts, r.Method, path, tt.body, tt.header...)
				checkForm(t, r.Path, got, tt.status, tt.code)
				if tt.has != "" && got.header.Get(tt.has) == "" {
					t.Errorf("%s %s has no header %s", r.Method, r.Path, tt.has)
				}
				if len(w.calls) > 0 && tt.name != "rate" {
					t.Errorf("services were called: %v", w.calls)
				}
				ts.Close()
			}
			if len(tt.rows) < 2 {
				t.Errorf("only %d requests were made", len(tt.rows))
			}
		})
	}
}

// The refusal of a parameter names the one that was sent.
func TestUnsupportedParameters(t *testing.T) {
	_, ts := newTestEnv(t, nil)
	for param, member := range map[string]string{
		"/audio": `"audio":{"voice":"alloy"}`, "/modalities": `"modalities":["text","audio"],"audio":{"voice":"alloy"}`,
		"/functions": `"functions":[{"name":"f"}],"function_call":"auto"`, "/function_call": `"function_call":"auto"`,
	} {
		got, _ := send(t, ts.URL, "POST", "/v1/chat/completions", `{"model":"chattray",`+member+`,"messages":[{"role":"user","content":"hi"}]}`)
		if got.status != 400 || !strings.Contains(string(got.body), `"param":"`+param+`"`) {
			t.Errorf("%s is answered with %d %s, want 400 with the param %s", member, got.status, got.body, param)
		}
	}
}

// exhausted allows one request.
func exhausted(_ *testEnv, o *api.Options) {
	o.Limits.OthersPerMinute, o.Limits.RequestsPerMinute = 1, 1
}

func refuses(code schemas.Code) func(*testEnv, *api.Options) {
	return func(_ *testEnv, o *api.Options) { o.Auth = refusal{schemas.NewError(code, "no")} }
}

type refusal struct{ err error }

func (r refusal) Authenticate(context.Context, string) (schemas.User, time.Time, error) {
	return schemas.User{}, time.Time{}, r.err
}

type panics struct{}

func (panics) Authenticate(context.Context, string) (schemas.User, time.Time, error) { panic("broken") }

// direct sends one request to the handler, without a connection.
func direct(t *testing.T, ts *httptest.Server, method, path, body string, header ...string) answer {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), method, ts.URL+path, strings.NewReader(body))
	req.Header.Set("Authorization", "Bearer alice")
	req.Header.Set("X-Request-Id", "test-1")
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
		if header[i+1] == "-" {
			req.Header.Del(header[i])
		}
		if header[i] == "Host" {
			req.Host = header[i+1]
		}
	}
	rec := httptest.NewRecorder()
	ts.Config.Handler.ServeHTTP(rec, req)
	return answer{rec.Code, rec.Header(), rec.Body.Bytes()}
}

// breaking panics after the first events of a run.
type breaking struct{ fakeStreams }

func (b breaking) Follow(ctx context.Context, user schemas.User, id string, after int64, idle time.Duration) (iter.Seq2[[]runlog.Event, error], error) {
	events, err := b.fakeStreams.Follow(ctx, user, id, after, idle)
	return func(yield func([]runlog.Event, error) bool) {
		for batch, err := range events {
			if !yield(batch[:1], err) {
				return
			}
			panic("broken")
		}
	}, err
}

// TestAnswersThatBreakAreCut has a handler that panics in the middle of an answer: the
// client must not take the end for success.
func TestAnswersThatBreakAreCut(t *testing.T) {
	_, ts := newTestEnv(t, func(w *testEnv, o *api.Options) {
		o.Streams, o.Chats = breaking{fakeStreams{w}}, newChats{fakeChats{w}}
	})
	for path, body := range questions {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, ts.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer alice")
		req.Header.Set("Content-Type", "application/json")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if res.StatusCode != http.StatusOK || len(got) == 0 || !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s gives %d %s and ends with %v, want a cut answer", path, res.StatusCode, got, err)
		}
	}
}
