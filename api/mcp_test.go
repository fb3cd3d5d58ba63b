package api_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
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

// A call with progress whose token expires after its first step has its result. The next
// request is refused.
func TestMCPCallOutlivesItsToken(t *testing.T) {
	_, ts := newTestEnv(t, func(_ *testEnv, o *api.Options) {
		o.Auth = &lastCall{}
		o.MCP = func(schemas.User) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, "data: step\n\n")
				_ = http.NewResponseController(w).Flush()
				if r.Context().Err() == nil {
					_, _ = io.WriteString(w, "data: result\n\n")
				}
			})
		}
	})
	if got, _ := send(t, ts.URL, "POST", "/mcp", toolsList); got.status != http.StatusOK || string(got.body) != "data: step\n\ndata: result\n\n" {
		t.Errorf("got %d %q, want the step and the result", got.status, got.body)
	}
	if got, _ := send(t, ts.URL, "POST", "/mcp", toolsList); got.problem(t).Code != schemas.CodeUnauthorized {
		t.Errorf("the next request: got %d %s", got.status, got.body)
	}
}

// lastCall knows alice for one request, during which the token expires.
type lastCall struct{ made atomic.Bool }

func (l *lastCall) Authenticate(context.Context, string) (schemas.User, time.Time, error) {
	if l.made.Swap(true) {
		return schemas.User{}, time.Time{}, errors.New("the token has expired")
	}
	return alice, time.Now(), nil
}

// shortLived knows alice for a short time.
type shortLived struct{}

func (shortLived) Authenticate(context.Context, string) (schemas.User, time.Time, error) {
	return alice, time.Now().Add(50 * time.Millisecond), nil
}
