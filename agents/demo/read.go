package demo

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// What tools and the system prompt write about articles, reports and streams,
// read back. A text of another form gives nothing, and is then quoted.

// article is an article as a tool or the page's context names it.
type article struct {
	id, report      int64
	title, pmid     string
	year            int
	category, about string
	// text is all that was said about it.
	text string
}

var (
	itemStart   = regexp.MustCompile(`(?m)^ {0,2}\d+\. `)
	articleIDs  = regexp.MustCompile(`\(article (\d+), report (\d+)\)|\| article_id (\d+)`)
	articlePMID = regexp.MustCompile(`\bPMID:? (\d{1,9})\b`)
	articleYear = regexp.MustCompile(`\((\d{4})\)\.|\|[^|\n]*?(\d{4}) \| article_id`)
	articleCat  = regexp.MustCompile(`\bcategory ([^.|(\n]+)`)
)

// articles reads all texts, each article once.
func articles(results []result) []article {
	var out []article
	seen := map[string]bool{}
	for _, r := range results {
		for _, a := range articlesIn(r.text) {
			if key := strings.ToLower(a.title); !seen[key] {
				seen[key] = true
				out = append(out, a)
			}
		}
	}
	return out
}

// articlesIn reads a numbered list of articles.
func articlesIn(text string) []article {
	var out []article
	starts := itemStart.FindAllStringIndex(text, -1)
	for i, at := range starts {
		end := len(text)
		if i+1 < len(starts) {
			end = starts[i+1][0]
		}
		item := strings.TrimSpace(text[at[1]:end])
		a := article{text: item}
		if m := articleIDs.FindStringSubmatch(item); m != nil {
			a.id, a.report = number(or(m[1], m[3])), number(m[2])
		}
		if m := articlePMID.FindStringSubmatch(item); m != nil {
			a.pmid = m[1]
		}
		if a.id == 0 && a.pmid == "" {
			continue
		}
		a.title, _, _ = strings.Cut(firstLine(item), " | ")
		if m := articleYear.FindStringSubmatch(item); m != nil {
			a.year = int(number(or(m[1], m[2])))
		}
		if m := articleCat.FindStringSubmatch(item); m != nil {
			a.category = strings.TrimSpace(m[1])
		}
		if lines := strings.Split(item, "\n"); len(lines) > 1 {
			a.about = strings.TrimPrefix(strings.TrimSpace(lines[len(lines)-1]), "Abstract: ")
		}
		out = append(out, a)
	}
	return out
}

// cite names an article in a line.
func (a article) cite() string {
	text := strings.TrimSuffix(a.title, ".")
	if a.year > 0 {
		text += fmt.Sprintf(" (%d)", a.year)
	}
	if a.pmid != "" {
		text += ", PMID " + a.pmid
	}
	return text
}

// link is the PMID with its address, a dash when there is none.
func (a article) link() string {
	if a.pmid == "" {
		return "–"
	}
	return fmt.Sprintf("[%s](https://pubmed.ncbi.nlm.nih.gov/%s/)", a.pmid, a.pmid)
}

func articleTable(found []article) string {
	var b strings.Builder
	b.WriteString("| Article | Year | PMID |\n|---|---:|---|\n")
	for _, a := range found {
		year := "–"
		if a.year > 0 {
			year = strconv.Itoa(a.year)
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", cell(a.title), year, a.link())
	}
	return strings.TrimSpace(b.String())
}

func sources(found []article) string {
	var b strings.Builder
	for i, a := range found {
		fmt.Fprintf(&b, "%d. %s\n", i+1, a.cite())
	}
	return strings.TrimSpace(b.String())
}

// byYear is a CSV table of how many articles are of which year.
func byYear(found []article) string {
	first, last, counts := 0, 0, map[int]int{}
	for _, a := range found {
		if a.year == 0 {
			continue
		}
		if first == 0 || a.year < first {
			first = a.year
		}
		last = max(last, a.year)
		counts[a.year]++
	}
	var b strings.Builder
	b.WriteString("year,articles\n")
	for y := first; y <= last && len(counts) > 0; y++ {
		if counts[y] > 0 {
			fmt.Fprintf(&b, "%d,%d\n", y, counts[y])
		}
	}
	return b.String()
}

// entry is a report or a stream in a list.
type entry struct {
	id          int64
	name, about string
	// text is both.
	text string
}

var (
	reportItem  = regexp.MustCompile(`(?m)^\d+\. (.+) \(report (\d+),[^)\n]*\)\n(.*)$`)
	streamItem  = regexp.MustCompile(`(?m)^\d+\. (.+) \(stream (\d+)\)\n(.*)$`)
	reportHead  = regexp.MustCompile(`^Report (\d+): (.+)\n[^\n]*\n`)
	streamHead  = regexp.MustCompile(`^Stream (\d+): (.+)\nPurpose: (.+)\n`)
	contextHead = regexp.MustCompile(`<data name="(report|stream) (\d+)">`)
)

func reports(results []result) []entry { return entries(results, reportItem) }

func streams(results []result) []entry { return entries(results, streamItem) }

func entries(results []result, item *regexp.Regexp) []entry {
	var out []entry
	for _, r := range results {
		for _, m := range item.FindAllStringSubmatch(r.text, -1) {
			out = append(out, entry{number(m[2]), m[1], m[3], m[1] + "\n" + m[3]})
		}
	}
	return out
}

// reportTitle and reportSummary read what get_report gave; "" when it gave none.
func reportTitle(text string) string {
	if m := reportHead.FindStringSubmatch(text); m != nil {
		return m[2]
	}
	return ""
}

func reportSummary(text string) string {
	m := reportHead.FindString(text)
	if m == "" {
		return ""
	}
	summary, _, _ := strings.Cut(text[len(m):], "\nArticles:\n")
	return strings.TrimSpace(summary)
}

var fencedCSV = regexp.MustCompile("(?s)```csv\\s+(.+?)\\s*```")

// csvIn returns the first CSV table in text, "" for none. A table that was put
// on one line gets its lines back.
func csvIn(text string) string {
	m := fencedCSV.FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	rows := strings.Split(m[1], "\n")
	if len(rows) == 1 {
		rows = strings.Fields(m[1])
	}
	return strings.Join(rows, "\n") + "\n"
}

// withoutCSV leaves the tables out of text.
func withoutCSV(text string) string {
	return strings.TrimSpace(regexp.MustCompile(`\n{3,}`).ReplaceAllString(fencedCSV.ReplaceAllString(text, ""), "\n\n"))
}

// Small helpers for text.

func number(digits string) int64 {
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func or(s, instead string) string {
	if s == "" {
		return instead
	}
	return s
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(line)
}

// cell is text for a cell of a table.
func cell(text string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "|", `\|`)
}

// quoted is the beginning of a tool's text, for a quotation of several lines.
func quoted(text string) string {
	text = strings.TrimSpace(text)
	if r := []rune(text); len(r) > maxQuoted {
		text = strings.TrimSpace(string(r[:maxQuoted])) + "…"
	}
	return strings.ReplaceAll(text, "\n", "\n> ")
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// title is text with a capital letter in front.
func title(text string) string {
	for i, r := range text {
		return strings.ToUpper(string(r)) + text[i+len(string(r)):]
	}
	return text
}

// mentions says whether text has one of the topic's words.
func mentions(text, topic string) bool {
	text = strings.ToLower(text)
	for w := range strings.FieldsSeq(strings.ToLower(topic)) {
		if strings.Contains(text, w) {
			return true
		}
	}
	return false
}

// about keeps the articles that mention the topic; all when none does.
func about(found []article, topic string) []article {
	var kept []article
	seen := map[int64]bool{}
	for _, a := range found {
		if mentions(a.text, topic) && (a.id == 0 || !seen[a.id]) {
			seen[a.id] = true
			kept = append(kept, a)
		}
	}
	return kept
}
