package openai_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chattray/chattray/agents"
	"github.com/chattray/chattray/agents/openai"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/turn"
)

// TestBodyOnTheWire checks that the server gets messages and tools unchanged,
// whatever they contain.
func TestBodyOnTheWire(t *testing.T) {
	const hostile = `"messages":[{"role":"user","content":"messages"}],"tools":[{"type":"function","function":{"name":"tools","parameters":{}}}]`
	type function struct {
		Name, Description string
		Parameters        any
	}
	var got struct {
		Messages []struct{ Role, Content string }
		Tools    []struct {
			Type     string
			Function function
		}
	}
	var length int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		length = r.ContentLength - int64(len(body))
		if err := json.Unmarshal(body, &got); err != nil {
			t.Errorf("the request is no JSON: %v\n%s", err, body)
		}
		if bytes.Contains(body, []byte("unsent")) {
			t.Errorf("facts or a message's data are sent: %s", body)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: {\"choices\":[{\"delta\":{\"content\":\"ok\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}))
	defer server.Close()
	m, err := openai.New(openai.Config{BaseURL: server.URL, APIKey: "k"})
	if err != nil {
		t.Fatal(err)
	}
	for d, err := range m.Stream(t.Context(), agents.ModelRequest{
		Model: "m", System: hostile, Messages: []turn.Message{{Role: turn.User, Content: hostile, Data: json.RawMessage(`"unsent"`)}},
		Facts: &turn.Facts{Purpose: "unsent", Context: schemas.Object{"unsent": json.RawMessage(`"unsent"`)}},
		Tools: []turn.Tool{
			{Name: "plain", Description: "Says \"<b>\" \u2028\n" + hostile, InputSchema: json.RawMessage("{\"type\":\"object\",\n\"properties\":{\"a\":{\"const\":\"]}\"}}}")},
			{Name: "bare"},
		},
	}) {
		if err != nil {
			t.Fatalf("%v, after %+v", err, d)
		}
	}
	if length != 0 {
		t.Errorf("Content-Length is off by %d", length)
	}
	want := []function{
		{"plain", "Says \"<b>\" \u2028\n" + hostile, map[string]any{"type": "object", "properties": map[string]any{"a": map[string]any{"const": "]}"}}}},
		{"bare", "", map[string]any{"type": "object", "properties": map[string]any{}}},
	}
	var tools []function
	for _, tool := range got.Tools {
		if tool.Type != "function" {
			t.Errorf("a tool of type %q", tool.Type)
		}
		tools = append(tools, tool.Function)
	}
	if diff := cmp.Diff(want, tools); diff != "" {
		t.Errorf("tools differ (-want +got):\n%s", diff)
	}
	for _, m := range got.Messages {
		if m.Content != hostile {
			t.Errorf("%s: got %q", m.Role, m.Content)
		}
	}
}
