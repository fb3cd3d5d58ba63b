package demo

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/text"
	"github.com/chattray/chattray/schemas/turn"
)

// Limits of the commands.
const (
	maxSlowWords = 2_000
	// longTokens is the length of "long"; maxLongTokens is the most.
	longTokens    = 20_000
	maxLongTokens = 200_000
	// maxRounds ends "max iterations" with a loop that never forbids tools.
	maxRounds = 30
	// maxCondensed is how many questions a chat's summary names.
	maxCondensed = 30
)

// always is for a rule with one reply.
func always(r reply) script { return func(*scene, match) reply { return r } }

// slow counts to N, one word at a time, slowly.
func slow(_ *scene, m match) reply {
	var b strings.Builder
	for i := range min(number(m.said[1]), maxSlowWords) {
		b.WriteString(strconv.FormatInt(i+1, 10))
		b.WriteString(map[bool]string{true: "\n", false: " "}[i%10 == 9])
	}
	return reply{text: strings.TrimSpace(b.String()), pace: slowPace, bare: true}
}

// long writes that many tokens of varied Markdown.
func long(_ *scene, m match) reply {
	tokens := longTokens
	if m.said[1] != "" {
		tokens = min(int(number(m.said[1])), maxLongTokens)
	}
	pieces := strings.Split(strings.TrimSpace(read("long.md")), "\n---\n")
	var b strings.Builder
	for i := 0; b.Len() < tokens*charsPerToken; i++ {
		if i%len(pieces) == 0 {
			fmt.Fprintf(&b, "## Part %d\n\n", i/len(pieces)+1)
		}
		b.WriteString(strings.TrimSpace(pieces[i%len(pieces)]))
		b.WriteString("\n\n")
	}
	return reply{text: b.String() + "The end.", chips: []string{"help"}}
}

// toolError calls a tool with arguments that no tool takes, and reads what comes
// back.
func toolError(s *scene, _ match) reply {
	if s.Rounds > 0 {
		return s.showResults("The tool refused, as it should, and the conversation goes on. It said:")
	}
	if len(s.Tools) == 0 {
		return reply{text: "No tools are offered here, so none can fail."}
	}
	name := s.Tools[0].Name
	if s.offered("get_report") {
		name = "get_report" // it knows its arguments, as not every tool of a page does
	}
	return reply{text: "I will call a tool with arguments that it cannot take.", calls: []toolCall{{name, `{"no_such_argument": true}`}}}
}

// callTool calls the tool that the user names, with the user's own arguments, and
// shows what came back.
func callTool(s *scene, _ match) reply {
	name, arguments, _ := strings.Cut(s.ask[len("call "):], " ")
	arguments = cmp.Or(strings.TrimSpace(arguments), "{}")
	switch {
	case s.Rounds > 0:
		return s.showResults("That is what came back:")
	case !s.offered(name):
		return reply{text: "No tool " + name + " is offered here."}
	case !json.Valid([]byte(arguments)):
		return reply{text: "What follows the name must be JSON, as in `call list_streams {}`."}
	default:
		return reply{text: "I call it as you say.", calls: []toolCall{{name, arguments}}}
	}
}

func (s *scene) showResults(head string) reply {
	return reply{text: head + "\n" + render("said", s.Results), chips: []string{"help"}}
}

// useAllIterations looks things up until it is no longer allowed to.
func useAllIterations(s *scene, _ match) reply {
	topics := []string{"gold", "sickle", "semaglutide", "resistance"}
	for _, next := range []toolCall{{"search_articles", text.JSON(object{"query": topics[s.Rounds%len(topics)]})}, {"list_reports", "{}"}, {"list_streams", "{}"}} {
		if s.offered(next.name) && s.Rounds < maxRounds {
			return reply{text: fmt.Sprintf("Step %d: one more look.", s.Rounds+1), calls: []toolCall{next}}
		}
	}
	return sumUp(s)
}

// sumUp is the answer when no more tools may be called.
func sumUp(s *scene) reply {
	if len(s.Results) == 0 {
		return reply{text: "I would need a tool for that, and none is allowed now."}
	}
	return reply{text: render("summed up", s), chips: starters}
}

// condense is the answer to the service itself, when it wants older turns in
// short: what the user asked, one line each.
func condense(s *scene) reply {
	var asked []string
	for _, m := range s.facts.Older {
		if m.Role == turn.User {
			asked = append(asked, "\n- "+firstLine(paragraph(m.Content)))
		}
	}
	return reply{bare: true, text: fmt.Sprintf("The user asked %s so far, the newest last:\n%s",
		count(asked, "question"), strings.Join(asked[max(0, len(asked)-maxCondensed):], ""))}
}

var closeButton = schemas.SuggestedAction{Label: "Close the chat", Action: "close_chat", Handler: "client", Style: "secondary"}

func closeChat(s *scene, _ match) reply {
	if !s.maySuggest(closeButton.Action) {
		return reply{text: "Goodbye! This page lets me suggest no button that closes the chat."}
	}
	return reply{text: "Goodbye! The button closes the chat; it stays in your history.", buttons: []schemas.SuggestedAction{closeButton}}
}
