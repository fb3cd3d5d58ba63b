package demo

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Bounds of a document that is written from what was found.
const (
	maxDocumentReports  = 3
	maxDocumentArticles = 12
)

// writeDocument looks things up, plans, fills the planned blocks, and says so:
// one reply each.
func writeDocument(s *scene, _ []string) reply {
	topic := s.topic()
	switch {
	case topic == "":
		return reply{text: "What is the document to be about? Try `Create a research report about gold`.", chips: []string{"Create a research report about gold"}}
	case s.called("write_block"):
		return documentWritten(s, topic)
	case s.called("plan_document"):
		return s.fill(topic)
	}
	if !s.called("search_articles", "list_reports") {
		if calls := s.can(call{"search_articles", toJSON(object{"query": topic})}, call{"list_reports", "{}"}); len(calls) > 0 {
			return reply{text: fmt.Sprintf("First I look up what the research data holds on **%s**.", topic), calls: calls}
		}
	}
	if calls := s.relevantReports(topic); len(calls) > 0 && !s.called("get_report") {
		return reply{text: "I read the reports that fit.", calls: calls}
	}
	d := s.draft(topic)
	if len(d) == 0 {
		return reply{text: nothing(topic) + " So I wrote nothing: a document of mine holds only what I can look up.", chips: []string{"Create a research report about gold"}}
	}
	if !s.offered("plan_document") {
		return s.fill(topic)
	}
	plan := make([]object, len(d))
	for i, b := range d {
		plan[i] = object{"type": b.kind, "heading": b.heading, "brief": b.brief}
	}
	return reply{
		text:  fmt.Sprintf("I plan a document of %d blocks.", len(d)),
		calls: []call{{"plan_document", toJSON(object{"title": documentTitle(topic), "blocks": plan})}},
	}
}

func noDocument(*scene, []string) reply { return missing("write_block", "the Document page") }

func documentTitle(topic string) string { return "Research report: " + topic }

// can returns the calls that are offered.
func (s *scene) can(calls ...call) []call {
	var out []call
	for _, c := range calls {
		if s.offered(c.name) {
			out = append(out, c)
		}
	}
	return out
}

// relevantReports asks for the reports whose line in the list speaks of the
// topic and those that articles were found in.
func (s *scene) relevantReports(topic string) []call {
	var calls []call
	seen := map[int64]bool{}
	add := func(id int64) {
		if id > 0 && !seen[id] && len(calls) < maxDocumentReports {
			seen[id] = true
			calls = append(calls, call{"get_report", toJSON(object{"report_id": id})})
		}
	}
	for _, r := range reports(s.of("list_reports")) {
		if mentions(r.text, topic) {
			add(r.id)
		}
	}
	for _, a := range about(articles(s.of("search_articles")), topic) {
		add(a.report)
	}
	return s.can(calls...)
}

// draftBlock is a block of a document, planned and written.
type draftBlock struct {
	kind, heading, brief, content string
	meta                          object
}

// draft writes all blocks from what the tools gave; nil when they gave nothing.
// The same results give the same draft, so that the plan and the blocks agree.
func (s *scene) draft(topic string) []draftBlock {
	found := about(append(articles(s.of("search_articles")), articles(s.of("get_report"))...), topic)
	if len(found) == 0 {
		return nil
	}
	var said strings.Builder
	table, read := "", 0
	for _, r := range s.of("get_report") {
		if summary := reportSummary(r.text); summary != "" {
			read++
			fmt.Fprintf(&said, "### %s\n\n%s\n\n", reportTitle(r.text), withoutCSV(summary))
		}
		table = or(table, csvIn(r.text))
	}
	for _, a := range found {
		table = or(table, csvIn(a.text))
	}
	figures := "Figures as the research data holds them; those of the sample are illustrative."
	if table == "" {
		table, figures = byYear(found), "Number of articles found, by year of publication."
	}
	found = found[:min(len(found), maxDocumentArticles)]
	basis := count(len(found), "article")
	if read > 0 {
		basis += " and " + count(read, "report")
	}

	blocks := []draftBlock{{
		kind: "md", heading: "Summary", brief: "What this report rests on",
		content: fmt.Sprintf("# %s\n\nThis report draws on %s of the research data. It was written by rules, from what the tools found, and adds no figures of its own.",
			documentTitle(topic), basis),
	}}
	if said.Len() > 0 {
		blocks = append(blocks, draftBlock{
			kind: "md", heading: "What the reports say", brief: "The reports' own summaries",
			content: "## What the reports say\n\n" + strings.TrimSpace(said.String()),
		})
	}
	return append(
		blocks,
		draftBlock{kind: "md", heading: "Articles", brief: "The articles with year and PubMed id", content: "## Articles\n\n" + articleTable(found)},
		draftBlock{kind: "csv", heading: "Figures", brief: figures, content: table},
		draftBlock{kind: "interactive_chart", heading: "Chart", brief: figures, content: table, meta: chart(title(topic), table)},
		draftBlock{kind: "md", heading: "Sources", brief: "All sources", content: "## Sources\n\n" + sources(found)},
	)
}

// fill writes the planned blocks, all in one reply.
func (s *scene) fill(topic string) reply {
	var planned []string
	for _, r := range s.of("plan_document") {
		planned = blockIDs(r.text)
	}
	r := reply{text: "Now I fill the blocks, one after the other."}
	for i, b := range s.draft(topic) {
		args := fields{{"type", b.kind}}
		if i < len(planned) {
			args = append(args, field{"block_id", planned[i]})
		}
		if b.meta != nil {
			args = append(args, field{"meta", s.meta(b.meta)})
		}
		// The content comes last, so that it is streamed into a known block.
		r.calls = append(r.calls, call{"write_block", append(args, field{"content", b.content}).json()})
	}
	return r
}

// meta gives a chart's header as the tool wants it: an object, or its JSON.
func (s *scene) meta(m object) any {
	var schema struct {
		Properties map[string]struct {
			Type any `json:"type"`
		} `json:"properties"`
	}
	if json.Unmarshal(s.spec("write_block").InputSchema, &schema) == nil && schema.Properties["meta"].Type == "string" {
		return toJSON(m)
	}
	return m
}

func documentWritten(s *scene, topic string) reply {
	blocks := s.of("write_block")
	return reply{
		text: fmt.Sprintf("The report about **%s** is written: %s. Look at each block and accept or revert it. "+
			"You can also tell me to change it.", topic, count(len(blocks), "block")),
		chips: []string{"Shorten the summary", "Move the chart to the top", "Delete the last block"},
	}
}

// chart is a Vega-Lite specification without data for a table whose first column
// is the x axis and whose second the y axis.
func chart(name, table string) object {
	columns := strings.Split(strings.TrimSpace(firstLine(table)), ",")
	if len(columns) < 2 {
		return object{"title": name, "mark": "bar"}
	}
	return object{
		"title":  fmt.Sprintf("%s: %s by %s", name, columns[1], columns[0]),
		"width":  "container",
		"mark":   object{"type": "line", "point": true, "tooltip": true},
		"params": []object{{"name": "zoom", "select": "interval", "bind": "scales"}},
		"encoding": object{
			"x": object{"field": columns[0], "type": "quantitative", "axis": object{"format": "d"}, "scale": object{"zero": false}},
			"y": object{"field": columns[1], "type": "quantitative"},
		},
	}
}

// field is a member of a JSON object whose order matters.
type field struct {
	key   string
	value any
}

type fields []field

func (f fields) json() string {
	parts := make([]string, len(f))
	for i, m := range f {
		parts[i] = toJSON(m.key) + ": " + toJSON(m.value)
	}
	return "{" + strings.Join(parts, ", ") + "}"
}
