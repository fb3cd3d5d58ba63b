package demo

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/chattray/chattray/schemas"
)

// Bounds of a document that is written from search results.
const (
	maxDocumentReports  = 3
	maxDocumentArticles = 12
)

// gather looks up the material of a document.
var gather = []step{
	needTopic("What is the document to be about? Try `Create a research report about gold`.", starters[0]),
	func(r *request) reply {
		return r.lookUp(fmt.Sprintf("First I look up what the research data holds on **%s**.", r.Topic()), call("search_articles", query(r)), call("list_reports", object{}))
	},
	func(r *request) reply { return r.lookUp("I read the reports that fit.", r.readReports()...) },
	show("nothing written", starters[0]),
}

// writeDocument plans a document, fills the planned blocks, and reports it.
var writeDocument = slices.Concat(gather, []step{
	planDocument, fill, show("document written", "Shorten the summary", "Move the chart to the top", "Delete the last block"),
})

// writeAnswer gives the text of the document as the answer, on a page that has no documents.
var writeAnswer = slices.Concat(gather, []step{show("document in the answer", starters...)})

// readReports asks for the reports that mention the topic and those in which
// articles were found.
func (r *request) readReports() []toolCall {
	var ids []int64
	for _, report := range r.RelevantReports() {
		ids = append(ids, report.ReportID)
	}
	for _, a := range r.Last("search_articles").Articles {
		if a.ReportID > 0 && mentions(contents(a), r.Topic()) {
			ids = append(ids, a.ReportID)
		}
	}
	var calls []toolCall
	for _, id := range unique(ids) {
		calls = append(calls, call("get_report", object{"report_id": id}))
	}
	return calls[:min(len(calls), maxDocumentReports)]
}

// RelevantReports returns the reports that mention the topic, or all listed
// ones if there is no topic.
func (r *request) RelevantReports() []schemas.Report {
	return slices.DeleteFunc(slices.Clone(r.Last("list_reports").Reports), func(report schemas.Report) bool {
		return r.Topic() != "" && !mentions(report.Title+report.Summary, r.Topic())
	})
}

func contents(a schemas.Article) string { return a.Title + " " + a.Abstract + " " + a.Category }

// draftBlock is a block of a document, planned and written.
type draftBlock struct {
	Type, Heading, Brief, Content string
	Meta                          object
}

// Draft writes all blocks from the tools' results; nil if there are none. The
// same results give the same draft, so that the plan and the blocks agree.
func (r *request) Draft() []draftBlock {
	from := struct {
		Topic    string
		Articles []schemas.Article
		Reports  []schemas.Report
	}{Topic: r.Topic()}
	csv := ""
	for _, got := range r.Of("search_articles", "get_report") {
		for _, a := range slices.Concat(got.Articles, got.Report.Articles) {
			known := slices.ContainsFunc(from.Articles, func(b schemas.Article) bool { return strings.EqualFold(a.Title, b.Title) })
			if !known && mentions(contents(a), from.Topic) {
				from.Articles = append(from.Articles, a)
			}
		}
		if got.Report.Summary != "" {
			from.Reports = append(from.Reports, got.Report)
			csv = cmp.Or(csv, csvIn(got.Report.Summary))
		}
	}
	if len(from.Articles) == 0 {
		return nil
	}
	for _, a := range from.Articles {
		csv = cmp.Or(csv, csvIn(a.Abstract))
	}
	figures := "Figures as the research data holds them; those of the sample are illustrative."
	if csv == "" {
		csv, figures = byYear(from.Articles), "Number of articles found, by year of publication."
	}
	from.Articles = from.Articles[:min(len(from.Articles), maxDocumentArticles)]
	blocks := []draftBlock{
		{Type: "md", Heading: "Summary", Brief: "What this report rests on", Content: render("draft summary", from)},
		{Type: "md", Heading: "What the reports say", Brief: "The reports' own summaries", Content: render("draft reports", from)},
		{Type: "md", Heading: "Articles", Brief: "The articles with year and PubMed id", Content: "## Articles\n\n" + render("articles", from.Articles)},
		{Type: "csv", Heading: "Figures", Brief: figures, Content: csv},
		{Type: "interactive_chart", Heading: "Chart", Brief: figures, Content: csv, Meta: chart(capital(from.Topic), csv)},
		{Type: "md", Heading: "Sources", Brief: "All sources", Content: render("draft sources", from)},
	}
	if len(from.Reports) == 0 {
		return slices.Delete(blocks, 1, 2)
	}
	return blocks
}

// byYear returns a CSV table with the number of articles per year.
func byYear(found []schemas.Article) string {
	years := map[int]int{}
	for _, a := range found {
		if a.Year > 0 {
			years[a.Year]++
		}
	}
	rows := []string{"year,articles"}
	for _, y := range slices.Sorted(maps.Keys(years)) {
		rows = append(rows, fmt.Sprintf("%d,%d", y, years[y]))
	}
	return strings.Join(rows, "\n") + "\n"
}

func planDocument(r *request) reply {
	var plan []object
	for _, b := range r.Draft() {
		plan = append(plan, object{"type": b.Type, "heading": b.Heading, "brief": b.Brief})
	}
	return r.lookUp(fmt.Sprintf("I plan a document of %d blocks.", len(plan)),
		call("plan_document", object{"title": "Research report: " + r.Topic(), "blocks": plan}))
}

// fill writes the planned blocks, all in one reply. The content comes last, so
// that it is streamed into a known block.
func fill(r *request) reply {
	planned := r.Last("plan_document").Blocks
	if len(planned) == 0 { // after a restart only the tool's text is left
		if out := lookAtDocument(r); out.text != "" {
			return out
		}
		planned = r.Last("read_document").Blocks
	}
	var calls []toolCall
	for i, b := range r.Draft() {
		block := struct {
			Type    string `json:"type"`
			ID      string `json:"block_id,omitempty"`
			Meta    object `json:"meta,omitempty"`
			Content string `json:"content"`
		}{Type: b.Type, Meta: b.Meta, Content: b.Content}
		if i < len(planned) {
			block.ID = planned[i].ID
		}
		calls = append(calls, call("write_block", block))
	}
	return r.lookUp("Now I fill the blocks, one after the other.", calls...)
}

// chart returns a Vega-Lite specification without data for a table whose first
// column is the x axis and whose second is the y axis.
func chart(name, csv string) object {
	columns := strings.Split(firstLine(csv), ",")
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
