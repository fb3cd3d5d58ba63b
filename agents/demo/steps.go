package demo

import (
	"fmt"
	"strings"

	"github.com/chattray/chattray/schemas/turn"
)

// say returns a step that always gives the same reply.
func say(out reply) step { return func(*request) reply { return out } }

// look returns a step that calls a tool once. In begin, %s is the question's
// topic.
func look(begin, tool string, arguments func(*request) object) step {
	return func(r *request) reply {
		return r.lookUp(strings.ReplaceAll(begin, "%s", r.Topic()), call(tool, arguments(r)))
	}
}

// The arguments of tools.

func noArguments(*request) object { return object{} }

func firstMatch(name string) func(*request) object {
	return func(r *request) object { return object{name: r.matches[1]} }
}

func firstNumber(name string) func(*request) object {
	return func(r *request) object { return object{name: number(r.matches[1])} }
}

// theOne returns arguments with the id of the thing that the question means or
// the page shows.
func theOne(thing string) func(*request) object {
	return func(r *request) object {
		if id := r.id(thing); id > 0 {
			return object{thing + "_id": id}
		}
		return object{}
	}
}

func query(r *request) object { return object{"query": r.Topic()} }

func pubmedQuery(r *request) object { return object{"query": r.Topic(), "max_results": 10} }

func order(r *request) object {
	return object{"report_id": max(r.id("report"), 1), "copies": max(number(r.matches[1]), 1)}
}

// needTopic returns a step that asks for a topic if the question has none.
func needTopic(ask string, chips ...string) step {
	return func(r *request) reply {
		if r.Topic() != "" {
			return reply{}
		}
		return reply{text: ask, chips: chips}
	}
}

// show returns a step that fills in a template of an answer; it gives the zero
// reply if the template's text is empty. In chips, {report} is the id of the
// report that the question means.
func show(name string, chips ...string) step {
	return func(r *request) reply {
		out := reply{text: render(name, r)}
		for _, c := range chips {
			out.chips = append(out.chips, strings.ReplaceAll(c, "{report}", fmt.Sprint(max(r.id("report"), 1))))
		}
		return out
	}
}

// quote quotes the text of the story's tool, such as an error.
var quote = show("told", starters...)

// sumUp is the answer when no more tools may be called.
var sumUp = show("summed up", starters...)

// searchArticles searches, and searches again more widely if it finds nothing.
var searchArticles = []step{
	needTopic("I did not find a topic in that. Try `Find articles about BCL11A`; `help` says what else I know.", starters...),
	func(r *request) reply {
		calls := []toolCall{call("search_articles", query(r))}
		if strings.Contains(strings.ToLower(r.question), "reports") {
			calls = append(calls, call("list_reports", object{}))
		}
		return r.lookUp(fmt.Sprintf("Let me search the articles for **%s**.", r.Topic()), calls...)
	},
	func(r *request) reply {
		if len(r.Last("search_articles").Articles) > 0 || r.Rounds > 1 {
			return reply{}
		}
		wider := object{"query": telling(r.Topic()), "stream_id": 0, "report_id": 0}
		return reply{text: "Nothing yet; I search everywhere, for the word that says most.", calls: []toolCall{call("search_articles", wider)}}
	},
	showArticles,
}

func showArticles(r *request) reply {
	var chips []string
	for _, a := range r.Found().Articles {
		chips = append(chips, fmt.Sprintf("Summarize report %d", a.ReportID))
	}
	chips = unique(chips)
	return reply{text: render("search", r), chips: append(chips[:min(len(chips), 2)], starters...)}
}

// Widened reports whether the search for the topic found nothing and a second one
// had fewer words.
func (r *request) Widened() bool { return r.Rounds > 1 && r.Searched() != r.Topic() }

// Searched returns the words of the last search.
func (r *request) Searched() string {
	if r.Rounds > 1 {
		return telling(r.Topic())
	}
	return r.Topic()
}

func showPubmed(r *request) reply {
	found := r.Found().Articles
	if len(found) == 0 {
		return reply{}
	}
	return reply{text: render("found", r), chips: []string{"PMID " + found[0].PMID, "Find articles about " + r.Topic()}}
}

// lookAtBoth gets two streams at the same time.
func lookAtBoth(r *request) reply {
	return r.lookUp("I get both at the same time.",
		call("get_stream", object{"stream_id": number(r.matches[1])}), call("get_stream", object{"stream_id": number(r.matches[2])}))
}

// maxParts is the number of sub-questions into which research splits a topic.
const maxParts = 4

// TopicWords returns the words that research searches for besides the whole
// topic.
func (r *request) TopicWords() []string {
	words := strings.Fields(r.Topic())
	if len(words) < 2 {
		return nil
	}
	return words[:min(len(words), maxParts-1)]
}

// Asked returns the questions of the turns to condense, each on one line.
func (r *request) Asked() []string {
	var asked []string
	for _, m := range r.Facts.Older {
		if m.Role == turn.User {
			asked = append(asked, firstLine(paragraph(m.Content)))
		}
	}
	return asked
}
