package demo

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/text"
	"github.com/chattray/chattray/schemas/turn"
)

// maxChips is how many suggested values an answer carries.
const maxChips = 4

// script says the next reply of the answer to the question.
type script func(s *scene, m match) reply

// match is what a script knows of its rule: the tool or payload type that it
// needs, and what its expression found.
type match struct {
	needs string
	said  []string
}

// rule is one thing that the demo model understands: the first rule whose
// expression matches the question, in any case, is asked for every reply of the
// answer. A rule with only does not exist where that tool is not offered. One
// with needs, a tool or a payload type, says there where to try it.
type rule struct {
	expr               string
	only, needs, where string
	// args, when set, says what to write before the first call of the tool
	// needs, and with which arguments; nil arguments make the text the whole
	// answer.
	args func(s *scene, said []string) (string, object)
	say  script
}

// Where things can be tried.
const (
	onReports  = "the Reports page"
	onStreams  = "the Streams page"
	onDocument = "the Document page"
	onArticles = "a report's tab Articles"
	onSemantic = "Edit stream, tab Semantic"
	networked  = "a server that may reach PubMed"
)

// with is for a rule whose call has one argument, which the expression found.
func with(text, argument string) func(*scene, []string) (string, object) {
	return func(_ *scene, said []string) (string, object) {
		if strings.HasSuffix(argument, "article_id") {
			return text, object{argument: number(said[1])}
		}
		return text, object{argument: said[1]}
	}
}

// about is for a rule whose call is about a thing of the page.
func about(text, thing string) func(*scene, []string) (string, object) {
	return func(s *scene, _ []string) (string, object) { return text, s.args(thing) }
}

// searching is for a rule that searches for the question's topic.
func searching(text, ask string, more object, without ...string) func(*scene, []string) (string, object) {
	return func(s *scene, _ []string) (string, object) {
		topic := s.topic(without...)
		if topic == "" {
			return ask, nil
		}
		args := object{"query": topic}
		maps.Copy(args, more)
		return fmt.Sprintf(text, topic), args
	}
}

func order(s *scene, said []string) (string, object) {
	return "I place the order as soon as you approve it.", object{"report_id": max(s.id("report"), 1), "copies": max(number(said[1]), 1)}
}

var rules = compile([]rule{
	// Commands, for tests and tours. A command is the whole message.
	{expr: `^(?:/?help|\?|what can you do|hilfe|aide|ayuda)\W*$`, say: always(reply{text: read("help.md"), chips: starters, buttons: []schemas.SuggestedAction{closeButton}})},
	{expr: `^slow (\d{1,4})$`, say: slow},
	{expr: `^long(?: (\d{1,6}))?$`, say: long},
	{expr: `^think\b`, say: always(reply{
		thinking: "The user asks me to think. I have no thoughts, only rules, so I say them one by one. " +
			"First I look for a command. Then for a document, a payload, the number of a report. At last I search.",
		text:  "I thought about it: I have a table of rules and take the first that fits.",
		chips: starters,
	})},
	{expr: `^error$`, say: always(reply{fail: schemas.NewError(schemas.CodeUpstreamUnavailable, "the demo model was asked to fail, and did")})},
	{expr: `^error late$`, say: always(reply{
		text: "This answer begins well enough, and then it breaks off in the middle of",
		fail: schemas.NewError(schemas.CodeUpstreamTruncated, "the demo model was asked to break off, and did"),
	})},
	{expr: `^max tokens$`, say: always(reply{text: "This answer reaches its limit of tokens before it comes to the", stop: schemas.MaxTokens})},
	{expr: `^tool error$`, say: toolError},
	{expr: `(?s)^call [a-z0-9_-]+(?:\s+\{.*)?$`, say: callTool},
	{expr: `^max iterations$`, say: useAllIterations},
	{expr: `^markdown$`, say: always(reply{text: read("markdown.md"), chips: []string{"help"}})},
	{expr: `^hostile$`, say: always(reply{text: read("hostile.md"), chips: []string{"help"}})},

	// Research in threads, and an approval.
	{
		expr: `^research (?:on |about |into )?(.{3,})`, needs: "research", where: onReports + " or " + onStreams,
		args: with("I split that up and search for its parts side by side.", "question"), say: told,
	},
	{expr: `^(?:please )?order\b(?:\D*(\d{1,2}) (?:printed )?cop)?`, needs: "order_print", where: "a service that has no model but me", args: order, say: ordered},

	// Documents.
	{expr: `\b(?:delete|remove|drop)\b.*\b(?:block|section|paragraph|chart|table|csv)\b`, only: "write_block", say: deleteBlock},
	{expr: `\bmove\b.*\b(?:block|section|paragraph|chart|table|csv|summary|sources?)\b`, only: "write_block", say: moveBlock},
	{expr: `\b(?:edit|rewrite|change|shorten|improve|rephrase)\b.*\b(?:block|section|paragraph|introduction|summary|text|title)\b`, only: "write_block", say: editBlock},
	{expr: `\b(?:write|create|draft|make|prepare|plan)\b.*\b(?:report|document|paper|article|overview|page|briefing)\b`, only: "write_block", say: writeDocument},
	{expr: `\b(?:read|show|what is in|what's in)\b.*\bdocument\b`, only: "write_block", say: readDocument},
	{expr: `^(?:please )?(?:write|create|draft|prepare)\b.*\b(?:report|document|paper|article)\b`, needs: "write_block", where: onDocument, say: writeDocument},

	// Payloads that the model writes.
	{expr: `\b(?:propose|suggest|improve|change|extend|update)\b.*\bschema\b`, needs: "schema_proposal", where: onSemantic, say: proposeSchema},
	{expr: `\bvalidate\b|\bcheck\b.*\b(?:schema|stream)\b`, needs: "validation_results", where: onSemantic, say: validate},
	{expr: `\b(?:suggest|propose|write|improve|build)\b.*\bquer(?:y|ies)\b`, needs: "query_suggestion", where: "Edit stream, tab Retrieval", say: suggestQuery},
	{expr: `\b(?:suggest|propose|recommend)\b.*\b(?:streams?|follow)\b`, needs: "stream_suggestions", where: onStreams, say: suggestStreams},
	{expr: `\b(?:categori[sz]e|categories)\b|\bgroup (?:the |these )?articles\b`, needs: "presentation_categories", where: onArticles, say: categorize},
	{expr: `\b(?:add|suggest|propose|make)\b.*\bcolumn\b`, needs: "ai_column_suggestion", where: onArticles, say: addColumn},

	// Client actions and tools of the page.
	{expr: `^(?:close(?: the)?(?: chat| tray)?|bye|goodbye|that'?s all|done)\W*$`, say: closeChat},
	{expr: `^(?:please )?open article (\d{1,9})\b`, needs: "open_article", where: onArticles, args: with("I ask the page to open it.", "article_id"), say: quote},

	// Looking things up.
	{expr: `(https?://\S*[^\s.,;:!?)\]}>"'` + "`" + `])`, needs: "fetch_webpage", where: "another page", args: with("I read the page.", "url"), say: quote},
	{
		expr:  `\bsearch (?:the )?(?:web|internet|online)\b|\bweb search\b|\bon the (?:web|internet)\b`,
		needs: "web_search", where: "a server with a search engine (setting `searxng_url`)",
		args: searching("I search the web for **%s**.", "What shall I search the web for?", nil, "internet", "online", "web"), say: quote,
	},
	{expr: `\b(?:pubmed article|pmid)\W*(\d{1,8})\b`, needs: "get_pubmed_article", where: networked, args: with("I get the article from PubMed.", "pmid"), say: quote},
	{
		expr: `\bpubmed\b`, needs: "search_pubmed", where: networked, say: showPubmed,
		args: searching("I search PubMed for **%s**.", "What shall I search PubMed for? Try `Search PubMed for base editing`.", object{"max_results": 10}),
	},
	{expr: `\bpayload\W+([0-9a-f]{8})\b`, needs: "get_payload", where: "another page", args: with("I get it.", "payload_id"), say: quote},
	{expr: `\bcompare\b.*\bstreams?\W*(\d{1,9})\b.*?\b(\d{1,9})\b`, needs: "get_stream", where: onStreams, say: compareStreams},
	{expr: `\bstream\W*(\d{1,9})\b|\bthis (?:research )?stream\b`, needs: "get_stream", where: onStreams, args: about("Let me look at the stream.", "stream"), say: show("stream", "Propose a schema with long-term follow-up", "Compare stream 1 and stream 2")},
	{expr: `\breport\W*(\d{1,9})\b|\bthis report\b`, needs: "get_report", where: onReports, args: about("Let me read the report.", "report"), say: show("report", "Categorize the articles", "Add a column for study design", "Order 2 printed copies of report {id}", "List the reports")},
	{expr: `\b(?:list|show|which|what|all|latest|newest)\b[^.?!]*\bstreams\b`, needs: "list_streams", where: onStreams, args: about("Let me look.", ""), say: show("streams", "Tell me about stream {id}", "Compare stream 1 and stream 2", "Suggest streams about phage therapy")},
	{expr: `^(?:hi|hello|hey|good (?:morning|evening|day)|hallo|bonjour|hola|ciao|thanks?|thank you|danke|merci|gracias)\b[^?]{0,30}$`, say: always(greeting)},
	{expr: `\b(?:search|find|look for|articles?)\b`, needs: "search_articles", where: onReports, say: searchArticles},
	{expr: `\b(?:list|show|which|what|all|latest|newest)\b[^.?!]*\breports\b`, needs: "list_reports", where: onReports, args: about("Let me look.", ""), say: showReports},
	{expr: ``, needs: "search_articles", where: onReports, say: searchArticles},
})

// compiled is a rule with its expression ready.
type compiled struct {
	rule
	expr *regexp.Regexp
}

func compile(rules []rule) []compiled {
	out := make([]compiled, len(rules))
	for i, r := range rules {
		out[i] = compiled{r, regexp.MustCompile("(?i)" + r.expr)}
	}
	return out
}

// intro opens the first answer of a chat.
const intro = "I am the built-in **demo model**: rules instead of a language model, but real tools, documents and approvals. Try `help`.\n\n"

// starters are chips for somebody who does not know where to begin.
var starters = []string{
	"Create a report with a chart about gold", "Research base editing and gold", "Order 2 printed copies of report 1",
	"Summarize report 1", "List the research streams", "Find articles about BCL11A", "Compare stream 1 and stream 2",
}

var greeting = reply{text: "Hello! I work on the sample research data of this service. Where shall we begin?", chips: starters}

// answer is the next reply.
func (s *scene) answer() reply {
	r := s.reply()
	if len(r.calls) > 0 && s.ToolsForbidden {
		r = sumUp(s)
	}
	if s.first && s.Rounds == 0 && r.fail == nil && !r.bare {
		r.text = intro + r.text
	}
	if len(r.calls) == 0 && r.fail == nil && r.stop == "" && s.Facts != nil {
		r.text += s.suggestions(r)
	}
	return r
}

func (s *scene) reply() reply {
	switch s.facts.Purpose {
	case turn.Summarize:
		return condense(s)
	case turn.PlanParts:
		return planParts(s)
	case turn.MergeParts:
		return reply{text: render("merged", s.facts.Findings), bare: true}
	case turn.NameChat:
		return nameChat(s)
	case turn.AnswerPart:
	}
	if s.ask == "" {
		return reply{text: "I did not get a question. Write `help` to see what I can do."}
	}
	for _, r := range rules {
		if said := r.expr.FindStringSubmatch(s.ask); said != nil && (r.only == "" || s.offered(r.only)) {
			return r.reply(s, said)
		}
	}
	return reply{} // the last rule matches everything
}

func (r compiled) reply(s *scene, said []string) reply {
	if r.needs != "" && !s.offered(r.needs) && s.marker(r.needs) == "" {
		return reply{text: fmt.Sprintf("This page does not offer me `%s`, which I need for that. Try it on %s.", r.needs, r.where), chips: starters, refused: true}
	}
	if r.args != nil {
		begin, args := r.args(s, said)
		if args == nil {
			return reply{text: begin}
		}
		if first, ok := s.look(begin, toolCall{r.needs, text.JSON(args)}); !ok {
			return first
		}
	}
	return r.say(s, match{r.needs, said})
}

// suggestions writes chips and buttons, as far as the page has what they need.
func (s *scene) suggestions(r reply) string {
	var values []schemas.SuggestedValue
	for _, c := range unique(r.chips) {
		next := &scene{ModelRequest: s.ModelRequest, facts: s.facts, ask: c, asked: strings.ToLower(c)}
		if len(values) < maxChips && c != s.ask && !next.reply().refused {
			values = append(values, schemas.SuggestedValue{Label: c, Value: c})
		}
	}
	buttons := slices.DeleteFunc(slices.Clone(r.buttons), func(a schemas.SuggestedAction) bool { return !s.maySuggest(a.Action) })
	more := ""
	if len(values) > 0 && s.facts.Purpose == "" {
		more = "\n\nSUGGESTED_VALUES: " + text.JSON(values)
	}
	if len(buttons) > 0 {
		more += "\n\nSUGGESTED_ACTIONS: " + text.JSON(buttons)
	}
	return more
}
