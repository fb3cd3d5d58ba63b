// Package toolstest helps to test tools.
package toolstest

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/tools"
)

// Call runs a tool as the loop does: arguments checked first.
func Call(t testing.TB, list []turn.Tool, name, input string, c tools.Call) (tools.Result, error) {
	t.Helper()
	for _, tool := range list {
		if tool.Name != name {
			continue
		}
		c.Name, c.Input = name, json.RawMessage(input)
		if err := tool.Check(c.Input); err != nil {
			return tools.Result{}, err
		}
		return tool.Run(t.Context(), &c)
	}
	t.Fatalf("there is no tool %s in the list", name)
	return tools.Result{}, nil
}

// Contains compares a text with what it must have.
func Contains(t testing.TB, text string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(text, want) {
			t.Errorf("got:\n%s\nwant %q in it", text, want)
		}
	}
}

// Names returns the names of tools in order.
func Names(list []turn.Tool) []string {
	var out []string
	for _, t := range list {
		out = append(out, t.Name)
	}
	return out
}
