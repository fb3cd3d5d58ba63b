package demo

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/text"
)

// Bounds of a document that is written from what was found.
const (
	maxDocumentReports  = 3
	maxDocumentArticles = 12
)

// writeDocument looks things up, plans, fills the planned blocks, and says so:
// one reply each.
func writeDocument(s *scene, _ match) reply {
	topic := s.topic()
	if topic == "" {
		return reply{text: "What is the document to be about? Try `Create a research report about gold`.", chips: starters[:1]}
	}
	if written := s.of("write_block"); len(written) > 0 {
		return reply{
			text: fmt.Sprintf("The report about **%s** is written: %s. Look at each block and accept or revert it. "+
				"You can also tell me to change it.", topic, count(written, "block")),
			chips: []string{"Shorten the summary", "Move the chart to the top", "Delete the last block"},
		}
	}
	if r, ok := s.look(fmt.Sprintf("First I look up what the research data holds on **%s**.", topic),
		toolCall{"search_articles", text.JSON(object{"query": topic})}, toolCall{"list_reports", "{}"}); !ok && s.Rounds == 0 {
		return r
	}
	if r, ok := s.look("I read the reports that fit.", s.relevantReports(topic)...); !ok {
		return r
	}
	d := s.draft(topic)
	if len(d) == 0 {
		return reply{text: nothing(topic) + " So I wrote nothing: a document of mine holds only what I can look up.", chips: starters[:1]}
	}
	plan := make([]object, len(d))
	for i, b := range d {
		plan[i] = object{"type": b.kind, "heading": b.heading, "brief": b.brief}
	}
	if r, ok := s.look(fmt.Sprintf("I plan a document of %d blocks.", len(d)),
		toolCall{"plan_document", text.JSON(object{"title": "Research report: " + topic, "blocks": plan})}); !ok {
		return r
	}
	planned := s.got("plan_document").Blocks
	if len(planned) == 0 { // a restart keeps only the tool's text
		if r, ok := s.look("Let me see what is planned.", toolCall{"read_document", "{}"}); !ok {
			return r
		}
		planned = s.got("read_document").Blocks
	}
	return fill(d, planned)
}

// relevantReports asks for the reports that speak of the topic and those that
// articles were found in.
func (s *scene) relevantReports(topic string) []toolCall {
	var calls []toolCall
	ask := func(id int64, about string) {
		c := toolCall{"get_report", text.JSON(object{"report_id": id})}
		if id > 0 && mentions(about, topic) && !slices.Contains(calls, c) && len(calls) < maxDocumentReports {
			calls = append(calls, c)
		}
	}
	for _, r := range s.got("list_reports").Reports {
		ask(r.ReportID, r.Title+r.Summary)
	}
	for _, a := range s.got("search_articles").Articles {
		ask(a.ReportID, contents(a))
	}
	return calls
}

func contents(a schemas.Article) string { return a.Title + " " + a.Abstract + " " + a.Category }

// draftBlock is a block of a document, planned and written.
type draftBlock struct {
	kind, heading, brief, content string
	meta                          object
}

// draft writes all blocks from what the tools gave; nil when they gave nothing.
// The same results give the same draft, so that the plan and the blocks agree.
func (s *scene) draft(topic string) []draftBlock {
	from := struct {
		Topic    string
		Articles []schemas.Article
		Reports  []schemas.Report
	}{Topic: topic}
	csv := ""
	for _, r := range s.of("search_articles", "get_report") {
		for _, a := range slices.Concat(r.Articles, r.Report.Articles) {
			known := slices.ContainsFunc(from.Articles, func(b schemas.Article) bool { return strings.EqualFold(a.Title, b.Title) })
			if !known && mentions(contents(a), topic) {
				from.Articles = append(from.Articles, a)
			}
		}
		if r.Report.Summary != "" {
			from.Reports = append(from.Reports, r.Report)
			csv = cmp.Or(csv, csvIn(r.Report.Summary))
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
	blocks := []draftBlock{{kind: "md", heading: "Summary", brief: "What this report rests on", content: render("draft summary", from)}}
	if len(from.Reports) > 0 {
		blocks = append(blocks, draftBlock{kind: "md", heading: "What the reports say", brief: "The reports' own summaries", content: render("draft reports", from)})
	}
	return append(
		blocks,
		draftBlock{kind: "md", heading: "Articles", brief: "The articles with year and PubMed id", content: "## Articles\n\n" + render("articles", from.Articles)},
		draftBlock{kind: "csv", heading: "Figures", brief: figures, content: csv},
		draftBlock{kind: "interactive_chart", heading: "Chart", brief: figures, content: csv, meta: chart(capital(topic), csv)},
		draftBlock{kind: "md", heading: "Sources", brief: "All sources", content: render("draft sources", from)},
	)
}

// byYear is a CSV table of how many articles are of which year.
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

// fill writes the planned blocks, all in one reply. The content comes last, so
// that it is streamed into a known block.
func fill(draft []draftBlock, planned []block) reply {
	r := reply{text: "Now I fill the blocks, one after the other."}
	for i, b := range draft {
		args := `{"type": ` + text.JSON(b.kind)
		if i < len(planned) {
			args += `, "block_id": ` + text.JSON(planned[i].ID)
		}
		if b.meta != nil {
			args += `, "meta": ` + text.JSON(b.meta)
		}
		r.calls = append(r.calls, toolCall{"write_block", args + `, "content": ` + text.JSON(b.content) + "}"})
	}
	return r
}

// chart is a Vega-Lite specification without data for a table whose first column
// is the x axis and whose second the y axis.
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

// meant are words for a block's type.
var meant = map[string]string{"chart": "interactive_chart", "table": "csv", "csv": "csv", "figures": "csv"}

// pick returns the index of the block that the question means: by its id, its
// place, its type, a word of its text; -1 for none.
func (s *scene) pick(all []block) int {
	has := func(word string) bool { return slices.Contains(strings.Fields(s.asked), word) }
	find := func(fits func(b block) bool) int { return slices.IndexFunc(all, fits) }
	if i := find(func(b block) bool { return has(strings.ToLower(b.ID)) }); i >= 0 {
		return i
	}
	if has("last") {
		return len(all) - 1
	}
	for w := range strings.FieldsSeq(s.asked) {
		if i := find(func(b block) bool { return b.Type == meant[w] }); i >= 0 {
			return i
		}
	}
	if slices.ContainsFunc([]string{"first", "summary", "introduction", "intro", "opening"}, has) {
		return min(0, len(all)-1)
	}
	return find(func(b block) bool { return mentions(b.Content, s.topic()) })
}

// onBlock reads the document, finds the block that is meant, calls a tool on it
// and says what was done.
func onBlock(s *scene, tool, done string, arguments func(i int, all []block) string) reply {
	if len(s.of(tool)) > 0 {
		return reply{text: done, chips: []string{"Read the document", "Delete the last block"}}
	}
	if !s.offered(tool) {
		return reply{text: fmt.Sprintf("I am not offered `%s` here.", tool)}
	}
	if r, ok := s.look("Let me read the document.", toolCall{"read_document", "{}"}); !ok {
		return r
	}
	all := s.got("read_document").Blocks
	i := s.pick(all)
	if i < 0 {
		return reply{text: "I see no such block in the document. Name it by its place (`the last block`), its type (`the chart`) or a word in it."}
	}
	return reply{
		text:  fmt.Sprintf("That is block `%s`.", all[i].ID),
		calls: []toolCall{{tool, `{"block_id": ` + text.JSON(all[i].ID) + arguments(i, all) + "}"}},
	}
}

func deleteBlock(s *scene, _ match) reply {
	return onBlock(s, "delete_block", "I marked the block as deleted. Accept to let it go, revert to keep it.", func(int, []block) string { return "" })
}

func moveBlock(s *scene, _ match) reply {
	return onBlock(s, "move_block", "I moved the block.", func(i int, all []block) string {
		after := all[len(all)-1].ID
		up := slices.ContainsFunc([]string{"top", "front", "start", "begin", "first"}, func(w string) bool { return strings.Contains(s.asked, w) })
		if up || after == all[i].ID {
			after = ""
		}
		return `, "after_block_id": ` + text.JSON(after)
	})
}

func editBlock(s *scene, _ match) reply {
	return onBlock(s, "edit_block", "I rewrote the block; the difference is shown until you accept or revert.", func(i int, all []block) string {
		return `, "content": ` + text.JSON(shortened(all[i].Content))
	})
}

// shortened keeps the headings and the first sentence under each.
func shortened(content string) string {
	var out []string
	for line := range strings.Lines(content) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "#"):
			out = append(out, line)
		case line != "" && (len(out) == 0 || strings.HasPrefix(out[len(out)-1], "#")):
			if sentence, _, more := strings.Cut(line, ". "); more {
				line = sentence + "."
			}
			out = append(out, line)
		}
	}
	return cmp.Or(strings.Join(out, "\n\n"), "This block is empty.")
}

func readDocument(s *scene, _ match) reply {
	if r, ok := s.look("Let me read the document.", toolCall{"read_document", "{}"}); !ok {
		return r
	}
	got := s.got("read_document")
	return reply{
		text:  fmt.Sprintf("The document has %s:\n\n> %s", count(got.Blocks, "block"), quoted(got.Text)),
		chips: []string{"Shorten the summary", "Delete the last block"},
	}
}
