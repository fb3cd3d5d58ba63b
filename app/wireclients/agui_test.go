//go:build wireclients

package wireclients

import (
	"slices"
	"testing"

	"github.com/chattray/chattray/app/apptest"
)

// drivers are the drivers of the clients of the wire agui, by the names of the clients.
var drivers = map[string][]string{
	"HttpAgent 1.0.0":   {"agui.mjs", "1"},
	"HttpAgent 0.0.59":  {"agui.mjs", "0"},
	"CopilotKit":        {"agui.mjs", "copilotkit"},
	"CopilotKit single": {"agui.mjs", "single"},
	"its own runtime":   {"agui.mjs", "runtime"},
	"TanStack AI":       {"tanstack.mjs", "0"},
}

// aguiCases are cases only of these clients: one of two calls that wait is answered, which
// no client repeats without end.
var aguiCases = []uiCase{{
	name: "partial", turns: []apptest.Turn{{Text: "both", Calls: calls("order", "where")}, {Text: "done"}},
	want: []string{"user: partial", "assistant: both <order " + toolSays("book") + "> <where Basel> done"},
}}

func TestAGUI(t *testing.T) {
	for client, driver := range drivers {
		for _, c := range slices.Concat(uiCases, aguiCases, killCases) {
			t.Run(client+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				s := apptest.NewSystem(t, apptest.SQLite.Fresh(t))
				startFor(t, s, &c)
				var gate chan struct{}
				if c.gated {
					gate = make(chan struct{})
				}
				script(s, &c, gate)
				runClient(t, s, &c, driver[0], driver[1], gate)
			})
		}
	}
}
