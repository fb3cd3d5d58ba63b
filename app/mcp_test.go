package app

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/chattray/chattray/app/settings"
	"github.com/chattray/chattray/schemas/record"
)

func TestServersThatAreOffHaveNoPages(t *testing.T) {
	for _, off := range []bool{true, false} {
		c := settings.Config{MCPServers: []settings.MCPServer{{Name: "remote", URL: "https://mcp.example/mcp", Pages: []string{"reports"}, Disabled: off}}}
		if pages := mcpPageTools(c); (len(pages) == 0) != off {
			t.Errorf("with off %t the pages are %v", off, pages)
		}
	}
}

func TestDefinitionsAreShownOnOneLine(t *testing.T) {
	var out strings.Builder
	tools := []record.MCPTool{{Server: "s", Tool: "t", Definition: json.RawMessage(`{"description":"a\nb\u001b","input_schema":{"type":"object"},"read_only":true,"additive":true,"idempotent":true,"closed_world":true}`)}}
	if err := writeAccepted(&out, tools); err != nil {
		t.Fatal(err)
	}
	if want := `accepted s t: "a\nb\x1b" with "{\"type\":\"object\"}", read-only, not destructive, idempotent, closed world` + "\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
	if got := definitionText(json.RawMessage("no JSON")); got != "?" {
		t.Errorf("what cannot be read is shown as %q", got)
	}
}

// The list says which tools need the user's approval, and why.
func TestMCPListSaysWhatAsks(t *testing.T) {
	for _, tt := range []struct{ settings, definition, want string }{
		{"{name: s, command: x}", `{}`, "asks (nobody says that it is harmless)"},
		{"{name: s, command: x}", `{"read_only":true}`, "asks (the hints of its server are not trusted)"},
		{"{name: s, command: x, trust_hints: true}", `{"read_only":true}`, "does not ask (read-only, says its server)"},
		{"{name: s, command: x, trust_hints: true}", `{"additive":true}`, "does not ask (not destructive, says its server)"},
		{"{name: s, command: x, trust_hints: true}", `{"idempotent":true}`, "asks (its server does not say that it is harmless)"},
		{"{name: s, command: x, trust_hints: true, confirm: true}", `{"read_only":true}`, "asks (confirm: true)"},
		{"{name: s, command: x, confirm: false}", `{}`, "does not ask (confirm: false)"},
		{"{name: s, command: x, trust_hints: true, confirm: [t]}", `{"read_only":true}`, "asks (confirm names it)"},
		{"{name: s, command: x, confirm: [other]}", `{}`, "does not ask (confirm does not name it)"},
		{"{name: other, command: x}", `{}`, "not in the settings"},
	} {
		c, _, err := settings.Load(nil, nil, tempFile(t, "chattray.yaml", "mcp_servers: ["+tt.settings+"]"))
		if err != nil {
			t.Fatal(err)
		}
		if got := asking(c, record.MCPTool{Server: "s", Tool: "t", Definition: json.RawMessage(tt.definition)}); got != tt.want {
			t.Errorf("%s with %s: %q, want %q", tt.settings, tt.definition, got, tt.want)
		}
	}
}
