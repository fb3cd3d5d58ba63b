package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/tools"
)

// redirects answers each request with a redirect, and counts the requests.
type redirects struct {
	to   string
	sent int
}

func (r *redirects) RoundTrip(req *http.Request) (*http.Response, error) {
	r.sent++
	return &http.Response{StatusCode: http.StatusFound, Header: http.Header{"Location": {r.to}}, Body: http.NoBody, Request: req}, nil
}

// Headers may hold secrets: they are not sent to another host or in the clear. Redirects on the
// same host end, and the client may refuse them before.
func TestHTTPToolRedirects(t *testing.T) {
	refused := errors.New("refused")
	for _, tt := range []struct {
		name, to string
		check    func(*http.Request, []*http.Request) error
		sent     int
		failed   bool
	}{
		{"to another host", "https://other.example/", nil, 1, false},
		{"to another port", "https://shop.example:8443/", nil, 1, false},
		{"to a name below", "https://a.shop.example/", nil, 1, false},
		{"without TLS", "http://shop.example/", nil, 1, false},
		{"forever", "/again", nil, 6, true},
		{"refused by the client", "/again", func(*http.Request, []*http.Request) error { return refused }, 1, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server := &redirects{to: tt.to}
			tool, err := tools.NewHTTP(turn.HTTPTool{Name: "look", Description: "Looks.", URL: "https://shop.example/", Headers: map[string]string{"X-Key": "secret"}},
				&http.Client{Transport: server, CheckRedirect: tt.check})
			if err != nil {
				t.Fatal(err)
			}
			got, err := tool.Run(t.Context(), &tools.Call{Name: "look"})
			if server.sent != tt.sent || (err != nil) != tt.failed || !tt.failed && !strings.Contains(got.Text, "status 302") {
				t.Errorf("%d requests, %q, %v; want %d requests", server.sent, got.Text, err, tt.sent)
			}
		})
	}
}

// What a declared tool returns is text from outside, whatever its method.
func TestHTTPToolsAreUntrusted(t *testing.T) {
	for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"} {
		tool, err := tools.NewHTTP(turn.HTTPTool{Name: "look", Description: "Looks.", Method: method, URL: "https://shop.example/"}, nil)
		if effects := method != "GET" && method != "HEAD"; err != nil || !tool.Untrusted || tool.Effects != effects || tool.Addresses == nil {
			t.Errorf("%s: untrusted %t, effects %t, %v; want true, %t", method, tool.Untrusted, tool.Effects, err, effects)
		}
	}
}

// Two pages may set arguments of the same tool, on top of those that it has.
func TestArgumentsOfTwoPages(t *testing.T) {
	tool := tools.NewRaw("look", "Looks.", json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}}}`),
		func(_ context.Context, call *tools.Call) (tools.Result, error) {
			return tools.Text(string(call.Input)), nil
		})
	common, err := preset(t, tool, `{"a":1}`)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := preset(t, common, `{"b":2}`); err != nil {
		t.Fatal(err)
	}
	if got := string(common.Fill(json.RawMessage(`{}`))); got != `{"a":1}` {
		t.Errorf("another page gets the arguments %s, want its own alone", got)
	}
}
