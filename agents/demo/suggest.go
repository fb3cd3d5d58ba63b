package demo

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/chattray/chattray/schemas"
)

// written is text with a payload of the type.
func (s *scene) written(text, payload string, data any) reply {
	return reply{text: text + "\n\n" + s.marker(payload) + " " + toJSON(data)}
}

// stream looks at the stream that is meant or that the page shows.
func (s *scene) stream() (id int64, known streamSchema, r reply, ok bool) {
	if id = s.id("stream"); id > 0 {
		if r, ok = s.look(fmt.Sprintf("Let me look at stream %d first.", id), call{"get_stream", s.args("stream")}); !ok {
			return id, known, r, false
		}
	}
	return id, schemaOf(s.got("get_stream").Stream), reply{}, true
}

func proposeSchema(s *scene, _ []string) reply {
	id, schema, r, ok := s.stream()
	if !ok {
		return r
	}
	topic := cmp.Or(s.topic("schema"), "long-term follow-up")
	changes := object{"semantic.topics": unique(append(schema.Semantic.Topics, topic))}
	if inclusion := schema.Semantic.Inclusion; len(inclusion) > 0 {
		changes["semantic.inclusion"] = unique(append(inclusion, "studies of "+topic))
	}
	proposal := object{
		"title":     "Add " + topic,
		"rationale": fmt.Sprintf("You asked for it: the stream then also finds studies of %s.", topic),
		"changes":   changes,
	}
	if id > 0 {
		proposal["stream_id"] = id
	}
	r = s.written(fmt.Sprintf("I propose to add **%s** to the topics. Nothing changes until you accept.", topic), "schema_proposal", proposal)
	r.chips = []string{"Validate the schema", "Suggest a query"}
	if id > 0 {
		r.buttons = []schemas.SuggestedAction{{
			Label: "Apply changes", Action: "apply_schema", Handler: "server", Style: "primary",
			Data: json.RawMessage(toJSON(object{"changes": changes, "stream_id": id})),
		}}
	}
	return r
}

// validate checks the parts that every bundled schema has.
func validate(s *scene, _ []string) reply {
	_, schema, r, ok := s.stream()
	if !ok {
		return r
	}
	query := schema.Retrieval.Query
	balanced := strings.Count(query, "(") == strings.Count(query, ")") && strings.Count(query, `"`)%2 == 0
	var results []object
	sound := 0
	for _, part := range []struct {
		item            string
		holds           bool
		status, message string
	}{
		{"semantic.topics", len(schema.Semantic.Topics) > 1, "invalid", "Name at least two topics, so that articles can be told apart."},
		{"semantic.inclusion", len(schema.Semantic.Inclusion) > 0, "warning", "Say what to include."},
		{"semantic.exclusion", len(schema.Semantic.Exclusion) > 0, "warning", "Say what to leave out."},
		{"retrieval.query", query != "" && balanced, "invalid", "Write a query with balanced parentheses and quotation marks."},
	} {
		if part.holds {
			sound++
			results = append(results, object{"item": part.item, "status": "valid"})
			continue
		}
		results = append(results, object{"item": part.item, "status": part.status, "message": part.message})
	}
	summary := fmt.Sprintf("%d of %d parts hold.", sound, len(results))
	r = s.written("I checked the schema part by part: "+summary, "validation_results", object{"results": results, "summary": summary})
	r.chips = []string{"Propose a schema with long-term follow-up"}
	return r
}

func suggestQuery(s *scene, _ []string) reply {
	_, schema, r, ok := s.stream()
	if !ok {
		return r
	}
	var query, explanation string
	switch topic, old := s.topic(), schema.Retrieval.Query; {
	case topic != "":
		query = strings.Join(strings.Fields(topic), "[Title/Abstract] AND ") + "[Title/Abstract]"
		explanation = "Every word in title or abstract."
	case old != "":
		query = "(" + old + ") AND (clinical trial[Publication Type] OR review[Publication Type])"
		explanation = "The stream's query, narrowed to clinical trials and reviews."
	default:
		return reply{text: "Tell me what the query is to find, as in `suggest a query for base editing`."}
	}
	r = s.written("Here is a query for PubMed: `"+query+"`. "+explanation, "query_suggestion",
		object{"query": query, "source": "pubmed", "explanation": explanation})
	r.chips = []string{"Suggest a query for prime editing", "Search PubMed for prime editing"}
	return r
}

func suggestStreams(s *scene, _ []string) reply {
	topic := cmp.Or(s.topic("follow"), "gene therapy")
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
	return s.written(fmt.Sprintf("Two streams about **%s** that you could set up:", topic), "stream_suggestions", object{"suggestions": items})
}

func categorize(s *scene, _ []string) reply {
	if r, ok := s.look("Let me read the report.", call{"get_report", s.args("report")}); !ok {
		return r
	}
	var names []string
	ids := map[string][]int64{}
	found := s.got("get_report").Report.Articles
	for _, a := range found {
		name := cmp.Or(a.Category, "Other")
		if names = append(names, name); !slices.Contains(ids[name], a.ArticleID) {
			ids[name] = append(ids[name], a.ArticleID)
		}
	}
	names = unique(names)
	if len(names) == 0 {
		return reply{text: "I see no articles to group. Open a report, or name one: `categorize report 1`."}
	}
	categories := make([]object, len(names))
	for i, name := range names {
		categories[i] = object{"name": name, "article_ids": ids[name]}
	}
	return s.written(fmt.Sprintf("%s fall into %s: %s.", count(len(found), "article"), count(len(names), "group"), strings.Join(names, ", ")),
		"presentation_categories", object{"categories": categories})
}

func addColumn(s *scene, _ []string) reply {
	topic := cmp.Or(s.topic(), "main finding")
	column := object{
		"name": capital(topic), "description": "What the article says about " + topic + ".", "type": "text",
		"prompt": "In at most ten words: what does this article say about " + topic + "? Answer \"not stated\" when it says nothing.",
	}
	if strings.Contains(s.asked, "whether") {
		column["type"] = "boolean"
		column["prompt"] = "Does this hold for this article: " + topic + "?"
	}
	return s.written(fmt.Sprintf("A column **%s** would help to compare these articles.", capital(topic)), "ai_column_suggestion", column)
}
