package server_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/tools"
	"github.com/chattray/chattray/tools/builtin"
	"github.com/chattray/chattray/tools/mcp/server"
)

func TestRefusalsAreJSONRPC(t *testing.T) {
	registry, _ := served(t)
	h := server.New(server.Options{Tools: registry}).For(schemas.User{ID: "u"})
	for _, tt := range []struct {
		name, body, version string
		status, code        int
		id                  string
	}{
		{"an unknown method", `{"jsonrpc":"2.0","id":7,"method":"nope"}`, "", 200, -32601, "7"},
		{"an unknown method, its id is text", `{"jsonrpc":"2.0","id":"a","method":"nope"}`, "2025-06-18", 200, -32601, `"a"`},
		{"an unknown method of the newest protocol", `{"jsonrpc":"2.0","id":7,"method":"nope"}`, "2026-07-28", 404, -32601, "7"},
		{"no id", `{"jsonrpc":"2.0","method":"tools/list"}`, "", 400, -32600, "null"},
		{"no version", `{"id":7,"method":"tools/list"}`, "", 400, -32600, "7"},
		{"another version", `{"jsonrpc":"1.0","id":7,"method":"tools/list"}`, "", 400, -32600, "7"},
		{"no method", `{"jsonrpc":"2.0","id":7}`, "", 400, -32600, "7"},
		{"a method that is no text", `{"jsonrpc":"2.0","id":7,"method":1}`, "", 400, -32600, "7"},
		{"an id that is none", `{"jsonrpc":"2.0","id":{},"method":"tools/list"}`, "", 400, -32600, "null"},
		{"an id with a fraction", `{"jsonrpc":"2.0","id":1.5,"method":"tools/list"}`, "", 400, -32600, "1.5"},
		{"an id above 53 bits", `{"jsonrpc":"2.0","id":9007199254740993,"method":"tools/list"}`, "", 400, -32600, "9007199254740993"},
		{"an id below 64 bits", `{"jsonrpc":"2.0","id":-9223372036854775809,"method":"tools/list"}`, "", 400, -32600, "-9223372036854775809"},
		{"an id beyond all numbers", `{"jsonrpc":"2.0","id":1e999,"method":"tools/list"}`, "", 400, -32600, "1e999"},
		{"the largest id", `{"jsonrpc":"2.0","id":9007199254740991,"method":"nope"}`, "", 200, -32601, "9007199254740991"},
		{"the id null", `{"jsonrpc":"2.0","id":null,"method":"tools/list"}`, "", 400, -32600, "null"},
		{"no parameters", `{"jsonrpc":"2.0","id":7,"method":"tools/call"}`, "", 400, -32600, "7"},
		{"an unknown version of the protocol", `{"jsonrpc":"2.0","id":7,"method":"tools/list"}`, "1999-01-01", 400, -32600, "7"},
		{"a batch", `[{"jsonrpc":"2.0","id":7,"method":"tools/list"}]`, "", 400, -32600, "null"},
		{"text", `"hello"`, "", 400, -32600, "null"},
		{"no JSON", `{"jsonrpc":`, "", 400, -32700, "null"},
		{"nothing", ` `, "", 400, -32700, "null"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/mcp", strings.NewReader(tt.body))
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Accept", "application/json, text/event-stream")
			if tt.version != "" {
				r.Header.Set("Mcp-Protocol-Version", tt.version)
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			var got struct {
				Version string          `json:"jsonrpc"`
				ID      json.RawMessage `json:"id"`
				Error   struct {
					Code    int    `json:"code"`
					Message string `json:"message"`
				} `json:"error"`
			}
			if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
				t.Fatalf("%d %q: %v", w.Code, w.Body, err)
			}
			if w.Code != tt.status || got.Error.Code != tt.code || string(got.ID) != tt.id || got.Version != "2.0" || got.Error.Message == "" ||
				w.Header().Get("Content-Type") != "application/json" {
				t.Errorf("got %d %s %s, want %d, %d, id %s", w.Code, w.Header().Get("Content-Type"), w.Body, tt.status, tt.code, tt.id)
			}
		})
	}
}

// TestNotificationsHaveNoAnswer sends notifications that the service has no use for. A
// notification gets no answer, not even an error.
func TestNotificationsHaveNoAnswer(t *testing.T) {
	registry, _ := served(t)
	h := server.New(server.Options{Tools: registry}).For(schemas.User{ID: "u"})
	for _, method := range []string{"notifications/initialized", "notifications/roots/list_changed", "notifications/vendor/custom", "nope"} {
		for _, version := range []string{"", "2025-06-18", "2026-07-28"} {
			for _, accept := range []string{"application/json, text/event-stream", "application/json"} {
				body := `{"jsonrpc":"2.0","method":"` + method + `"}`
				r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/mcp", strings.NewReader(body))
				r.Header.Set("Content-Type", "application/json")
				r.Header.Set("Accept", accept)
				if version != "" {
					r.Header.Set("Mcp-Protocol-Version", version)
				}
				r.Header.Set("Mcp-Method", method)
				w := httptest.NewRecorder()
				h.ServeHTTP(w, r)
				if w.Code != http.StatusAccepted || w.Body.Len() > 0 || w.Header().Get("Content-Type") != "" {
					t.Errorf("%s, version %q, %s: %d %q %q, want 202 and nothing", method, version, accept, w.Code, w.Header(), w.Body)
				}
			}
		}
	}
}

// TestHints checks the hints that hosts get of the built-in tools, and of a tool without
// hints.
func TestHints(t *testing.T) {
	list, err := builtin.Tools(builtin.Config{SearXNG: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	more, _ := served(t)
	registry, err := tools.NewRegistry(append(list, more.Offered(schemas.User{})...)...)
	if err != nil {
		t.Fatal(err)
	}
	session := visit(t, server.New(server.Options{Tools: registry}).For(schemas.User{ID: "u"}), "", nil)
	found, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	hints := map[string]*sdk.ToolAnnotations{}
	for _, tool := range found.Tools {
		hints[tool.Name] = tool.Annotations
	}
	for name, openWorld := range map[string]bool{"search_pubmed": true, "get_pubmed_article": true, "fetch_webpage": true, "web_search": true} {
		h := hints[name]
		if h == nil || !h.ReadOnlyHint || !h.IdempotentHint || h.OpenWorldHint == nil || *h.OpenWorldHint != openWorld {
			t.Errorf("%s has the hints %+v", name, h)
		}
	}
	if h := hints["echo"]; h == nil || h.ReadOnlyHint || h.DestructiveHint == nil || *h.DestructiveHint {
		t.Errorf("a tool without effects has the hints %+v", h)
	}
}
