//go:build wireclients

package wireclients

import (
	"strings"
	"testing"
	"time"

	"github.com/chattray/chattray/app/apptest"
)

// openaiCases are the cases of openai.mjs.
var openaiCases = []uiCase{
	{name: "text", turns: []apptest.Turn{{Text: "all is well"}}, want: []string{"user: text", "assistant: all is well"}},
	{name: "whole", turns: []apptest.Turn{{Text: "all is well"}}, want: []string{"user: whole", "assistant: all is well"}},
	{name: "tool", turns: []apptest.Turn{{Text: "look", Calls: calls("look")}, {Text: "done"}}, want: []string{"user: tool", "assistant: look done"}},
	{name: "client", turns: []apptest.Turn{{Text: "where", Calls: calls("where")}, {Text: "done"}}, want: []string{"user: client", "assistant: where done"}},
	{name: "approve", turns: []apptest.Turn{{Text: "order", Calls: calls("order")}, {Text: "done"}}, want: []string{"user: approve", "assistant: order done"}},
	{name: "deny", turns: []apptest.Turn{{Text: "order", Calls: calls("order")}, {Text: "done"}}, want: []string{"user: deny", "assistant: order done"}},
	{name: "two", turns: []apptest.Turn{{Text: "both", Calls: calls("order", "where")}, {Text: "done"}}, want: []string{"user: two", "assistant: both done"}},
	{name: "cut", turns: []apptest.Turn{{Text: long}}, gated: true, at: openGate, want: []string{"user: cut", "assistant: " + long}},
	{name: "kill", turns: []apptest.Turn{{Text: long}}, gated: true, at: killOnce, want: []string{"user: kill", "assistant: " + long}},
	{name: "killTool", turns: []apptest.Turn{{Text: "look", Calls: calls("look")}, {Text: long}}, gated: true, at: killOnce, want: []string{"user: killTool", "assistant: look " + long}},
	{name: "killDeny", turns: []apptest.Turn{{Text: "order", Calls: calls("order")}, {Text: long}}, gated: true, at: killOnce, want: []string{"user: killDeny", "assistant: order " + long}},
	{name: "killApprove", turns: []apptest.Turn{{Text: "order", Calls: calls("order")}, {Text: long}}, gated: true, at: killOnce, want: []string{"user: killApprove", "assistant: order " + long}},
	{name: "killClient", turns: []apptest.Turn{{Text: "where", Calls: calls("where")}, {Text: long}}, gated: true, at: killOnce, want: []string{"user: killClient", "assistant: where " + long}},
	{name: "killWaiting", turns: []apptest.Turn{{Text: "order", Calls: calls("order")}, {Text: "done"}}, at: killOnce, want: []string{"user: killWaiting", "assistant: order done"}},
	{name: "killFile", gated: true, at: killOnce, want: []string{"user: killFile", "assistant: " + long}},
	{name: "killEdit", gated: true, at: killOnce, want: []string{"user: first", "assistant: answer", "user: killEdit", "assistant: " + long}},
	{name: "killRegenerate", gated: true, at: killOnce, want: []string{"user: first", "assistant: answer", "user: killRegenerate", "assistant: " + long}},
	{name: "killStop", gated: true, at: killThenGone, want: []string{"user: first", "assistant: answer", "user: killStop", "assistant: one two three"}},
	{name: "killError", gated: true, at: killOnce, want: []string{"user: killError"}},
	{name: "killBoth", turns: bothTurns, at: killOnce, want: []string{"user: killBoth", "assistant: both done"}},
	{name: "stop", turns: []apptest.Turn{{Text: long}}, gated: true, at: modelIsGone, want: []string{"user: stop", "assistant: one two three"}},
	{name: "error", want: []string{"user: error"}},
	{name: "turns", want: []string{"user: first", "assistant: answer", "user: third", "assistant: answer", "user: fourth", "assistant: answer"}},
	{name: "bad"},
	{name: "foreign"},
}

// again are the clients of the Responses API that send their answers again when they come back,
// without a cursor, and join all texts of the stream: also the beginning of the answer that a
// killed process has left, which the service shows as an incomplete item. It is in no final
// output.
var again = map[string]bool{"provider": true, "langchain responses": true}

// answered are the cases in which a call was answered before the program was killed.
var answered = map[string]bool{"killDeny": true, "killApprove": true, "killClient": true}

// TestOpenAI runs the cases with each client of OpenAI's APIs.
func TestOpenAI(t *testing.T) {
	for _, client := range []string{"completions", "compatible", "responses", "agents", "provider", "langchain", "langchain responses"} {
		for _, c := range openaiCases {
			t.Run(client+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				s := apptest.NewSystem(t, apptest.SQLite.Fresh(t))
				startFor(t, s, &c)
				var gate chan struct{}
				if c.gated {
					gate = make(chan struct{})
				}
				script(s, &c, gate)
				c.again = again[client] && answered[c.name]
				runClient(t, s, &c, "openai.mjs", client, gate)
				checkTools(t, s, c.name)
			})
		}
	}
}

// checkTools checks that the tool with an effect ran once if it was approved.
func checkTools(t *testing.T, s *apptest.System, name string) {
	t.Helper()
	var told []string
	for _, m := range s.ModelCalls(name) {
		told = append(told, m.Told...)
	}
	all := strings.Join(told, "\n")
	switch {
	case (name == "approve" || name == "killApprove" || name == "killWaiting") && !strings.Contains(all, "book of k"):
		t.Errorf("the model was told %q, want the outcome of the approved call", told)
	case (name == "deny" || name == "killDeny") && (strings.Contains(all, "book of k") || all == ""):
		t.Errorf("the model was told %q, want that the call was denied", told)
	case name == "killBoth" && !(strings.Contains(all, "book of k") && strings.Contains(all, "book of l") && strings.Contains(all, "Basel")):
		t.Errorf("the model was told %q, want the outcomes of the approved calls and of the client's tool", told)
	case (name == "client" || name == "two" || name == "killClient") && !strings.Contains(all, "Basel"):
		t.Errorf("the model was told %q, want the outcome of the client's tool", told)
	}
}

// killOnce kills the process, and opens the gate when the client is back.
func killOnce(_ *testing.T, s *apptest.System, gate chan struct{}, point string) {
	if point == "resumed" {
		close(gate)
		return
	}
	s.Restart()
}

// killThenGone kills the process and waits until the model's server has seen it, so that it
// then sees the stop of the next attempt.
func killThenGone(t *testing.T, s *apptest.System, gate chan struct{}, point string) {
	if point == "streaming" {
		s.Restart()
	}
	modelIsGone(t, s, gate, point)
}

// modelIsGone waits until the model's server sees that nobody reads its reply.
func modelIsGone(t *testing.T, s *apptest.System, _ chan struct{}, _ string) {
	select {
	case <-s.Model.Gone():
	case <-time.After(apptest.Limit):
		t.Error("the request to the model's server was not cancelled by the stop")
	}
}
