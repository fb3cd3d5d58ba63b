package demo

import (
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"text/template"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/text"
	"github.com/chattray/chattray/schemas/turn"
)

// Limits of answers.
const (
	// maxShown is how many articles an answer names.
	maxShown = 8
	// maxQuoted is the length of a quotation from a tool's text, in characters.
	maxQuoted    = 600
	maxSlowWords = 2_000
	// longTokens is the default length of "long"; maxLongTokens is its maximum.
	longTokens    = 20_000
	maxLongTokens = 200_000
	// maxCondensed is how many questions a chat's summary names.
	maxCondensed = 30
)

//go:embed texts
var texts embed.FS

func read(name string) string {
	b, err := texts.ReadFile("texts/" + name)
	if err != nil {
		panic("demo: " + err.Error()) // the names are constants of this package
	}
	return string(b)
}

// answers are the templates of answers that are made from tools' results.
var answers = template.Must(template.New("").Funcs(template.FuncMap{
	"cell":      func(s string) string { return strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "|", `\|`) },
	"capital":   capital,
	"cite":      cite,
	"count":     count,
	"csv":       csvIn,
	"file":      read,
	"inc":       func(i int) int { return i + 1 },
	"join":      func(list []string) string { return strings.Join(list, ", ") },
	"json":      text.JSON,
	"last":      func(list []string) []string { return list[max(0, len(list)-maxCondensed):] },
	"line":      firstLine,
	"number":    number,
	"plural":    func(list any, noun string) string { return text.Plural(reflect.ValueOf(list).Len(), noun) },
	"prose":     func(s string) string { return strings.TrimSpace(fencedCSV.ReplaceAllString(s, "")) },
	"quote":     quoted,
	"shortened": shortened,
	"shown":     func(list []schemas.Article) []schemas.Article { return list[:min(len(list), maxShown)] },
	"unended":   func(s string) string { return strings.TrimRight(s, ":") },
	"valid":     func(s string) bool { return json.Valid([]byte(s)) },
}).Parse(read("answers.tmpl")))

// render fills in a template of an answer.
func render(name string, data any) string { return fill(answers.Lookup(name), data) }

// fill fills in a template. An error, which a test would find, is shown in place of the text.
func fill(t *template.Template, data any) string {
	var b strings.Builder
	if err := t.Execute(&b, data); err != nil {
		return err.Error()
	}
	return b.String()
}

// count counts to n, in lines of ten.
func count(n int64) string {
	var b strings.Builder
	for i := range min(n, maxSlowWords) {
		b.WriteString(strconv.FormatInt(i+1, 10))
		b.WriteString(map[bool]string{true: "\n", false: " "}[i%10 == 9])
	}
	return cmp.Or(strings.TrimSpace(b.String()), "Nothing to count.")
}

// Long is an answer of varied Markdown, as many tokens long as the question says.
func (r *request) Long() string {
	tokens := longTokens
	if r.matches[1] != "" {
		tokens = min(int(number(r.matches[1])), maxLongTokens)
	}
	pieces := strings.Split(strings.TrimSpace(read("long.md")), "\n---\n")
	var b strings.Builder
	for i := 0; b.Len() < tokens*charsPerToken; i++ {
		if i%len(pieces) == 0 {
			fmt.Fprintf(&b, "## Part %d\n\n", i/len(pieces)+1)
		}
		b.WriteString(strings.TrimSpace(pieces[i%len(pieces)]))
		b.WriteString("\n\n")
	}
	return b.String() + "The end."
}

// Asked returns the questions of the turns to condense, each on one line.
func (r *request) Asked() []string {
	var asked []string
	for _, m := range r.Facts.Older {
		if m.Role == turn.User {
			asked = append(asked, firstLine(paragraph(m.Content)))
		}
	}
	return asked
}

// ArticlesReports are the first reports of the articles that the story's tool found.
func (r *request) ArticlesReports() []int64 {
	var ids []int64
	for _, a := range r.Found().Articles {
		ids = append(ids, a.ReportID)
	}
	ids = unique(ids)
	return ids[:min(len(ids), 2)]
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return strings.TrimSpace(line)
}

// quoted returns the beginning of a tool's text, as a quotation of several
// lines.
func quoted(s string) string {
	s = strings.TrimSpace(s)
	if cut := text.Offset(s, maxQuoted); cut < len(s) {
		s = strings.TrimSpace(s[:cut]) + "…"
	}
	return strings.ReplaceAll(s, "\n", "\n> ")
}

// cite names an article in one line.
func cite(a schemas.Article) string {
	name := strings.TrimSuffix(a.Title, ".")
	if a.Year > 0 {
		name += fmt.Sprintf(" (%d)", a.Year)
	}
	if a.PMID != "" {
		name += ", PMID " + a.PMID
	}
	return name
}

var fencedCSV = regexp.MustCompile("(?s)```csv\\s+(.+?)\\s*```")

// csvIn returns the first CSV table in text, "" for none. A table that was
// joined to one line is split into lines again.
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
