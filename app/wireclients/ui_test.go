//go:build wireclients

package wireclients

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chattray/chattray/agents/modeltest/upstream"
	"github.com/chattray/chattray/app/apptest"
)

const clients = "../../api/wires/clients"

// uiCase is a case of ui.mjs: the model's replies, the actions at the points where the
// client waits, and what both the client and the chat show at the end.
type uiCase struct {
	name  string
	turns []apptest.Turn
	gated bool
	at    func(t *testing.T, s *apptest.System, gate chan struct{}, point string)
	want  []string
	run   string // of another user, whose id the client knows
	again bool   // the client may show the beginning of the long answer a second time
}

// openGate lets the model continue.
func openGate(_ *testing.T, _ *apptest.System, gate chan struct{}, _ string) { close(gate) }

func calls(tools ...string) (list []apptest.ToolCall) {
	for _, tool := range tools {
		list = append(list, apptest.ToolCall{Tool: tool, Key: "k"})
	}
	return list
}

// toolSays is the result of the test page's scripted tools.
func toolSays(path string) string { return `{"done":"` + path + ` of k","found":{"key":"k"}}` }

const long = "one two three four five"

var uiCases = []uiCase{
	{name: "text", turns: []apptest.Turn{{Text: "all is well"}}, want: []string{"user: text", "assistant: all is well"}},
	{
		name: "tool", turns: []apptest.Turn{{Text: "look", Calls: calls("look")}, {Text: "done"}},
		want: []string{"user: tool", "assistant: look <look " + toolSays("look") + "> done"},
	},
	{
		name: "client", turns: []apptest.Turn{{Text: "where", Calls: calls("where")}, {Text: "done"}},
		want: []string{"user: client", "assistant: where <where Basel> done"},
	},
	{
		name: "approve", turns: []apptest.Turn{{Text: "order", Calls: calls("order")}, {Text: "done"}},
		want: []string{"user: approve", "assistant: order <order " + toolSays("book") + "> done"},
	},
	{
		name: "deny", turns: []apptest.Turn{{Text: "order", Calls: calls("order")}, {Text: "done"}},
		want: []string{"user: deny", "assistant: order <order failed> done"},
	},
	{
		name: "two", turns: []apptest.Turn{{Text: "both", Calls: calls("order", "where")}, {Text: "done"}},
		want: []string{"user: two", "assistant: both <order " + toolSays("book") + "> <where Basel> done"},
	},
	{name: "reload", turns: []apptest.Turn{{Text: long}}, gated: true, at: openGate, want: []string{"user: reload", "assistant: " + long}},
	{
		name: "reloadTool", turns: []apptest.Turn{{Text: "where", Calls: calls("where")}, {Text: long}}, gated: true, at: openGate,
		want: []string{"user: reloadTool", "assistant: where <where Basel> " + long},
	},
	{name: "cut", turns: []apptest.Turn{{Text: long}}, gated: true, at: openGate, want: []string{"user: cut", "assistant: " + long}},
	{
		name: "kill", turns: []apptest.Turn{{Text: long}}, gated: true, at: killOnce,
		want: []string{"user: kill", "assistant: " + long},
	},
	{
		name: "stop", turns: []apptest.Turn{{Text: long}}, gated: true, at: modelIsGone,
		want: []string{"user: stop", "assistant: one two three"},
	},
	{name: "error", want: []string{"user: error"}},
	{
		name: "turns",
		want: []string{"user: first", "assistant: answer", "user: third", "assistant: answer", "user: fourth", "assistant: answer"},
	},
	{name: "bad"},
	{name: "foreign"},
}

// sdkCases are cases only of these clients: two pages answer the same call, and both show
// what the first has answered; a page sends the output of its tool with the next message.
var sdkCases = []uiCase{
	{
		name: "tabs", turns: []apptest.Turn{{Text: "where", Calls: calls("where")}, {Text: "done"}},
		want: []string{"user: tabs", "assistant: where <where Basel> done"},
	},
	{
		name: "later", turns: []apptest.Turn{{Text: "where", Calls: calls("where")}, {Text: "done"}},
		want: []string{"user: later", "assistant: where <where Basel> done", "user: next", "assistant: fine"},
	},
}

func TestAISDK(t *testing.T) {
	for _, version := range []string{"5", "6", "7"} {
		for _, c := range slices.Concat(uiCases, sdkCases, killCases) {
			t.Run("ai "+version+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				s := apptest.NewSystem(t, apptest.SQLite.Fresh(t))
				startFor(t, s, &c)
				var gate chan struct{}
				if c.gated {
					gate = make(chan struct{})
				}
				script(s, &c, gate)
				runClient(t, s, &c, "ui.mjs", version, gate)
			})
		}
	}
}

// script returns the model's replies to the case's question.
func script(s *apptest.System, c *uiCase, gate chan struct{}) {
	if scriptKill(s, c.name, gate) {
		return
	}
	switch c.name {
	case "error":
		s.Model.On(upstream.Any, upstream.Status(401, `{"error":{"message":"no"}}`))
	case "turns":
		for _, question := range []string{"first", "second", "second", "third", "fourth"} {
			s.Model.On(func(r upstream.Request) bool { return strings.Contains(string(r.Last("user").Content), question) }, upstream.Text("answer"))
		}
	case "later":
		s.Script("next", []apptest.Turn{{Text: "fine"}}, nil)
		fallthrough
	default:
		s.Script(c.name, c.turns, gate)
	}
}

// runClient runs the client, and compares what it shows and what the chat has with what
// the case wants.
func runClient(t *testing.T, s *apptest.System, c *uiCase, driver, client string, gate chan struct{}) {
	t.Helper()
	shown, stored := hostOf(t, driver).run(t, client, s.URL(t), c.name, c.run, func(point string) {
		if c.at != nil {
			c.at(t, s, gate, point)
		}
	})
	if c.run != "" && s.Model.Calls() > 1 {
		t.Error("the model was asked again, want that the run of the other user still waits")
	}
	for _, key := range []string{"k", "l"} {
		// Only "look" may be repeated: a kill may lose that it has ended.
		if n := len(s.ToolCalls(key)); n > 1 && c.name != "killTool" {
			t.Errorf("the tool ran %d times for %s, want once", n, key)
		}
	}
	if strings.HasSuffix(strings.ToLower(c.name), "error") { // the chat keeps an answer without text, the client none or one without
		shown, stored = shown[:1], stored[:1]
	}
	if c.again {
		for i := range shown {
			shown[i] = begunTwice.ReplaceAllString(shown[i], long)
		}
	}
	if diff := cmp.Diff(c.want, trimmed(shown)); diff != "" {
		t.Errorf("the client shows (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(c.want, trimmed(stored)); diff != "" {
		t.Errorf("the chat has (-want +got):\n%s", diff)
	}
}

// begunTwice is the long answer after its beginning.
var begunTwice = regexp.MustCompile("one (?:two )?(?:three )?" + long)

func trimmed(list []string) (out []string) {
	for _, s := range list {
		out = append(out, strings.TrimSpace(s))
	}
	return out
}
