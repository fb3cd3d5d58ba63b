package demo

import (
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/chattray/chattray/schemas"
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
	// maxQuoted is how much of a tool's text is quoted, in characters.
	maxQuoted = 600
)

//go:embed texts/*.md
var texts embed.FS

func text(name string) string {
	b, err := texts.ReadFile("texts/" + name)
	if err != nil {
		panic("demo: " + err.Error()) // the names are constants of this package
	}
	return string(b)
}

func page(name string) script {
	content := text(name)
	return func(*scene, []string) reply { return reply{text: content, chips: []string{"help"}} }
}

func help(*scene, []string) reply {
	return reply{text: text("help.md"), chips: starters, buttons: []schemas.SuggestedAction{closeButton}}
}

func greet(*scene, []string) reply {
	return reply{text: "Hello! I work on the sample research data of this service. Where shall we begin?", chips: starters}
}

// slow counts to N, one word at a time, slowly.
func slow(_ *scene, m []string) reply {
	n := min(int(number(m[1])), maxSlowWords)
	var b strings.Builder
	for i := 1; i <= n; i++ {
		b.WriteString(strconv.Itoa(i))
		b.WriteString(map[bool]string{true: "\n", false: " "}[i%10 == 0])
	}
	return reply{text: strings.TrimSpace(b.String()), pace: slowPace, bare: true}
}

// long writes that many tokens of varied Markdown.
func long(_ *scene, m []string) reply {
	tokens := longTokens
	if m[1] != "" {
		tokens = min(int(number(m[1])), maxLongTokens)
	}
	pieces := strings.Split(strings.TrimSpace(text("long.md")), "\n---\n")
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

// think shows reasoning before the answer.
func think(*scene, []string) reply {
	return reply{
		thinking: "The user asks me to think. I have no thoughts, only rules, so I say them one by one. " +
			"First I look for a command. Then for a document, a payload, the number of a report. At last I search.",
		text:  "I thought about it: I have a table of rules and take the first that fits.",
		chips: starters,
	}
}

func failAtOnce(*scene, []string) reply {
	return reply{fail: schemas.NewError(schemas.CodeUpstreamUnavailable, "the demo model was asked to fail, and did")}
}

func failLate(*scene, []string) reply {
	return reply{
		text: "This answer begins well enough, and then it breaks off in the middle of",
		fail: schemas.NewError(schemas.CodeUpstreamTruncated, "the demo model was asked to break off, and did"),
	}
}

func cutShort(*scene, []string) reply {
	return reply{text: "This answer reaches its limit of tokens before it comes to the", stop: schemas.MaxTokens}
}

// toolError calls a tool with arguments that no tool takes, and reads what comes
// back.
func toolError(s *scene, _ []string) reply {
	if s.rounds > 0 {
		return reply{text: toolSaid("The tool refused, as it should, and the conversation goes on. It said:", s.results), chips: []string{"help"}}
	}
	if len(s.Tools) == 0 {
		return reply{text: "No tools are offered here, so none can fail."}
	}
	name := s.Tools[0].Name
	for _, preferred := range []string{"get_stream", "search_articles", "get_report"} {
		if s.offered(preferred) {
			name = preferred
		}
	}
	return reply{
		text:  "I will call a tool with arguments that it cannot take.",
		calls: []call{{name, `{"no_such_argument": true}`}},
	}
}

// callTool calls the tool that the user names, with the user's own arguments, and
// shows what came back.
func callTool(s *scene, _ []string) reply {
	name, arguments, _ := strings.Cut(s.ask[len("call "):], " ")
	arguments = cmp.Or(strings.TrimSpace(arguments), "{}")
	switch {
	case s.rounds > 0:
		return reply{text: toolSaid("That is what came back:", s.results), chips: []string{"help"}}
	case !s.offered(name):
		return reply{text: "No tool " + name + " is offered here."}
	case !json.Valid([]byte(arguments)):
		return reply{text: "What follows the name must be JSON, as in `call list_streams {}`."}
	default:
		return reply{text: "I call it as you say.", calls: []call{{name, arguments}}}
	}
}

// toolSaid quotes what tools gave.
func toolSaid(head string, results []result) string {
	var b strings.Builder
	b.WriteString(head + "\n")
	for _, r := range results {
		fmt.Fprintf(&b, "\n> **%s**: %s\n", r.name, quoted(r.text))
	}
	return b.String()
}

// useAllIterations looks things up until it is no longer allowed to.
func useAllIterations(s *scene, _ []string) reply {
	topics := []string{"gold", "sickle", "semaglutide", "resistance"}
	for _, next := range []call{{"search_articles", toJSON(object{"query": topics[s.rounds%len(topics)]})}, {"list_reports", "{}"}, {"list_streams", "{}"}} {
		if s.offered(next.name) && s.rounds < maxRounds {
			return reply{text: fmt.Sprintf("Step %d: one more look.", s.rounds+1), calls: []call{next}}
		}
	}
	return sumUp(s)
}

// sumUp is the answer when no more tools may be called.
func sumUp(s *scene) reply {
	if len(s.results) == 0 {
		return reply{text: "I would need a tool for that, and none is allowed now."}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "I may call no more tools. After %d steps this is what I have:\n", s.rounds)
	for _, r := range s.results {
		said := quoted(firstLine(r.text))
		if len(r.Articles) > 0 {
			said = fmt.Sprintf("%s, the first is *%s*", count(len(r.Articles), "article"), cite(r.Articles[0]))
		}
		fmt.Fprintf(&b, "\n- **%s**: %s", r.name, said)
	}
	return reply{text: b.String(), chips: starters}
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
		count(len(asked), "question"), strings.Join(asked[max(0, len(asked)-maxCondensed):], ""))}
}

var closeButton = schemas.SuggestedAction{Label: "Close the chat", Action: "close_chat", Handler: "client", Style: "secondary"}

func closeChat(s *scene, _ []string) reply {
	if !s.maySuggest(closeButton.Action) {
		return reply{text: "Goodbye! This page lets me suggest no button that closes the chat."}
	}
	return reply{text: "Goodbye! The button closes the chat; it stays in your history.", buttons: []schemas.SuggestedAction{closeButton}}
}
