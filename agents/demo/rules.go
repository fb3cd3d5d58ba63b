package demo

import (
	"regexp"
	"strings"

	"github.com/chattray/chattray/schemas"
)

// maxChips is how many suggested values an answer carries.
const maxChips = 4

// script says the next reply of the answer to the question. m holds what the
// rule's expression found.
type script func(s *scene, m []string) reply

// rule is one thing that the demo model understands: the first rule whose
// expression matches the question in lower case, and whose condition holds, is
// asked for every reply of the answer.
type rule struct {
	match string
	when  func(*scene) bool
	say   script
}

// hasDocument says whether the model may write into a document.
func hasDocument(s *scene) bool { return s.offered("write_block") }

var rules = compile([]rule{
	// Commands, for tests and tours. A command is the whole message.
	{`^(?:/?help|\?|what can you do|hilfe|aide|ayuda)\W*$`, nil, help},
	{`^slow (\d{1,4})$`, nil, slow},
	{`^long(?: (\d{1,6}))?$`, nil, long},
	{`^think\b`, nil, think},
	{`^error$`, nil, failAtOnce},
	{`^error late$`, nil, failLate},
	{`^max tokens$`, nil, cutShort},
	{`^tool error$`, nil, toolError},
	{`(?s)^call [a-z0-9_-]+(?:\s+\{.*)?$`, nil, callTool},
	{`^max iterations$`, nil, useAllIterations},
	{`^markdown$`, nil, page("markdown.md")},
	{`^hostile$`, nil, page("hostile.md")},

	// Threads.
	{`^research (?:on |about |into )?(.{3,})`, hasResearch, research},

	// Documents.
	{`\b(?:delete|remove|drop)\b.*\b(?:block|section|paragraph|chart|table|csv)\b`, hasDocument, deleteBlock},
	{`\bmove\b.*\b(?:block|section|paragraph|chart|table|csv|summary|sources?)\b`, hasDocument, moveBlock},
	{`\b(?:edit|rewrite|change|shorten|improve|rephrase)\b.*\b(?:block|section|paragraph|introduction|summary|text|title)\b`, hasDocument, editBlock},
	{`\b(?:write|create|draft|make|prepare|plan)\b.*\b(?:report|document|paper|article|overview|page|briefing)\b`, hasDocument, writeDocument},
	{`\b(?:read|show|what is in|what's in)\b.*\bdocument\b`, hasDocument, readDocument},
	{`^(?:please )?(?:write|create|draft|prepare)\b.*\b(?:report|document|paper|article)\b`, nil, noDocument},

	// Payloads that the model writes.
	{`\b(?:propose|suggest|improve|change|extend|update)\b.*\bschema\b`, nil, proposeSchema},
	{`\bvalidate\b|\bcheck\b.*\b(?:schema|stream)\b`, nil, validate},
	{`\b(?:suggest|propose|write|improve|build)\b.*\bquer(?:y|ies)\b`, nil, suggestQuery},
	{`\b(?:suggest|propose|recommend)\b.*\b(?:streams?|follow)\b`, nil, suggestStreams},
	{`\b(?:categori[sz]e|categories)\b|\bgroup (?:the |these )?articles\b`, nil, categorize},
	{`\b(?:add|suggest|propose|make)\b.*\bcolumn\b`, nil, addColumn},

	// Client actions.
	{`^(?:close(?: the)?(?: chat| tray)?|bye|goodbye|that'?s all|done)\W*$`, nil, closeChat},

	// Tools of the page.
	{`^(?:please )?open article (\d{1,9})\b`, nil, openArticle},

	// Looking things up.
	{`https?://\S+`, nil, fetchPage},
	{`\bsearch (?:the )?(?:web|internet|online)\b|\bweb search\b|\bon the (?:web|internet)\b`, nil, searchWeb},
	{`\b(?:pubmed article|pmid)\W*(\d{1,8})\b`, nil, pubmedArticle},
	{`\bpubmed\b`, nil, searchPubmed},
	{`\bpayload\W+([0-9a-f]{8})\b`, nil, showPayload},
	{`\bcompare\b.*\bstreams?\W*(\d{1,9})\b.*?\b(\d{1,9})\b`, nil, compareStreams},
	{`\bstream\W*(\d{1,9})\b|\bthis (?:research )?stream\b`, nil, showStream},
	{`\breport\W*(\d{1,9})\b|\bthis report\b`, nil, showReport},
	{`\b(?:list|show|which|what|all|latest|newest)\b[^.?!]*\bstreams\b`, nil, listStreams},
	{`^(?:hi|hello|hey|good (?:morning|evening|day)|hallo|bonjour|hola|ciao|thanks?|thank you|danke|merci|gracias)\b[^?]{0,30}$`, nil, greet},
	{`\b(?:search|find|look for|articles?)\b`, nil, searchArticles},
	{`\b(?:list|show|which|what|all|latest|newest)\b[^.?!]*\breports\b`, nil, listReports},
	{``, nil, searchArticles},
})

// compiled is a rule with its expression ready.
type compiled struct {
	rule
	expr *regexp.Regexp
}

func compile(rules []rule) []compiled {
	out := make([]compiled, len(rules))
	for i, r := range rules {
		out[i] = compiled{r, regexp.MustCompile(r.match)}
	}
	return out
}

// intro opens the first answer of a chat.
const intro = "I am the **demo model**: a table of rules that runs with no key and no network, over bundled sample data. " +
	"Set a model's key to talk to a real one; write `help` to see what I can do.\n\n"

// answer is the next reply.
func (s *scene) answer() reply {
	r := s.reply()
	if len(r.calls) > 0 && s.ToolsForbidden {
		r = sumUp(s)
	}
	if s.first && s.rounds == 0 && r.fail == nil && !r.bare {
		r.text = intro + r.text
	}
	if len(r.calls) == 0 && r.fail == nil && r.stop == "" {
		r.text += s.suggestions(r)
	}
	return r
}

func (s *scene) reply() reply {
	if strings.HasPrefix(s.System, "You condense") && len(s.Tools) == 0 {
		return condense(s)
	}
	if strings.HasPrefix(s.System, planBegins) {
		return planResearch(s)
	}
	if strings.HasPrefix(s.System, mergeBegins) {
		return mergeResearch(s)
	}
	if s.ask == "" {
		return reply{text: "I did not get a question. Write `help` to see what I can do."}
	}
	for _, r := range rules {
		if m := r.expr.FindStringSubmatch(s.asked); m != nil && (r.when == nil || r.when(s)) {
			return r.say(s, m)
		}
	}
	return reply{} // the last rule matches everything
}

// suggestions writes chips and buttons, as far as the system prompt knows them.
func (s *scene) suggestions(r reply) string {
	var b strings.Builder
	if strings.Contains(s.System, "SUGGESTED_VALUES:") {
		var values []schemas.SuggestedValue
		for _, c := range unique(r.chips) {
			if len(values) < maxChips && c != s.ask && s.works(c) {
				values = append(values, schemas.SuggestedValue{Label: c, Value: c})
			}
		}
		if len(values) > 0 {
			b.WriteString("\n\nSUGGESTED_VALUES: " + toJSON(values))
		}
	}
	var buttons []schemas.SuggestedAction
	for _, a := range r.buttons {
		if s.maySuggest(a.Action) {
			buttons = append(buttons, a)
		}
	}
	if len(buttons) > 0 {
		b.WriteString("\n\nSUGGESTED_ACTIONS: " + toJSON(buttons))
	}
	return b.String()
}

// works says whether this page has what the answer to question needs.
func (s *scene) works(question string) bool {
	next := &scene{ModelRequest: s.ModelRequest, ask: question, asked: strings.ToLower(question)}
	return !next.reply().refused
}

// starters are chips for somebody who does not know where to begin.
var starters = []string{
	"Create a research report about gold",
	"List the research streams",
	"Find articles about BCL11A",
	"Summarize report 1",
	"Compare stream 1 and stream 2",
}
