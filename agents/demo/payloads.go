package demo

import (
	"cmp"
	"fmt"
	"strings"
)

// schema returns the schema of the stream that was looked at.
func (r *request) schema() streamSchema { return r.Last("get_stream").Schema() }

// Changes are those of a schema that is to have the topic too.
func (r *request) Changes(topic string) object {
	known := r.schema().Semantic
	changes := object{"semantic.topics": unique(append(known.Topics, topic))}
	if len(known.Inclusion) > 0 {
		changes["semantic.inclusion"] = unique(append(known.Inclusion, "studies of "+topic))
	}
	return changes
}

// Proposal is the payload that proposes the changes.
func (r *request) Proposal(topic string) object {
	proposal := object{
		"title": "Add " + topic, "changes": r.Changes(topic),
		"rationale": fmt.Sprintf("You asked for it: the stream then also finds studies of %s.", topic),
	}
	if id := r.ID("stream"); id > 0 {
		proposal["stream_id"] = id
	}
	return proposal
}

// Validation checks the parts that every bundled schema has.
func (r *request) Validation() object {
	schema := r.schema()
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
	return object{"results": results, "summary": fmt.Sprintf("%d of %d parts hold.", sound, len(results))}
}

// Query is a query for PubMed: of the topic, else a narrower one of the stream's; "" if
// there is neither.
func (r *request) Query() string {
	if topic := r.Topic(); topic != "" {
		return strings.Join(strings.Fields(topic), "[Title/Abstract] AND ") + "[Title/Abstract]"
	}
	if old := r.schema().Retrieval.Query; old != "" {
		return "(" + old + ") AND (clinical trial[Publication Type] OR review[Publication Type])"
	}
	return ""
}

// category is a group of a report's articles.
type category struct {
	ArticleIDs []int64 `json:"article_ids"`
	Name       string  `json:"name"`
}

// Categories are the groups of the report's articles.
func (r *request) Categories() []*category {
	var list []*category
	known := map[string]*category{}
	for _, a := range r.Last("get_report").Report.Articles {
		name := cmp.Or(a.Category, "Other")
		if known[name] == nil {
			known[name] = &category{Name: name}
			list = append(list, known[name])
		}
		known[name].ArticleIDs = unique(append(known[name].ArticleIDs, a.ArticleID))
	}
	return list
}
