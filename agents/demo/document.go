package demo

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/chattray/chattray/schemas"
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
	if topic == "" {
		return reply{text: "What is the document to be about? Try `Create a research report about gold`.", chips: starters[:1]}
	}
	if written := len(s.of("write_block")); written > 0 {
		return reply{
			text: fmt.Sprintf("The report about **%s** is written: %s. Look at each block and accept or revert it. "+
				"You can also tell me to change it.", topic, count(written, "block")),
			chips: []string{"Shorten the summary", "Move the chart to the top", "Delete the last block"},
		}
	}
	if r, ok := s.look(fmt.Sprintf("First I look up what the research data holds on **%s**.", topic),
		call{"search_articles", toJSON(object{"query": topic})}, call{"list_reports", "{}"}); !ok && s.rounds == 0 {
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
		call{"plan_document", toJSON(object{"title": documentTitle(topic), "blocks": plan})}); !ok {
		return r
	}
	planned := s.got("plan_document").Blocks
	if len(planned) == 0 { // a restart leaves the tool's text alone
		if r, ok := s.look("Let me see what is planned.", call{"read_document", "{}"}); !ok {
			return r
		}
		planned = s.got("read_document").Blocks
	}
	return fill(d, planned)
}

func documentTitle(topic string) string { return "Research report: " + topic }

// relevantReports asks for the reports that speak of the topic and those that
// articles were found in.
func (s *scene) relevantReports(topic string) []call {
	var ids []int64
	for _, r := range s.got("list_reports").Reports {
		if mentions(r.Title+r.Summary, topic) {
			ids = append(ids, r.ReportID)
		}
	}
	for _, a := range s.got("search_articles").Articles {
		if a.ReportID > 0 && isAbout(a, topic) {
			ids = append(ids, a.ReportID)
		}
	}
	ids = unique(ids)
	var calls []call
	for _, id := range ids[:min(len(ids), maxDocumentReports)] {
		calls = append(calls, call{"get_report", toJSON(object{"report_id": id})})
	}
	return calls
}

func isAbout(a schemas.Article, topic string) bool {
	return mentions(a.Title+" "+a.Abstract+" "+a.Category, topic)
}

// draftBlock is a block of a document, planned and written.
type draftBlock struct {
	kind, heading, brief, content string
	meta                          object
}

// draft writes all blocks from what the tools gave; nil when they gave nothing.
// The same results give the same draft, so that the plan and the blocks agree.
func (s *scene) draft(topic string) []draftBlock {
	var found []schemas.Article
	var said []string
	csv := ""
	for _, r := range s.of("search_articles", "get_report") {
		for _, a := range slices.Concat(r.Articles, r.Report.Articles) {
			known := slices.ContainsFunc(found, func(b schemas.Article) bool { return strings.EqualFold(a.Title, b.Title) })
			if !known && isAbout(a, topic) {
				found = append(found, a)
			}
		}
		if summary := r.Report.Summary; summary != "" {
			said = append(said, fmt.Sprintf("### %s\n\n%s", r.Report.Title, strings.TrimSpace(fencedCSV.ReplaceAllString(summary, ""))))
			csv = cmp.Or(csv, csvIn(summary))
		}
	}
	if len(found) == 0 {
		return nil
	}
	for _, a := range found {
		csv = cmp.Or(csv, csvIn(a.Abstract))
	}
	figures := "Figures as the research data holds them; those of the sample are illustrative."
	if csv == "" {
		csv, figures = byYear(found), "Number of articles found, by year of publication."
	}
	found = found[:min(len(found), maxDocumentArticles)]
	basis := count(len(found), "article")
	if len(said) > 0 {
		basis += " and " + count(len(said), "report")
	}
	var sources strings.Builder
	for i, a := range found {
		fmt.Fprintf(&sources, "\n%d. %s", i+1, cite(a))
	}
	blocks := []draftBlock{{
		kind: "md", heading: "Summary", brief: "What this report rests on",
		content: fmt.Sprintf("# %s\n\nThis report draws on %s of the research data. It was written by rules, from what the tools found, and adds no figures of its own.",
			documentTitle(topic), basis),
	}}
	if len(said) > 0 {
		blocks = append(blocks, draftBlock{
			kind: "md", heading: "What the reports say", brief: "The reports' own summaries", content: "## What the reports say\n\n" + strings.Join(said, "\n\n"),
		})
	}
	return append(
		blocks,
		draftBlock{kind: "md", heading: "Articles", brief: "The articles with year and PubMed id", content: "## Articles\n\n" + articleTable(found)},
		draftBlock{kind: "csv", heading: "Figures", brief: figures, content: csv},
		draftBlock{kind: "interactive_chart", heading: "Chart", brief: figures, content: csv, meta: chart(capital(topic), csv)},
		draftBlock{kind: "md", heading: "Sources", brief: "All sources", content: "## Sources\n" + sources.String()},
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
	var b strings.Builder
	b.WriteString("year,articles\n")
	for _, y := range slices.Sorted(maps.Keys(years)) {
		fmt.Fprintf(&b, "%d,%d\n", y, years[y])
	}
	return b.String()
}

// fill writes the planned blocks, all in one reply. The content comes last, so
// that it is streamed into a known block.
func fill(draft []draftBlock, planned []block) reply {
	r := reply{text: "Now I fill the blocks, one after the other."}
	for i, b := range draft {
		args := `{"type": ` + toJSON(b.kind)
		if i < len(planned) {
			args += `, "block_id": ` + toJSON(planned[i].ID)
		}
		if b.meta != nil {
			args += `, "meta": ` + toJSON(b.meta)
		}
		r.calls = append(r.calls, call{"write_block", args + `, "content": ` + toJSON(b.content) + "}"})
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

// kinds are words for types of blocks.
var kinds = map[string]string{"chart": "interactive_chart", "table": "csv", "csv": "csv", "figures": "csv"}

// pick returns the index of the block that the question means: by its id, its
// place, its type, a word of its text; -1 for none.
func (s *scene) pick(all []block) int {
	words := strings.Fields(s.asked)
	has := func(list ...string) bool {
		return slices.ContainsFunc(list, func(w string) bool { return slices.Contains(words, w) })
	}
	if i := slices.IndexFunc(all, func(b block) bool { return has(strings.ToLower(b.ID)) }); i >= 0 || len(all) == 0 {
		return i
	}
	switch {
	case has("last"):
		return len(all) - 1
	case has("first"):
		return 0
	}
	if i := slices.IndexFunc(all, func(b block) bool {
		return slices.ContainsFunc(words, func(w string) bool { return kinds[w] == b.Type })
	}); i >= 0 {
		return i
	}
	if has("summary", "introduction", "intro", "opening") {
		return 0
	}
	return slices.IndexFunc(all, func(b block) bool { return mentions(b.Content, s.topic()) })
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
	if r, ok := s.look("Let me read the document.", call{"read_document", "{}"}); !ok {
		return r
	}
	all := s.got("read_document").Blocks
	i := s.pick(all)
	if i < 0 {
		return reply{text: "I see no such block in the document. Name it by its place (`the last block`), its type (`the chart`) or a word in it."}
	}
	return reply{
		text:  fmt.Sprintf("That is block `%s`.", all[i].ID),
		calls: []call{{tool, `{"block_id": ` + toJSON(all[i].ID) + arguments(i, all) + "}"}},
	}
}

func deleteBlock(s *scene, _ []string) reply {
	return onBlock(s, "delete_block", "I marked the block as deleted. Accept to let it go, revert to keep it.", func(int, []block) string { return "" })
}

func moveBlock(s *scene, _ []string) reply {
	return onBlock(s, "move_block", "I moved the block.", func(i int, all []block) string {
		after := all[len(all)-1].ID
		up := slices.ContainsFunc([]string{"top", "front", "start", "begin", "first"}, func(w string) bool { return strings.Contains(s.asked, w) })
		if up || after == all[i].ID {
			after = ""
		}
		return `, "after_block_id": ` + toJSON(after)
	})
}

func editBlock(s *scene, _ []string) reply {
	return onBlock(s, "edit_block", "I rewrote the block; the difference is shown until you accept or revert.", func(i int, all []block) string {
		return `, "content": ` + toJSON(shortened(all[i].Content))
	})
}

// shortened keeps the headings and the first sentence under each.
func shortened(text string) string {
	var out []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "#"):
			out = append(out, line)
		case line != "" && (len(out) == 0 || strings.HasPrefix(out[len(out)-1], "#")):
			if first, _, more := strings.Cut(line, ". "); more {
				line = first + "."
			}
			out = append(out, line)
		}
	}
	return cmp.Or(strings.Join(out, "\n\n"), "This block is empty.")
}

func readDocument(s *scene, _ []string) reply {
	if r, ok := s.look("Let me read the document.", call{"read_document", "{}"}); !ok {
		return r
	}
	got := s.got("read_document")
	return reply{
		text:  fmt.Sprintf("The document has %s:\n\n> %s", count(len(got.Blocks), "block"), quoted(got.text)),
		chips: []string{"Shorten the summary", "Delete the last block"},
	}
}
