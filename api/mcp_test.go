package api_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chattray/chattray/api"
	"github.com/chattray/chattray/schemas"
)

// fakeMCP answers every message with an empty list of tools.
type fakeMCP struct {
	w    *testEnv
	user schemas.User
}

func (f fakeMCP) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	f.w.call("mcp %s %d %s%s", f.user.Name, r.ContentLength, body, r.Header.Get("Authorization"))
	rw.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(rw, `{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}`)
}

const toolsList = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`

func TestMCPGetsTheUserAndNoToken(t *testing.T) {
	w, ts := newTestEnv(t, nil)
	if got, _ := send(t, ts.URL, "POST", "/mcp", " "+toolsList+"\n"); got.status != http.StatusOK {
		t.Fatalf("got %d %s", got.status, got.body)
	}
	if want := "mcp alice 46 " + toolsList; len(w.calls) != 1 || w.calls[0] != want {
		t.Errorf("the handler got %q, want %q", w.calls, want)
	}
}

func TestMCPRefuses(t *testing.T) {
	for _, tt := range []struct {
		name, body string
		header     []string
		change     func(*testEnv, *api.Options)
		want       schemas.Code
	}{
		{"a large body", `{"a":"` + strings.Repeat("x", 2000) + `"}`, nil, func(_ *testEnv, o *api.Options) { o.Limits.Body = 1000 }, schemas.CodeTooLarge},
		{"a page of another origin", toolsList, []string{"Origin", "https://evil.example"}, nil, schemas.CodeForbidden},
		{"no handler", toolsList, nil, func(_ *testEnv, o *api.Options) { o.MCP = nil }, schemas.CodeNotFound},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w, ts := newTestEnv(t, tt.change)
			got, _ := send(t, ts.URL, "POST", "/mcp", tt.body, tt.header...)
			if p := got.problem(t); p.Code != tt.want {
				t.Errorf("got %d %s, want %s", p.Status, p.Code, tt.want)
			}
			if len(w.calls) > 0 {
				t.Errorf("the handler got %q", w.calls)
			}
		})
	}
}

func TestMCPTakesPagesOfConfiguredOrigins(t *testing.T) {
	for _, origins := range [][]string{{"https://app.example"}, {"*"}} {
		_, ts := newTestEnv(t, func(_ *testEnv, o *api.Options) { o.CORSOrigins = origins })
		if got, _ := send(t, ts.URL, "POST", "/mcp", toolsList, "Origin", "https://app.example"); got.status != http.StatusOK {
			t.Errorf("with %v: got %d %s", origins, got.status, got.body)
		}
	}
}

func TestMCPIsLimited(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	_, ts := newTestEnv(t, func(_ *testEnv, o *api.Options) {
		o.Limits.StreamsPerUser, o.Limits.RequestsPerMinute = 1, 2
		o.MCP = func(schemas.User) http.Handler {
			return http.HandlerFunc(func(http.ResponseWriter, *http.Request) { close(entered); <-leave })
		}
	})
	done := make(chan struct{})
	go func() {
		defer close(done)
		send(t, ts.URL, "POST", "/mcp", toolsList)
	}()
	<-entered
	for _, want := range []schemas.Code{schemas.CodeTooManyStreams, schemas.CodeTooManyRequests} {
		got, _ := send(t, ts.URL, "POST", "/mcp", toolsList)
		if p := got.problem(t); p.Code != want {
			t.Errorf("got %d %s, want %s", p.Status, p.Code, want)
		}
	}
	close(leave)
	<-done
}

func TestMCPEndsWithTheToken(t *testing.T) {
	ended := make(chan error, 1)
	w, ts := newTestEnv(t, func(_ *testEnv, o *api.Options) {
		o.Auth = shortLived{}
		o.MCP = func(schemas.User) http.Handler {
			return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done(); ended <- r.Context().Err() })
		}
	})
	got, req := send(t, ts.URL, "POST", "/mcp", toolsList)
	w.CheckResponse(t, req, got.status, got.header, got.body)
	if p := got.problem(t); p.Code != schemas.CodeUnauthorized || !strings.HasPrefix(p.Detail, "the token has expired") {
		t.Errorf("got %d %s", got.status, got.body)
	}
	if err := <-ended; err != context.DeadlineExceeded { //nolint:errorlint // it is that one
		t.Errorf("the exchange ended with %v", err)
	}
}

// shortLived knows alice for a short time.
type shortLived struct{}

func (shortLived) Authenticate(context.Context, string) (schemas.User, time.Time, error) {
	return alice, time.Now().Add(50 * time.Millisecond), nil
}
