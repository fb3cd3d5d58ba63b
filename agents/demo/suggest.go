package demo

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/text"
)

// written is an answer with a payload of the rule's type after its marker.
func (s *scene) written(m match, say string, data any, chips ...string) reply {
	return reply{text: say + "\n\n" + s.marker(m.needs) + " " + text.JSON(data), chips: chips}
}

// stream looks at the stream that is meant or that the page shows.
func (s *scene) stream() (id int64, known streamSchema, r reply, ok bool) {
	if id = s.id("stream"); id > 0 {
		if r, ok = s.look(fmt.Sprintf("Let me look at stream %d first.", id), toolCall{"get_stream", text.JSON(s.args("stream"))}); !ok {
			return id, known, r, false
		}
	}
	return id, s.got("get_stream").Schema(), reply{}, true
}

func proposeSchema(s *scene, m match) reply {
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
		"title": "Add " + topic, "rationale": fmt.Sprintf("You asked for it: the stream then also finds studies of %s.", topic), "changes": changes,
	}
	apply := schemas.SuggestedAction{Label: "Apply changes", Action: "apply_schema", Handler: "server", Style: "primary"}
	if id > 0 {
		proposal["stream_id"] = id
		apply.Data = json.RawMessage(text.JSON(object{"changes": changes, "stream_id": id}))
	}
	r = s.written(m, fmt.Sprintf("I propose to add **%s** to the topics. Nothing changes until you accept.", topic), proposal, "Validate the schema", "Suggest a query")
	if id > 0 {
		r.buttons = []schemas.SuggestedAction{apply}
	}
	return r
}

// validate checks the parts that every bundled schema has.
func validate(s *scene, m match) reply {
	_, schema, r, ok := s.stream()
	if !ok {
		return r
	}
	query := schema.Retrieval.Query
	balanced := strings.Count(query, "(") == strings.Count(query, ")") && strings.Count(query, `"`)%2 == 0
	var results []object
	sound := 0
	check := func(item string, holds bool, status, message string) {
		if result := (object{"item": item, "status": status, "message": message}); !holds {
			results = append(results, result)
			return
		}
		results = append(results, object{"item": item, "status": "valid"})
		sound++
	}
	check("semantic.topics", len(schema.Semantic.Topics) > 1, "invalid", "Name at least two topics, so that articles can be told apart.")
	check("semantic.inclusion", len(schema.Semantic.Inclusion) > 0, "warning", "Say what to include.")
	check("semantic.exclusion", len(schema.Semantic.Exclusion) > 0, "warning", "Say what to leave out.")
	check("retrieval.query", query != "" && balanced, "invalid", "Write a query with balanced parentheses and quotation marks.")
	summary := fmt.Sprintf("%d of %d parts hold.", sound, len(results))
	return s.written(m, "I checked the schema part by part: "+summary, object{"results": results, "summary": summary}, "Propose a schema with long-term follow-up")
}

func suggestQuery(s *scene, m match) reply {
	_, schema, r, ok := s.stream()
	if !ok {
		return r
	}
	var query, explanation string
	switch topic, old := s.topic(), schema.Retrieval.Query; {
	case topic != "":
		query, explanation = strings.Join(strings.Fields(topic), "[Title/Abstract] AND ")+"[Title/Abstract]", "Every word in title or abstract."
	case old != "":
		query = "(" + old + ") AND (clinical trial[Publication Type] OR review[Publication Type])"
		explanation = "The stream's query, narrowed to clinical trials and reviews."
	default:
		return reply{text: "Tell me what the query is to find, as in `suggest a query for base editing`."}
	}
	return s.written(m, "Here is a query for PubMed: `"+query+"`. "+explanation, object{"query": query, "source": "pubmed", "explanation": explanation},
		"Suggest a query for prime editing", "Search PubMed for prime editing")
}

func suggestStreams(s *scene, m match) reply {
	topic := cmp.Or(s.topic("follow"), "gene therapy")
	return s.written(m, fmt.Sprintf("Two streams about **%s** that you could set up:", topic), object{"suggestions": []object{{
		"name": "Clinical trials: " + topic, "purpose": fmt.Sprintf("Which trials of %s report results in people?", topic),
		"topics": []string{topic, "clinical trials"}, "query": topic + " AND clinical trial[Publication Type]", "rationale": "Trials are few, and each matters.",
	}, {
		"name": "Safety: " + topic, "purpose": fmt.Sprintf("Which risks of %s are reported?", topic), "topics": []string{topic, "safety"},
		"query": topic + " AND (safety OR adverse)", "rationale": "Risks come out later than benefits and in other journals.",
	}}})
}

func categorize(s *scene, m match) reply {
	if r, ok := s.look("Let me read the report.", toolCall{"get_report", text.JSON(s.args("report"))}); !ok {
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
	return s.written(m, fmt.Sprintf("%s fall into %s: %s.", count(found, "article"), count(names, "group"), strings.Join(names, ", ")), object{"categories": categories})
}

func addColumn(s *scene, m match) reply {
	topic := cmp.Or(s.topic(), "main finding")
	column := object{
		"name": capital(topic), "description": "What the article says about " + topic + ".", "type": "text",
		"prompt": "In at most ten words: what does this article say about " + topic + "? Answer \"not stated\" when it says nothing.",
	}
	if strings.Contains(s.asked, "whether") {
		column["type"], column["prompt"] = "boolean", "Does this hold for this article: "+topic+"?"
	}
	return s.written(m, fmt.Sprintf("A column **%s** would help to compare these articles.", capital(topic)), column)
}
