package demo

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/turn"
)

// maxChips is how many suggested values an answer carries.
const maxChips = 4

// script says the next reply of the answer to the question. m holds what the
// rule's expression found.
type script func(s *scene, m []string) reply

// rule is one thing that the demo model understands: the first rule whose
// expression matches the question, in any case, is asked for every reply of the
// answer. A rule with only does not exist where that tool is not offered; one
// with needs, a tool or a payload type, says there where to try it.
type rule struct {
	match              string
	only, needs, where string
	say                script
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

var rules = compile([]rule{
	// Commands, for tests and tours. A command is the whole message.
	{match: `^(?:/?help|\?|what can you do|hilfe|aide|ayuda)\W*$`, say: help},
	{match: `^slow (\d{1,4})$`, say: slow},
	{match: `^long(?: (\d{1,6}))?$`, say: long},
	{match: `^think\b`, say: think},
	{match: `^error$`, say: failAtOnce},
	{match: `^error late$`, say: failLate},
	{match: `^max tokens$`, say: cutShort},
	{match: `^tool error$`, say: toolError},
	{match: `(?s)^call [a-z0-9_-]+(?:\s+\{.*)?$`, say: callTool},
	{match: `^max iterations$`, say: useAllIterations},
	{match: `^markdown$`, say: page("markdown.md")},
	{match: `^hostile$`, say: page("hostile.md")},

	// Research in threads, and an approval.
	{match: `^research (?:on |about |into )?(.{3,})`, needs: "research", where: onReports + " or " + onStreams, say: research},
	{match: `^(?:please )?order\b(?:\D*(\d{1,2}) (?:printed )?cop)?`, needs: "order_print", where: "a service that has no model but me", say: orderPrint},

	// Documents.
	{match: `\b(?:delete|remove|drop)\b.*\b(?:block|section|paragraph|chart|table|csv)\b`, only: "write_block", say: deleteBlock},
	{match: `\bmove\b.*\b(?:block|section|paragraph|chart|table|csv|summary|sources?)\b`, only: "write_block", say: moveBlock},
	{match: `\b(?:edit|rewrite|change|shorten|improve|rephrase)\b.*\b(?:block|section|paragraph|introduction|summary|text|title)\b`, only: "write_block", say: editBlock},
	{match: `\b(?:write|create|draft|make|prepare|plan)\b.*\b(?:report|document|paper|article|overview|page|briefing)\b`, only: "write_block", say: writeDocument},
	{match: `\b(?:read|show|what is in|what's in)\b.*\bdocument\b`, only: "write_block", say: readDocument},
	{match: `^(?:please )?(?:write|create|draft|prepare)\b.*\b(?:report|document|paper|article)\b`, needs: "write_block", where: onDocument, say: writeDocument},

	// Payloads that the model writes.
	{match: `\b(?:propose|suggest|improve|change|extend|update)\b.*\bschema\b`, needs: "schema_proposal", where: onSemantic, say: proposeSchema},
	{match: `\bvalidate\b|\bcheck\b.*\b(?:schema|stream)\b`, needs: "validation_results", where: onSemantic, say: validate},
	{match: `\b(?:suggest|propose|write|improve|build)\b.*\bquer(?:y|ies)\b`, needs: "query_suggestion", where: "Edit stream, tab Retrieval", say: suggestQuery},
	{match: `\b(?:suggest|propose|recommend)\b.*\b(?:streams?|follow)\b`, needs: "stream_suggestions", where: onStreams, say: suggestStreams},
	{match: `\b(?:categori[sz]e|categories)\b|\bgroup (?:the |these )?articles\b`, needs: "presentation_categories", where: onArticles, say: categorize},
	{match: `\b(?:add|suggest|propose|make)\b.*\bcolumn\b`, needs: "ai_column_suggestion", where: onArticles, say: addColumn},

	// Client actions and tools of the page.
	{match: `^(?:close(?: the)?(?: chat| tray)?|bye|goodbye|that'?s all|done)\W*$`, say: closeChat},
	{match: `^(?:please )?open article (\d{1,9})\b`, needs: "open_article", where: onArticles, say: relay("open_article", "article_id", "I ask the page to open it.")},

	// Looking things up.
	{match: `(https?://\S*[^\s.,;:!?)\]}>"'` + "`" + `])`, needs: "fetch_webpage", where: "another page", say: fetchPage},
	{match: `\bsearch (?:the )?(?:web|internet|online)\b|\bweb search\b|\bon the (?:web|internet)\b`, needs: "web_search", where: "a server with a search engine (setting `searxng_url`)", say: searchWeb},
	{match: `\b(?:pubmed article|pmid)\W*(\d{1,8})\b`, needs: "get_pubmed_article", where: networked, say: relay("get_pubmed_article", "pmid", "I get the article from PubMed.")},
	{match: `\bpubmed\b`, needs: "search_pubmed", where: networked, say: searchPubmed},
	{match: `\bpayload\W+([0-9a-f]{8})\b`, needs: "get_payload", where: "another page", say: relay("get_payload", "payload_id", "I get it.")},
	{match: `\bcompare\b.*\bstreams?\W*(\d{1,9})\b.*?\b(\d{1,9})\b`, needs: "get_stream", where: onStreams, say: compareStreams},
	{match: `\bstream\W*(\d{1,9})\b|\bthis (?:research )?stream\b`, needs: "get_stream", where: onStreams, say: showStream},
	{match: `\breport\W*(\d{1,9})\b|\bthis report\b`, needs: "get_report", where: onReports, say: showReport},
	{match: `\b(?:list|show|which|what|all|latest|newest)\b[^.?!]*\bstreams\b`, needs: "list_streams", where: onStreams, say: listStreams},
	{match: `^(?:hi|hello|hey|good (?:morning|evening|day)|hallo|bonjour|hola|ciao|thanks?|thank you|danke|merci|gracias)\b[^?]{0,30}$`, say: greet},
	{match: `\b(?:search|find|look for|articles?)\b`, needs: "search_articles", where: onReports, say: searchArticles},
	{match: `\b(?:list|show|which|what|all|latest|newest)\b[^.?!]*\breports\b`, needs: "list_reports", where: onReports, say: listReports},
	{match: ``, needs: "search_articles", where: onReports, say: searchArticles},
})

// compiled is a rule with its expression ready.
type compiled struct {
	rule
	expr *regexp.Regexp
}

func compile(rules []rule) []compiled {
	out := make([]compiled, len(rules))
	for i, r := range rules {
		out[i] = compiled{r, regexp.MustCompile("(?i)" + r.match)}
	}
	return out
}

// intro opens the first answer of a chat.
const intro = "I am the built-in **demo model**: rules instead of a language model, but real tools, documents and approvals. Try `help`.\n\n"

// starters are chips for somebody who does not know where to begin.
var starters = []string{
	"Create a research report about gold", "Research base editing and gold", "Order 2 printed copies of report 1",
	"Summarize report 1", "List the research streams", "Find articles about BCL11A", "Compare stream 1 and stream 2",
}

// answer is the next reply.
func (s *scene) answer() reply {
	r := s.reply()
	if len(r.calls) > 0 && s.ToolsForbidden {
		r = sumUp(s)
	}
	if s.first && s.rounds == 0 && r.fail == nil && !r.bare {
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
		return mergeParts(s)
	case turn.NameChat:
		return nameChat(s)
	case turn.AnswerPart:
	}
	if s.ask == "" {
		return reply{text: "I did not get a question. Write `help` to see what I can do."}
	}
	for _, r := range rules {
		m := r.expr.FindStringSubmatch(s.ask)
		switch {
		case m == nil || r.only != "" && !s.offered(r.only):
		case r.needs != "" && !s.offered(r.needs) && s.marker(r.needs) == "":
			return reply{text: fmt.Sprintf("This page does not offer me `%s`, which I need for that. Try it on %s.", r.needs, r.where), chips: starters, refused: true}
		default:
			return r.say(s, m)
		}
	}
	return reply{} // the last rule matches everything
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
	text := ""
	if len(values) > 0 && s.facts.Purpose == "" {
		text = "\n\nSUGGESTED_VALUES: " + toJSON(values)
	}
	if len(buttons) > 0 {
		text += "\n\nSUGGESTED_ACTIONS: " + toJSON(buttons)
	}
	return text
}
