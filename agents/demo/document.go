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

// ReportsToRead are the ids of the reports that mention the topic and of those in which
// articles were found.
func (r *request) ReportsToRead() []int64 {
	var ids []int64
	for _, report := range r.RelevantReports() {
		ids = append(ids, report.ReportID)
	}
	for _, a := range r.Last("search_articles").Articles {
		if a.ReportID > 0 && mentions(contents(a), r.Topic()) {
			ids = append(ids, a.ReportID)
		}
	}
	ids = unique(ids)
	return ids[:min(len(ids), maxDocumentReports)]
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

// Plan is the input of plan_document.
func (r *request) Plan() object {
	var plan []object
	for _, b := range r.Draft() {
		plan = append(plan, object{"type": b.Type, "heading": b.Heading, "brief": b.Brief})
	}
	return object{"title": "Research report: " + r.Topic(), "blocks": plan}
}

// writtenBlock is the input of write_block. The content comes last, so that it is streamed
// into a known block.
type writtenBlock struct {
	Type    string `json:"type"`
	ID      string `json:"block_id,omitempty"`
	Meta    object `json:"meta,omitempty"`
	Content string `json:"content"`
}

// Fill are the inputs that fill the planned blocks.
func (r *request) Fill() []writtenBlock {
	planned := r.Last("plan_document").Blocks
	if len(planned) == 0 { // after a restart only the tool's text is left
		planned = r.Last("read_document").Blocks
	}
	var written []writtenBlock
	for i, b := range r.Draft() {
		block := writtenBlock{Type: b.Type, Meta: b.Meta, Content: b.Content}
		if i < len(planned) {
			block.ID = planned[i].ID
		}
		written = append(written, block)
	}
	return written
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
