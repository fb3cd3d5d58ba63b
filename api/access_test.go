package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chattray/chattray/api"
	"github.com/chattray/chattray/schemas"
)

func TestPrivateRoutesNeedAToken(t *testing.T) {
	w, ts := newTestEnv(t, nil)
	for _, tt := range []struct {
		name, header, challenge string
	}{
		{"no token", "-", "Bearer"},
		{"bad token", "Bearer mallory", `Bearer error="invalid_token"`},
		{"another scheme", "Basic YWxpY2U6", "Bearer"},
		{"no scheme", "alice", "Bearer"},
	} {
		for _, r := range api.Table() {
			t.Run(tt.name+" "+r.Method+r.Path, func(t *testing.T) {
				body := ""
				if r.Body {
					body = "no JSON"
				}
				path := examplePath(w, r.Path) + "?access_token=alice&token=alice"
				got, req := send(t, ts.URL, r.Method, path, body, "Authorization", tt.header)
				if r.Public {
					if got.status == http.StatusUnauthorized {
						t.Error("a public route requires a token, want none")
					}
					return
				}
				w.CheckResponse(t, req, got.status, got.header, got.body)
				p := got.problem(t)
				if p.Status != 401 || p.Code != schemas.CodeUnauthorized || got.header.Get("WWW-Authenticate") != tt.challenge {
					t.Errorf("got %d %s, challenge %q", p.Status, p.Code, got.header.Get("WWW-Authenticate"))
				}
			})
		}
	}
	if len(w.calls) > 0 {
		t.Errorf("services were asked: %v", w.calls)
	}
}

// A token counts only with its scheme, and only if it is the one that is sent.
func TestOneBearerToken(t *testing.T) {
	_, ts := newTestEnv(t, nil)
	for name, tt := range map[string]struct {
		headers []string
		want    int
	}{
		"one":            {[]string{"bearer alice"}, http.StatusOK},
		"another scheme": {[]string{"Token alice"}, http.StatusUnauthorized},
		"two":            {[]string{"Bearer alice", "Bearer bob"}, http.StatusUnauthorized},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, ts.URL+"/api/me", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.Header["Authorization"] = tt.headers
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if _ = res.Body.Close(); res.StatusCode != tt.want {
			t.Errorf("%s: got %d, want %d", name, res.StatusCode, tt.want)
		}
	}
}

// A ticket opens the stream of one run, and nothing that is no stream. It does not stand in for a
// token that is refused.
func TestTicketsOpenStreams(t *testing.T) {
	_, ts := newTestEnv(t, nil)
	got, _ := send(t, ts.URL, "POST", "/api/ws/ticket", "")
	var made schemas.Ticket
	if err := json.Unmarshal(got.body, &made); err != nil || made.Ticket == "" {
		t.Fatalf("got %s, %v, want a ticket", got.body, err)
	}
	stream := "/api/chat/runs/" + aRun + "/stream"
	for _, tt := range []struct {
		what, path, header string
		want               int
	}{
		{"a route that is no stream", "/api/me", "-", http.StatusUnauthorized},
		{"a refused token", stream, "Bearer mallory", http.StatusUnauthorized},
		{"the stream", stream, "-", http.StatusOK},
		{"the stream again", stream, "-", http.StatusOK},
		{"the stream with a password for a proxy", stream, "Basic YWxpY2U6", http.StatusOK},
		{"the stream of another run", "/api/chat/runs/other/stream", "-", http.StatusUnauthorized},
		{"a socket", "/api/ws", "-", http.StatusUnauthorized},
	} {
		if got, _ := send(t, ts.URL, "GET", tt.path+"?ticket="+made.Ticket, "", "Authorization", tt.header); got.status != tt.want {
			t.Errorf("%s: got %d %s, want %d", tt.what, got.status, got.body, tt.want)
		}
	}
}

func TestUnknownTokenErrorsAre401(t *testing.T) {
	_, ts := newTestEnv(t, func(_ *testEnv, o *api.Options) { o.Auth = brokenAuth{} })
	got, _ := send(t, ts.URL, "GET", "/api/me", "")
	if p := got.problem(t); p.Status != 401 || strings.Contains(string(got.body), "secret") {
		t.Errorf("got %s", got.body)
	}
}

type brokenAuth struct{}

func (brokenAuth) Authenticate(context.Context, string) (u schemas.User, never time.Time, err error) {
	return u, never, errors.New("the secret does not fit")
}

// TestForeignAndUnknownLookTheSame sends, to every route with an id, requests
// of bob with alice's ids, and of alice with unknown or invalid ids.
func TestForeignAndUnknownLookTheSame(t *testing.T) {
	w, ts := newTestEnv(t, nil)
	bodies := map[string]string{
		"PATCH": `{"title":"x"}`, "PUT": `{"name":"x"}`, "resolve": `{"outcome":"accepted"}`, "feedback": `{"rating":"up"}`,
		"tool_results": `{"tool_use_id":"toolu_1","output":"x"}`, anApproval: `{"approved":true}`,
		"blocks": `{"type":"md"}`, "apply": `{"document_id":"doc1"}`,
	}
	want := ""
	for _, r := range api.Table() {
		if !strings.Contains(r.Path, ":") || r.Wire || strings.HasPrefix(r.Path, "/api/admin/") { // a chat that is unknown to a wire is a new one
			continue
		}
		own := examplePath(w, r.Path)
		body := bodies[r.Method] + bodies[own[strings.LastIndexByte(own, '/')+1:]]
		if r.Method == http.MethodPatch && strings.HasPrefix(own, "/api/blocks/") {
			body = `{"content":"x"}`
		}
		paths := map[string][]string{"alice": strangeIDs(w, r.Path)}
		if !strings.HasPrefix(own, "/api/pages") && !strings.HasPrefix(own, "/api/streams") && !strings.HasPrefix(own, "/api/reports") {
			paths["bob"] = []string{own}
		}
		for user, all := range paths {
			for _, p := range all {
				t.Run(user+" "+r.Method+" "+p, func(t *testing.T) {
					got, _ := send(t, ts.URL, r.Method, p, body, "Authorization", "Bearer "+user)
					if want == "" {
						want = string(got.body)
					}
					if p := got.problem(t); p.Status != 404 || p.Code != schemas.CodeNotFound || string(got.body) != want {
						t.Errorf("got %d %s, want 404 %s", got.status, got.body, want)
					}
				})
			}
		}
	}
}

func TestForeignChatsAreNotFound(t *testing.T) {
	_, ts := newTestEnv(t, nil)
	for _, route := range []string{"/api/chat/stream", "/api/chat"} {
		for user, body := range map[string]string{
			"alice": `{"message":"hi","conversation_id":424242}`, "bob": `{"message":"hi","conversation_id":789}`,
		} {
			got, _ := send(t, ts.URL, "POST", route, body, "Authorization", "Bearer "+user)
			if p := got.problem(t); p.Status != 404 || p.Detail != schemas.ErrNotFound.Message {
				t.Errorf("%s to %s gives %s", body, route, got.body)
			}
		}
	}
}

func TestTooManyRequests(t *testing.T) {
	w, ts := newTestEnv(t, func(_ *testEnv, o *api.Options) { o.Limits.RequestsPerMinute = 1 })
	send(t, ts.URL, "POST", "/api/chat", `{"message":"hi"}`)
	got, req := send(t, ts.URL, "POST", "/api/chat", `{"message":"hi"}`)
	w.CheckResponse(t, req, got.status, got.header, got.body)
	if p := got.problem(t); p.Status != 429 || p.Code != schemas.CodeTooManyRequests || got.header.Get("Retry-After") != "60" {
		t.Errorf("got %d %s, Retry-After %q", p.Status, p.Code, got.header.Get("Retry-After"))
	}
}

// One endpoint of CopilotKit takes all methods. Only those that start runs count as such: a
// user who asks too much can still stop.
func TestStopAfterTooManyRequests(t *testing.T) {
	w, ts := newTestEnv(t, func(_ *testEnv, o *api.Options) { o.Limits.RequestsPerMinute = 1 })
	single := func(method, rest string, want int) {
		t.Helper()
		got, req := send(t, ts.URL, "POST", "/api/copilotkit", `{"method":"`+method+`","params":{"agentId":"lab","threadId":"t"}`+rest+`}`)
		if w.CheckResponse(t, req, got.status, got.header, got.body); got.status != want {
			t.Errorf("%s gives %d %s, want %d", method, got.status, got.body, want)
		}
	}
	const empty = `,"body":{"threadId":"t","runId":"r","messages":[],"tools":[],"context":[],"state":{}}`
	single("agent/stop", "", 200)
	single("info", "", 200)
	single("agent/run", empty, 422) // it has no question, and counts
	single("agent/run", empty, 429)
	single("agent/stop", "", 200)
}

// strangeIDs returns a route's paths with one id replaced by an unknown or an
// invalid one.
func strangeIDs(w *testEnv, route string) []string {
	var paths []string
	for i, part := range strings.Split(route, "/") {
		if !strings.HasPrefix(part, ":") {
			continue
		}
		strange := []string{"424242", "no-such-id", "%00", "%ff", "a%20b", strings.Repeat("a", 65)}
		if strings.HasSuffix(part, "_id") && part != ":run_id" && part != ":payload_id" && part != ":message_id" {
			strange = append(strange, "0", "-1", "+789", "0789", "789.0", "9223372036854775808")
		}
		for _, s := range strange {
			own := strings.Split(examplePath(w, route), "/")
			own[i] = s
			paths = append(paths, strings.Join(own, "/"))
		}
	}
	return paths
}
