//go:build wireclients

package wireclients

import (
	"strings"

	"github.com/chattray/chattray/agents/modeltest/upstream"
	"github.com/chattray/chattray/app/apptest"
)

// killCases are the cases in which the program is killed while an answer is written, or
// while a call waits. The client comes back in its own way.
var killCases = []uiCase{
	{
		name: "killTool", turns: []apptest.Turn{{Text: "look", Calls: calls("look")}, {Text: long}}, gated: true, at: killOnce,
		want: []string{"user: killTool", "assistant: look <look " + toolSays("look") + "> " + long},
	},
	{
		name: "killClient", turns: []apptest.Turn{{Text: "where", Calls: calls("where")}, {Text: long}}, gated: true, at: killOnce,
		want: []string{"user: killClient", "assistant: where <where Basel> " + long},
	},
	{
		name: "killApprove", turns: []apptest.Turn{{Text: "order", Calls: calls("order")}, {Text: long}}, gated: true, at: killOnce,
		want: []string{"user: killApprove", "assistant: order <order " + toolSays("book") + "> " + long},
	},
	{
		name: "killDeny", turns: []apptest.Turn{{Text: "order", Calls: calls("order")}, {Text: long}}, gated: true, at: killOnce,
		want: []string{"user: killDeny", "assistant: order <order failed> " + long},
	},
	{
		name: "killTwo", turns: []apptest.Turn{{Text: "both", Calls: calls("order", "where")}, {Text: long}}, gated: true, at: killOnce,
		want: []string{"user: killTwo", "assistant: both <order " + toolSays("book") + "> <where Basel> " + long},
	},
	{
		name: "killWaiting", turns: []apptest.Turn{{Text: "order", Calls: calls("order")}, {Text: "done"}}, at: killOnce,
		want: []string{"user: killWaiting", "assistant: order <order " + toolSays("book") + "> done"},
	},
	{
		name: "killBoth", turns: bothTurns, at: killOnce,
		want: []string{"user: killBoth", "assistant: both <order " + toolSays("book") + "> <order " + strings.ReplaceAll(toolSays("book"), "k\"", "l\"") + "> <where Basel> done"},
	},
	{name: "killStop", turns: []apptest.Turn{{Text: long}}, gated: true, at: killOnce, want: []string{"user: killStop", "assistant: one two three"}},
	{name: "killError", gated: true, at: killOnce, want: []string{"user: killError"}},
	{name: "killEdit", gated: true, at: killOnce, want: []string{"user: killEdit", "assistant: " + long}},
	{name: "killRegenerate", gated: true, at: killOnce, want: []string{"user: killRegenerate", "assistant: " + long}},
	{name: "killFile", gated: true, at: killOnce, want: []string{"user: killFile", "assistant: " + long}},
}

// bothTurns are the replies to killBoth: the program is killed while two approvals and a
// tool of the page wait.
var bothTurns = []apptest.Turn{{Text: "both", Calls: append(calls("order"), apptest.ToolCall{Tool: "order", Key: "l"}, apptest.ToolCall{Tool: "where", Key: "k"})}, {Text: "done"}}

// scriptKill returns the model's replies to a case that needs its own.
func scriptKill(s *apptest.System, name string, gate chan struct{}) bool {
	asked := func(r upstream.Request) bool { return strings.HasPrefix(r.Last("user").Text(), name) }
	switch name {
	case "killError":
		refusal := upstream.Reply{upstream.Wait(gate)}.Then(upstream.Status(401, `{"error":{"message":"no"}}`)...)
		s.Model.On(asked, spoken(gate), refusal)
	case "killStop":
		s.Model.On(upstream.LastUser("first"), upstream.Text("answer"))
		s.Model.On(asked, spoken(gate))
	case "killRegenerate":
		s.Model.On(upstream.LastUser("first"), upstream.Text("answer"))
		s.Model.On(asked, upstream.Text("answer"), spoken(gate))
	case "killEdit":
		for _, question := range []string{"first", "second"} {
			s.Model.On(upstream.LastUser(question), upstream.Text("answer"))
		}
		s.Model.On(asked, spoken(gate))
	case "killFile": // the text is a part beside the file
		s.Model.On(func(r upstream.Request) bool { return strings.Contains(string(r.Last("user").Content), name) }, spoken(gate))
	default:
		return false
	}
	return true
}

// spoken is the long answer, whose fourth word waits for the gate.
func spoken(gate chan struct{}) upstream.Reply {
	words := strings.SplitAfter(long, " ")
	return upstream.Open(upstream.Say(words[:3]...), upstream.Wait(gate), upstream.Say(words[3:]...), upstream.Finish("stop"), upstream.Usage(10, 2), upstream.Done())
}
