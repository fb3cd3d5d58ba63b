package demo

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/chattray/chattray/schemas"
)

// object is JSON in the making; its keys are written in order.
type object = map[string]any

// elsewhere is the answer where the page does not allow a payload.
func elsewhere(what, where string) reply {
	return reply{text: fmt.Sprintf("This page lets me suggest no %s. Try it on %s.", what, where), chips: []string{"help"}, refused: true}
}

// marked is text with a payload behind its marker.
func marked(text, marker string, data any) reply {
	return reply{text: text + "\n\n" + marker + " " + toJSON(data)}
}

// look asks for one tool once: ok is false while the answer has to wait for it.
// A tool that is not offered is gone without.
func (s *scene) look(text string, c call) (r reply, ok bool) {
	if s.called(c.name) || !s.offered(c.name) {
		return reply{}, true
	}
	return reply{text: text, calls: []call{c}}, false
}

// streamInView loads the stream that is meant or in the page's context.
func (s *scene) streamInView() (id int64, r reply, ok bool) {
	if id = s.id("stream"); id == 0 {
		return 0, reply{}, true
	}
	r, ok = s.look(fmt.Sprintf("Let me look at stream %d first.", id), call{"get_stream", toJSON(object{"stream_id": id})})
	return id, r, ok
}

func proposeSchema(s *scene, _ []string) reply {
	if !s.mayWrite("SCHEMA_PROPOSAL:") {
		return elsewhere("schema", "Edit stream, tab Semantic")
	}
	id, r, ok := s.streamInView()
	if !ok {
		return r
	}
	topic := or(topicOf(strings.ReplaceAll(s.asked, "schema", "")), "long-term follow-up")
	topics := append(s.list("topics"), topic)
	changes := object{"semantic.topics": unique(topics)}
	if inclusion := s.list("inclusion"); len(inclusion) > 0 {
		changes["semantic.inclusion"] = unique(append(inclusion, "studies of "+topic))
	}
	proposal := object{
		"title":     "Add " + topic,
		"rationale": fmt.Sprintf("You asked for it: the stream then also finds studies of %s.", topic),
		"changes":   changes,
	}
	action := object{"changes": changes}
	if id > 0 {
		proposal["stream_id"], action["stream_id"] = id, id
	}
	r = marked(fmt.Sprintf("I propose to add **%s** to the topics. Nothing changes until you accept.", topic), "SCHEMA_PROPOSAL:", proposal)
	r.chips = []string{"Validate the schema", "Suggest a query"}
	if id > 0 {
		r.buttons = []schemas.SuggestedAction{{
			Label: "Apply changes", Action: "apply_schema", Handler: "server", Data: json.RawMessage(toJSON(action)), Style: "primary",
		}}
	}
	return r
}

// validate checks the parts that every bundled schema has.
func validate(s *scene, _ []string) reply {
	if !s.mayWrite("VALIDATION_RESULTS:") {
		return elsewhere("validation", "Edit stream, tab Semantic")
	}
	if _, r, ok := s.streamInView(); !ok {
		return r
	}
	var results []object
	sound := 0
	check := func(item string, holds bool, status, message string) {
		if holds {
			sound++
			results = append(results, object{"item": item, "status": "valid"})
			return
		}
		results = append(results, object{"item": item, "status": status, "message": message})
	}
	check("semantic.topics", len(s.list("topics")) > 1, "invalid", "Name at least two topics, so that articles can be told apart.")
	check("semantic.inclusion", len(s.list("inclusion")) > 0, "warning", "Say what to include.")
	check("semantic.exclusion", len(s.list("exclusion")) > 0, "warning", "Say what to leave out.")
	query := s.query()
	check("retrieval.query", query != "" && balanced(query), "invalid", "Write a query with balanced parentheses and quotation marks.")
	summary := fmt.Sprintf("%d of %d parts hold.", sound, len(results))
	r := marked("I checked the schema part by part: "+summary, "VALIDATION_RESULTS:", object{"results": results, "summary": summary})
	r.chips = []string{"Propose a schema with long-term follow-up"}
	return r
}

func balanced(query string) bool {
	depth := 0
	for _, r := range query {
		switch r {
		case '(':
			depth++
		case ')':
			if depth--; depth < 0 {
				return false
			}
		}
	}
	return depth == 0 && strings.Count(query, `"`)%2 == 0
}

func suggestQuery(s *scene, _ []string) reply {
	if !s.mayWrite("QUERY_SUGGESTION:") {
		return elsewhere("query", "Edit stream, tab Retrieval")
	}
	if _, r, ok := s.streamInView(); !ok {
		return r
	}
	topic, query, explanation := s.topic(), "", ""
	switch old := s.query(); {
	case topic != "":
		terms := strings.Fields(topic)
		for i, t := range terms {
			terms[i] = t + "[Title/Abstract]"
		}
		query = strings.Join(terms, " AND ")
		explanation = "Every word in title or abstract."
	case old != "":
		query = "(" + old + ") AND (clinical trial[Publication Type] OR review[Publication Type])"
		explanation = "The stream's query, narrowed to clinical trials and reviews."
	default:
		return reply{text: "Tell me what the query is to find, as in `suggest a query for base editing`."}
	}
	r := marked("Here is a query for PubMed: `"+query+"`. "+explanation, "QUERY_SUGGESTION:",
		object{"query": query, "source": "pubmed", "explanation": explanation})
	r.chips = []string{"Suggest a query for prime editing", "Search PubMed for prime editing"}
	return r
}

func suggestStreams(s *scene, _ []string) reply {
	if !s.mayWrite("STREAM_SUGGESTIONS:") {
		return elsewhere("streams", "the Streams page")
	}
	topic := or(topicOf(strings.ReplaceAll(s.asked, "follow", "")), "gene therapy")
	items := []object{
		{
			"name": "Clinical trials: " + topic, "purpose": fmt.Sprintf("Which trials of %s report results in people?", topic),
			"topics": []string{topic, "clinical trials"}, "query": topic + " AND clinical trial[Publication Type]",
			"rationale": "Trials are few, and each matters.",
		},
		{
			"name": "Safety: " + topic, "purpose": fmt.Sprintf("Which risks of %s are reported?", topic),
			"topics": []string{topic, "safety"}, "query": topic + " AND (safety OR adverse)",
			"rationale": "Risks come out later than benefits and in other journals.",
		},
	}
	return marked(fmt.Sprintf("Two streams about **%s** that you could set up:", topic), "STREAM_SUGGESTIONS:", object{"suggestions": items})
}

func categorize(s *scene, _ []string) reply {
	if !s.mayWrite("PRESENTATION_CATEGORIES:") {
		return elsewhere("categories", "Reports, tab Articles")
	}
	if id := s.id("report"); id > 0 {
		if r, ok := s.look(fmt.Sprintf("Let me read report %d.", id), call{"get_report", toJSON(object{"report_id": id})}); !ok {
			return r
		}
	}
	found := articles(s.of("get_report"))
	if len(found) == 0 {
		found = articlesIn(s.context())
	}
	var names []string
	groups := map[string]object{}
	for _, a := range found {
		name := or(a.category, decade(a.year))
		key, id := "pmids", any(a.pmid)
		if a.id > 0 {
			key, id = "article_ids", a.id
		}
		if id == "" {
			continue
		}
		if groups[name] == nil {
			groups[name] = object{"name": name}
			names = append(names, name)
		}
		ids, _ := groups[name][key].([]any)
		if !slices.Contains(ids, id) {
			groups[name][key] = append(ids, id)
		}
	}
	if len(names) == 0 {
		return reply{text: "I see no articles to group. Open a report, or name one: `categorize report 1`."}
	}
	categories := make([]object, len(names))
	for i, name := range names {
		categories[i] = groups[name]
	}
	return marked(fmt.Sprintf("%s fall into %s: %s.", count(len(found), "article"), count(len(names), "group"), strings.Join(names, ", ")),
		"PRESENTATION_CATEGORIES:", object{"categories": categories})
}

func decade(year int) string {
	if year == 0 {
		return "Without a year"
	}
	return fmt.Sprintf("%ds", year/10*10)
}

func addColumn(s *scene, _ []string) reply {
	if !s.mayWrite("AI_COLUMN:") {
		return elsewhere("column", "Reports, tab Articles")
	}
	topic := or(s.topic(), "main finding")
	column := object{
		"name": title(topic), "description": "What the article says about " + topic + ".", "type": "text",
		"prompt": "In at most ten words: what does this article say about " + topic + "? Answer \"not stated\" when it says nothing.",
	}
	if strings.Contains(s.asked, "whether") {
		column["type"] = "boolean"
		column["prompt"] = "Does this hold for this article: " + topic + "?"
	}
	return marked(fmt.Sprintf("A column **%s** would help to compare these articles.", title(topic)), "AI_COLUMN:", column)
}

// list returns a list of strings of the stream's schema.
func (s *scene) list(key string) []string { return listIn(s.streamText(), key) }

func listIn(text, key string) []string {
	at := regexp.MustCompile(`"` + key + `"\s*:\s*(\[[^\[\]]*\])`)
	if m := at.FindStringSubmatch(text); m != nil {
		var items []string
		if json.Unmarshal([]byte(m[1]), &items) == nil {
			return items
		}
	}
	return nil
}

var queryField = regexp.MustCompile(`"query"\s*:\s*("(?:[^"\\]|\\.)*")`)

// query returns the stream's query, "" when it is not known.
func (s *scene) query() string {
	var q string
	if m := queryField.FindStringSubmatch(s.streamText()); m != nil && json.Unmarshal([]byte(m[1]), &q) != nil {
		return ""
	}
	return q
}

// streamText is what is known of the stream: the tool's text, else the page's
// context.
func (s *scene) streamText() string {
	for _, r := range s.of("get_stream") {
		return r.text
	}
	return s.context()
}

func unique(items []string) []string {
	var out []string
	for _, i := range items {
		if !slices.Contains(out, i) {
			out = append(out, i)
		}
	}
	return out
}
