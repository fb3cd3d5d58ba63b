package apptest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/chattray/chattray/agents/modeltest/upstream"
)

// gatedPart waits for the gate, if there is one.
func gatedPart(gate <-chan struct{}) upstream.Part {
	if gate == nil {
		return func(http.ResponseWriter, *http.Request) bool { return true }
	}
	return upstream.Wait(gate)
}

// gateAfter is the number of words that the model writes before a gate.
const gateAfter = 3

// ModelCall is a call of the model: its time, its turn, and the tools' results
// in it.
type ModelCall struct {
	At, Results int
	Told        []string
}

// ModelCalls returns the calls of the model for a question.
func (s *System) ModelCalls(question string) []ModelCall {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.modelCalls[question])
}

// CheckScripted fails a test in which a call of the model fitted no script: a
// question with a wrong history, or wrong results.
func (s *System) CheckScripted() {
	s.T.Helper()
	for _, r := range s.Model.Unscripted() {
		s.T.Errorf("the model was asked %s, want a question with a script", JSON(r.Messages[min(1, len(r.Messages)):]))
	}
}

// Turn is one reply of the model: text, then calls.
type Turn struct {
	Text  string
	Calls []ToolCall
	Tail  string // markers, which are not shown
}

// ToolCall is a call that the model asks for.
type ToolCall struct{ Tool, Key string }

// Script makes the model's server answer the question with these turns, each
// once the gate is open (nil means no gate).
func (s *System) Script(question string, turns []Turn, gate <-chan struct{}) {
	results := 0
	for _, one := range turns {
		before := results
		match := func(r upstream.Request) bool {
			// A question without an answer comes before the next one, in the
			// same message.
			if r.Results() != before || !strings.HasSuffix(r.Last("user").Text(), question) {
				return false
			}
			a := ModelCall{At: s.Mark(), Results: before}
			for _, m := range r.Messages {
				if m.Role == "tool" {
					a.Told = append(a.Told, m.Text())
				}
			}
			a.Told = a.Told[len(a.Told)-before:]
			s.mu.Lock()
			defer s.mu.Unlock()
			s.modelCalls[question] = append(s.modelCalls[question], a)
			return true
		}
		s.Model.On(match, s.reply(one, results, gate))
		results += len(one.Calls)
	}
}

// reply returns a turn as the server sends it, a word at a time.
func (s *System) reply(one Turn, results int, gate <-chan struct{}) upstream.Reply {
	var parts []upstream.Part
	add := func(phase string, part ...upstream.Part) {
		parts = append(parts, part...)
		parts = append(parts, s.phasePart(phase), upstream.Delay(s.Pause))
	}
	for n, word := range strings.SplitAfter(one.Text+one.Tail, " ") {
		if n == gateAfter {
			parts = append(parts, gatedPart(gate))
		}
		add("the model writes", upstream.Say(word))
	}
	for i, c := range one.Calls {
		arguments := fmt.Sprintf(`{"key":%q}`, c.Key)
		half := len(arguments) / 2
		add("the model asks for a tool", upstream.Call(i, fmt.Sprintf("call_%d", results+i), c.Tool, arguments[:half], arguments[half:]))
	}
	finish := "stop"
	if len(one.Calls) > 0 {
		finish = "tool_calls"
	}
	parts = append(parts, upstream.Finish(finish), upstream.Usage(10, 2), upstream.Done(), s.phasePart("the model ends"))
	return upstream.Open(parts...)
}

func (s *System) phasePart(phase string) upstream.Part {
	return upstream.Do(func(http.ResponseWriter, *http.Request) { s.reached(phase) })
}
