package mcp_test

import (
	"net/http"
	"strings"
	"testing"
)

// A list with a tool that cannot be read keeps the others, and of a tool everything that is
// used. A hint that cannot be read does not count, although the hints are trusted.
func TestToolsThatCannotBeRead(t *testing.T) {
	const schema = `"inputSchema":{"type":"object"}`
	remote := serveRemote(t, nil)
	remote.handler = &rawServer{
		tools: map[string]rawTool{"icons": writes(http.StatusOK, "application/json", rawResult("fine"))},
		list: strings.Join([]string{
			`{"name":"icons","description":"Does it.","icons":[{"src":"x","sizes":"any"}],"annotations":{"readOnlyHint":true},` + schema + `}`,
			`{"name":"hints","annotations":[],` + schema + `}`,
			`{"name":"hint","annotations":{"readOnlyHint":"true"},` + schema + `}`,
			`{"name":"meta","_meta":[],` + schema + `}`,
			`{"name":"empty","inputSchema":{"type":"object","properties":[]}}`,
			`{"name":"described","description":["x"],` + schema + `}`, `{"name":5,` + schema + `}`, `null`, `7`, `{"name":"schemaless"}`,
		}, ","),
	}
	server := remote.named("srv")
	server.TrustHints = true
	w := newTestEnv(t, nil, server)
	if got, want := w.names(), "srv__empty srv__hint srv__hints srv__icons srv__meta"; got != want {
		t.Fatalf("the tools are %s, want %s", got, want)
	}
	if got := w.text("srv__icons", ""); got != "fine" {
		t.Errorf("got %q", got)
	}
	for name := range strings.FieldsSeq(w.names()) {
		if got, want := w.tool(name).ReadOnly, name == "srv__icons"; got != want {
			t.Errorf("%s: read-only is %t, want %t", name, got, want)
		}
	}
	if got := w.tool("srv__icons").Description; got != "Does it." {
		t.Errorf("it is described as %q", got)
	}
}
