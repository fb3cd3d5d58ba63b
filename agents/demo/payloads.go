package demo

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/text"
)

// propose returns an answer with a payload of the story's type after its
// marker.
func (r *request) propose(say string, payload any, chips ...string) reply {
	return reply{text: say + "\n\n" + r.Marker() + " " + text.JSON(payload), chips: chips}
}

// lookAtStream looks at the stream that the question means or the page shows,
// if any.
func lookAtStream(r *request) reply {
	id := r.id("stream")
	if id == 0 {
		return reply{}
	}
	return r.lookUp(fmt.Sprintf("Let me look at stream %d first.", id), call("get_stream", object{"stream_id": id}))
}

func proposeSchema(r *request) reply {
	schema, topic := r.Last("get_stream").Schema().Semantic, cmp.Or(r.Topic(), "long-term follow-up")
	changes := object{"semantic.topics": unique(append(schema.Topics, topic))}
	if len(schema.Inclusion) > 0 {
		changes["semantic.inclusion"] = unique(append(schema.Inclusion, "studies of "+topic))
	}
	proposal := object{
		"title": "Add " + topic, "rationale": fmt.Sprintf("You asked for it: the stream then also finds studies of %s.", topic), "changes": changes,
	}
	id := r.id("stream")
	if id > 0 {
		proposal["stream_id"] = id
	}
	out := r.propose(fmt.Sprintf("I propose to add **%s** to the topics. Nothing changes until you accept.", topic), proposal, "Validate the schema", "Suggest a query")
	if id > 0 {
		data := json.RawMessage(text.JSON(object{"changes": changes, "stream_id": id}))
		out.buttons = []schemas.SuggestedAction{{Label: "Apply changes", Action: "apply_schema", Handler: "server", Style: "primary", Data: data}}
	}
	return out
}

// validate checks the parts that every bundled schema has.
func validate(r *request) reply {
	schema := r.Last("get_stream").Schema()
	query := schema.Retrieval.Query
	balanced := strings.Count(query, "(") == strings.Count(query, ")") && strings.Count(query, `"`)%2 == 0
	var results []object
	sound := 0
	for _, c := range []struct {
		item            string
		holds           bool
		status, message string
	}{
		{"semantic.topics", len(schema.Semantic.Topics) > 1, "invalid", "Name at least two topics, so that articles can be told apart."},
		{"semantic.inclusion", len(schema.Semantic.Inclusion) > 0, "warning", "Say what to include."},
		{"semantic.exclusion", len(schema.Semantic.Exclusion) > 0, "warning", "Say what to leave out."},
		{"retrieval.query", query != "" && balanced, "invalid", "Write a query with balanced parentheses and quotation marks."},
	} {
		if c.holds {
			sound++
			results = append(results, object{"item": c.item, "status": "valid"})
		} else {
			results = append(results, object{"item": c.item, "status": c.status, "message": c.message})
		}
	}
	summary := fmt.Sprintf("%d of %d parts hold.", sound, len(results))
	return r.propose("I checked the schema part by part: "+summary, object{"results": results, "summary": summary}, "Propose a schema with long-term follow-up")
}

func suggestQuery(r *request) reply {
	var query, explanation string
	switch topic, old := r.Topic(), r.Last("get_stream").Schema().Retrieval.Query; {
	case topic != "":
		query, explanation = strings.Join(strings.Fields(topic), "[Title/Abstract] AND ")+"[Title/Abstract]", "Every word in title or abstract."
	case old != "":
		query = "(" + old + ") AND (clinical trial[Publication Type] OR review[Publication Type])"
		explanation = "The stream's query, narrowed to clinical trials and reviews."
	default:
		return reply{text: "Tell me what the query is to find, as in `suggest a query for base editing`."}
	}
	return r.propose("Here is a query for PubMed: `"+query+"`. "+explanation, object{"query": query, "source": "pubmed", "explanation": explanation},
		"Suggest a query for prime editing", "Search PubMed for prime editing")
}

func categorize(r *request) reply {
	found := r.Last("get_report").Report.Articles
	var names []string
	ids := map[string][]int64{}
	for _, a := range found {
		name := cmp.Or(a.Category, "Other")
		names = append(names, name)
		ids[name] = unique(append(ids[name], a.ArticleID))
	}
	if names = unique(names); len(names) == 0 {
		return reply{text: "I see no articles to group. Open a report, or name one: `categorize report 1`."}
	}
	var categories []object
	for _, name := range names {
		categories = append(categories, object{"name": name, "article_ids": ids[name]})
	}
	return r.propose(fmt.Sprintf("%s fall into %s: %s.", text.Plural(len(found), "article"), text.Plural(len(names), "group"), strings.Join(names, ", ")), object{"categories": categories})
}
