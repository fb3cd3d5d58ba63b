package demo

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/chattray/chattray/schemas"
)

// Limits of the commands.
const (
	maxSlowWords = 2_000
	// longTokens is the default length of "long"; maxLongTokens is its maximum.
	longTokens    = 20_000
	maxLongTokens = 200_000
	// maxRounds ends "max iterations" in a loop that never forbids tools.
	maxRounds = 30
)

// slow counts to N, one word at a time, slowly.
func slow(r *request) reply {
	var b strings.Builder
	for i := range min(number(r.matches[1]), maxSlowWords) {
		b.WriteString(strconv.FormatInt(i+1, 10))
		b.WriteString(map[bool]string{true: "\n", false: " "}[i%10 == 9])
	}
	return reply{text: cmp.Or(strings.TrimSpace(b.String()), "Nothing to count."), pace: slowPace, bare: true}
}

// long writes that many tokens of varied Markdown.
func long(r *request) reply {
	tokens := longTokens
	if r.matches[1] != "" {
		tokens = min(int(number(r.matches[1])), maxLongTokens)
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

// toolError calls a tool with arguments that no tool takes.
func toolError(r *request) reply {
	if r.Rounds > 0 {
		return reply{}
	}
	if len(r.Tools) == 0 {
		return reply{text: "No tools are offered here, so none can fail."}
	}
	name := r.Tools[0].Name
	if r.offers("get_report") {
		name = "get_report" // it checks its arguments, which not every tool of a page does
	}
	return reply{text: "I will call a tool with arguments that it cannot take.", calls: []toolCall{{name, `{"no_such_argument": true}`}}}
}

// sayAsTold says what the user writes, such as a payload after its marker.
func sayAsTold(r *request) reply { return reply{text: r.matches[1]} }

// callTool calls the tool that the user names, with the user's own arguments.
func callTool(r *request) reply {
	name, arguments := r.matches[1], cmp.Or(strings.TrimSpace(r.matches[2]), "{}")
	switch {
	case r.Rounds > 0:
		return reply{}
	case !r.offers(name):
		return reply{text: "No tool " + name + " is offered here."}
	case !json.Valid([]byte(arguments)):
		return reply{text: "What follows the name must be JSON, as in `call list_streams {}`."}
	default:
		return reply{text: "I call it as you say.", calls: []toolCall{{name, arguments}}}
	}
}

// useAllIterations looks things up until it is no longer allowed to.
func useAllIterations(r *request) reply {
	topics := []string{"gold", "sickle", "semaglutide", "resistance"}
	for _, next := range []toolCall{call("search_articles", object{"query": topics[r.Rounds%len(topics)]}), {"list_reports", "{}"}, {"list_streams", "{}"}} {
		if r.offers(next.name) && r.Rounds < maxRounds {
			return reply{text: fmt.Sprintf("Step %d: one more look.", r.Rounds+1), calls: []toolCall{next}}
		}
	}
	return reply{}
}

var closeButton = schemas.SuggestedAction{Label: "Close the chat", Action: "close_chat", Handler: "client", Style: "secondary"}

func help(*request) reply {
	return reply{text: read("help.md"), chips: starters, buttons: []schemas.SuggestedAction{closeButton}}
}

func closeChat(r *request) reply {
	if !r.maySuggest(closeButton.Action) {
		return reply{text: "Goodbye! This page lets me suggest no button that closes the chat."}
	}
	return reply{text: "Goodbye! The button closes the chat; it stays in your history.", buttons: []schemas.SuggestedAction{closeButton}}
}
