package demo

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/text"
	"github.com/chattray/chattray/schemas/turn"
)

// maxChips is how many suggested values an answer carries.
const maxChips = 4

// story is one thing that the demo model can do.
type story struct {
	// when is an expression that the question matches, ignoring case.
	when string
	// only is a tool; a page without it does not have the story.
	only string
	// needs is a tool or a payload type. On a page without it the answer comes
	// from instead, or says where to try the story.
	needs, where string
	// steps are asked in order for every reply of the answer. The first that
	// does not return the zero reply gives the reply.
	steps, instead []step
}

// step gives a reply, or the zero reply if it does not apply.
type step func(r *request) reply

// Places where a story can be tried.
const (
	onReports  = "the Reports page"
	onStreams  = "the Streams page"
	onDocument = "the Document page"
	onArticles = "a report's tab Articles"
	onSemantic = "Edit stream, tab Semantic"
	networked  = "a server that may reach PubMed"
)

// stories is the table: the first story that matches is told.
var stories = []story{
	// Commands, for tests and tours. A command is the whole message.
	{when: `^(?:/?help|\?|what can you do|hilfe|aide|ayuda)\W*$`, steps: []step{help}},
	{when: `^slow (\d{1,4})$`, steps: []step{slow}},
	{when: `^long(?: (\d{1,6}))?$`, steps: []step{long}},
	{when: `^think\b`, steps: []step{say(reply{
		thinking: "The user asks me to think. I have no thoughts, only rules, so I say them one by one. " +
			"First I look for a command. Then for a document, a payload, the number of a report. At last I search.",
		text:  "I thought about it: I have a table of rules and take the first that fits.",
		chips: starters,
	})}},
	{when: `^error$`, steps: []step{say(reply{fail: schemas.NewError(schemas.CodeUpstreamUnavailable, "the demo model was asked to fail, and did")})}},
	{when: `^error late$`, steps: []step{say(reply{
		text: "This answer begins well enough, and then it breaks off in the middle of",
		fail: schemas.NewError(schemas.CodeUpstreamTruncated, "the demo model was asked to break off, and did"),
	})}},
	{when: `^max tokens$`, steps: []step{say(reply{text: "This answer reaches its limit of tokens before it comes to the", stop: schemas.MaxTokens})}},
	{when: `^tool error$`, steps: []step{toolError, show("refused", "help")}},
	{when: `(?s)^call ([a-z0-9_-]+)(?:\s+(\{.*))?$`, steps: []step{callTool, show("came back", "help")}},
	{when: `(?s)^say (.+)$`, steps: []step{sayAsTold}},
	{when: `^max iterations$`, steps: []step{useAllIterations, sumUp}},
	{when: `^markdown$`, steps: []step{show("markdown", "help")}},
	{when: `^hostile$`, steps: []step{show("hostile", "help")}},

	// Research in threads, and an approval.
	{
		when: `^research (?:on |about |into )?(.{3,})`, needs: "research", where: onReports + " or " + onStreams,
		steps: []step{look("I split that up and search for its parts side by side.", "research", firstMatch("question")), show("text", starters...)},
	},
	{
		when: `^(?:please )?order\b(?:\D*(\d{1,2}) (?:printed )?cop)?`, needs: "order_print", where: "a service that has no model but me",
		steps: []step{look("I place the order as soon as you approve it.", "order_print", order), show("ordered", starters...)},
	},

	// Documents.
	{when: `\b(?:delete|remove|drop)\b.*\b(?:block|section|paragraph|chart|table|csv)\b`, only: "write_block", steps: deleteBlock},
	{when: `\bmove\b.*\b(?:block|section|paragraph|chart|table|csv|summary|sources?)\b`, only: "write_block", steps: moveBlock},
	{when: `\b(?:edit|rewrite|change|shorten|improve|rephrase)\b.*\b(?:block|section|paragraph|introduction|summary|text|title)\b`, only: "write_block", steps: editBlock},
	{when: `\b(?:write|create|draft|make|prepare|plan)\b.*\b(?:report|document|paper|article|overview|page|briefing)\b`, only: "write_block", steps: writeDocument},
	{when: `\b(?:read|show|what is in|what's in)\b.*\bdocument\b`, only: "write_block", steps: []step{lookAtDocument, show("document", "Shorten the summary", "Delete the last block")}},
	{when: `\b(?:write|create|draft|prepare)\b.*\b(?:report|document|paper|article)\b`, only: "search_articles", needs: "write_block", where: onDocument, instead: writeAnswer},

	// Payloads that the model writes.
	{when: `\b(?:propose|suggest|improve|change|extend|update)\b.*\bschema\b`, needs: "schema_proposal", where: onSemantic, steps: []step{lookAtStream, proposeSchema}},
	{when: `\bvalidate\b|\bcheck\b.*\b(?:schema|stream)\b`, needs: "validation_results", where: onSemantic, steps: []step{lookAtStream, validate}},
	{when: `\b(?:suggest|propose|write|improve|build)\b.*\bquer(?:y|ies)\b`, needs: "query_suggestion", where: "Edit stream, tab Retrieval", steps: []step{lookAtStream, suggestQuery}},
	{when: `\b(?:suggest|propose|recommend)\b.*\b(?:streams?|follow)\b`, needs: "stream_suggestions", where: onStreams, steps: []step{show("stream suggestions")}},
	{
		when: `\b(?:categori[sz]e|categories)\b|\bgroup (?:the |these )?articles\b`, needs: "presentation_categories", where: onArticles,
		steps: []step{look("Let me read the report.", "get_report", theOne("report")), categorize},
	},
	{when: `\b(?:add|suggest|propose|make)\b.*\bcolumn\b`, needs: "ai_column_suggestion", where: onArticles, steps: []step{show("column")}},

	// Client actions and tools of the page.
	{when: `^(?:close(?: the)?(?: chat| tray)?|bye|goodbye|that'?s all|done)\W*$`, steps: []step{closeChat}},
	{when: `^(?:please )?open article (\d{1,9})\b`, needs: "open_article", where: onArticles, steps: []step{look("I ask the page to open it.", "open_article", firstNumber("article_id")), quote}},

	// Looking things up.
	{when: `(https?://\S*[^\s.,;:!?)\]}>"'` + "`" + `])`, needs: "fetch_webpage", where: "another page", steps: []step{look("I read the page.", "fetch_webpage", firstMatch("url")), quote}},
	{
		when:  `\bsearch (?:the )?(?:web|internet|online)\b|\bweb search\b|\bon the (?:web|internet)\b`,
		needs: "web_search", where: "a server with a search engine (setting `searxng_url`)",
		steps: []step{needTopic("What shall I search the web for?"), look("I search the web for **%s**.", "web_search", query), quote},
	},
	{when: `\b(?:pubmed article|pmid)\W*(\d{1,8})\b`, needs: "get_pubmed_article", where: networked, steps: []step{look("I get the article from PubMed.", "get_pubmed_article", firstMatch("pmid")), quote}},
	{
		when: `\bpubmed\b`, needs: "search_pubmed", where: networked,
		steps: []step{needTopic("What shall I search PubMed for? Try `Search PubMed for base editing`."), look("I search PubMed for **%s**.", "search_pubmed", pubmedQuery), showPubmed, quote},
	},
	{when: `\bpayload\W+([0-9a-f]{8})\b`, needs: "get_payload", where: "another page", steps: []step{look("I get it.", "get_payload", firstMatch("payload_id")), quote}},
	{when: `\bcompare\b.*\bstreams?\W*(\d{1,9})\b.*?\b(\d{1,9})\b`, needs: "get_stream", where: onStreams, steps: []step{lookAtBoth, show("compare", "List the reports", "Suggest streams about phage therapy"), quote}},
	{
		when: `\bstream\W*(\d{1,9})\b|\bthis (?:research )?stream\b`, needs: "get_stream", where: onStreams,
		steps: []step{look("Let me look at the stream.", "get_stream", theOne("stream")), show("stream", "Propose a schema with long-term follow-up", "Compare stream 1 and stream 2"), quote},
	},
	{
		when: `\breport\W*(\d{1,9})\b|\bthis report\b`, needs: "get_report", where: onReports,
		steps: []step{
			look("Let me read the report.", "get_report", theOne("report")),
			show("report", "Categorize the articles", "Add a column for study design", "Order 2 printed copies of report {report}", "List the reports"), quote,
		},
	},
	{
		when: `\b(?:list|show|which|what|all|latest|newest)\b[^.?!]*\bstreams\b`, needs: "list_streams", where: onStreams,
		steps: []step{look("Let me look.", "list_streams", noArguments), show("streams", "Tell me about stream 1", "Compare stream 1 and stream 2", "Suggest streams about phage therapy"), quote},
	},
	{
		when:  `^(?:hi|hello|hey|good (?:morning|evening|day)|hallo|bonjour|hola|ciao|thanks?|thank you|danke|merci|gracias)\b[^?]{0,30}$`,
		steps: []step{show("hello", starters...)},
	},
	{when: `\b(?:search|find|look for|articles?)\b`, needs: "search_articles", where: onReports, steps: searchArticles},
	{when: `\b(?:list|show|which|what|all|latest|newest)\b[^.?!]*\breports\b`, needs: "list_reports", where: onReports, steps: []step{look("Let me look.", "list_reports", noArguments), show("reports", "Summarize report 1", "List the research streams"), quote}},
	{needs: "search_articles", where: onReports, steps: searchArticles},
}

// forService are the replies to the service's own calls of the model.
var forService = map[turn.Purpose]step{
	turn.Summarize: show("condensed"), turn.PlanParts: show("parts"), turn.MergeParts: show("merged"), turn.NameChat: nameChat,
}

var expressions = func() []*regexp.Regexp {
	list := make([]*regexp.Regexp, len(stories))
	for i, s := range stories {
		list[i] = regexp.MustCompile("(?i)" + s.when)
	}
	return list
}()

// intro opens the first answer of a chat.
const intro = "I am the built-in **demo model**: rules instead of a language model, but real tools, documents and approvals. Try `help`.\n\n"

// starters are chips for users who do not know where to begin.
var starters = []string{
	"Create a report with a chart about gold", "Research base editing and gold", "Order 2 printed copies of report 1",
	"Summarize report 1", "List the research streams", "Find articles about BCL11A", "Compare stream 1 and stream 2",
}

// reply returns the next reply, with its introduction and suggestions.
func (r *request) reply() reply {
	out := r.tell()
	if len(out.calls) > 0 && r.ToolsForbidden {
		out = sumUp(r)
	}
	switch {
	case r.IntoDocument() && len(out.calls) > 0:
		out.text = "" // remarks about lookups do not belong in a document
	case r.first && r.Rounds == 0 && out.fail == nil && !out.bare && !r.IntoDocument():
		out.text = intro + out.text
	}
	if len(out.calls) == 0 && out.fail == nil && out.stop == "" && r.suggests {
		out.text += r.suggestions(out)
	}
	return out
}

// tell returns the next reply of the story that the request asks for.
func (r *request) tell() reply {
	if answer, ok := forService[r.Facts.Purpose]; ok {
		out := answer(r)
		out.bare = true
		return out
	}
	if r.question == "" {
		return reply{text: "I did not get a question. Write `help` to see what I can do."}
	}
	for i, s := range stories { // the last one matches everything
		r.matches = expressions[i].FindStringSubmatch(r.question)
		if r.matches != nil && (s.only == "" || r.offers(s.only)) {
			r.Needs = s.needs
			return s.tell(r)
		}
	}
	return reply{}
}

func (s story) tell(r *request) reply {
	steps, elsewhere := s.steps, s.needs != "" && !r.offers(s.needs) && r.Marker() == ""
	if elsewhere {
		steps = append(slices.Clone(s.instead), say(reply{
			text: fmt.Sprintf("This page does not offer me `%s`, which I need for that. Try it on %s.", s.needs, s.where), chips: starters,
		}))
	}
	for _, step := range steps {
		if out := step(r); out.text != "" || out.fail != nil {
			out.elsewhere = elsewhere
			return out
		}
	}
	return reply{}
}

// suggestions writes the chips and buttons for which the page has what they
// need.
func (r *request) suggestions(out reply) string {
	var values []schemas.SuggestedValue
	for _, c := range unique(out.chips) {
		next := &request{ModelRequest: r.ModelRequest, question: c}
		if len(values) < maxChips && c != r.question && !next.tell().elsewhere {
			values = append(values, schemas.SuggestedValue{Label: c, Value: c})
		}
	}
	buttons := slices.DeleteFunc(slices.Clone(out.buttons), func(a schemas.SuggestedAction) bool { return !r.maySuggest(a.Action) })
	var more strings.Builder
	if len(values) > 0 && r.Facts.Purpose == "" {
		more.WriteString("\n\nSUGGESTED_VALUES: " + text.JSON(values))
	}
	if len(buttons) > 0 {
		more.WriteString("\n\nSUGGESTED_ACTIONS: " + text.JSON(buttons))
	}
	return more.String()
}
