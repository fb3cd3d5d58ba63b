package storetest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/store"
)

func seen(tool, hash string) record.MCPTool {
	return record.MCPTool{Tool: tool, Hash: hash, Definition: json.RawMessage(`{"of":"` + hash + `"}`)}
}

// pins returns the stored tools as words: tool=hash, or tool=hash<changed.
func pins(tools []record.MCPTool) string {
	words := make([]string, len(tools))
	for i, t := range tools {
		words[i] = t.Server + "/" + t.Tool + "=" + t.Hash
		if t.Changed != "" {
			words[i] += "<" + t.Changed
		}
		if string(t.Definition) != `{"of":"`+t.Hash+`"}` || (t.Changed != "") != (len(t.ChangedDefinition) > 0) {
			words[i] += " with definitions of others"
		}
	}
	return strings.Join(words, " ")
}

func testMCPTools(t *testing.T, url string) {
	s := open(t, url)
	see := func(server string, want string, tools ...record.MCPTool) {
		t.Helper()
		got, err := s.SeeMCPTools(t.Context(), server, tools)
		must(t, err)
		equal(t, "tools of "+server, pins(got), want)
	}
	see("a", "")
	see("a", "a/x=1 a/y=1", seen("x", "1"), seen("y", "1"))
	see("b", "b/x=7", seen("x", "7"))
	see("a", "a/x=1 a/y=1<2", seen("y", "2"))
	see("a", "a/x=1<3 a/y=1<4 a/z=1", seen("x", "3"), seen("y", "4"), seen("z", "1"))
	see("a", "a/x=1 a/y=1<4 a/z=1", seen("x", "1"))

	_, err := s.AcceptMCPTools(t.Context(), "a", "x", "")
	fails(t, "accept what has not changed", err, schemas.ErrNotFound)
	_, err = s.AcceptMCPTools(t.Context(), "c", "", "")
	fails(t, "accept of a server that is not known", err, schemas.ErrNotFound)
	_, err = s.AcceptMCPTools(t.Context(), "a", "y", "3")
	fails(t, "accept of what the operator has not seen", err, schemas.ErrNotFound)
	accepted, err := s.AcceptMCPTools(t.Context(), "a", "y", "4")
	must(t, err)
	equal(t, "accepted", pins(accepted), "a/y=4")
	see("a", "a/x=1<9 a/y=4 a/z=1<2", seen("x", "9"), seen("z", "2"))
	accepted, err = s.AcceptMCPTools(t.Context(), "a", "", "")
	must(t, err)
	equal(t, "all accepted", pins(accepted), "a/x=9 a/z=2")

	all, err := s.MCPTools(t.Context())
	must(t, err)
	equal(t, "all", pins(all), "a/x=9 a/y=4 a/z=2 b/x=7")
}

func testMCPToolsBounded(t *testing.T, url string) {
	s := open(t, url)
	many := make([]record.MCPTool, store.MaxMCPTools+5)
	for i := range many {
		many[i] = seen(fmt.Sprintf("t%04d", i), "1")
	}
	got, err := s.SeeMCPTools(t.Context(), "a", many)
	must(t, err)
	equal(t, "remembered", len(got), store.MaxMCPTools)
	got, err = s.SeeMCPTools(t.Context(), "a", many[:1])
	must(t, err)
	equal(t, "remembered then", len(got), store.MaxMCPTools)
}
