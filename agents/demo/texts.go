package demo

import (
	"embed"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"text/template"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/text"
)

// Limits of answers.
const (
	// maxShown is how many articles an answer names.
	maxShown = 8
	// maxQuoted is the length of a quotation from a tool's text, in characters.
	maxQuoted = 600
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
	"cell":    func(s string) string { return strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "|", `\|`) },
	"capital": capital,
	"file":    read,
	"last":    func(list []string) []string { return list[max(0, len(list)-maxCondensed):] },
	"join":    func(list []string) string { return strings.Join(list, ", ") },
	"unended": func(s string) string { return strings.TrimRight(s, ":") },
	"shown":   func(list []schemas.Article) []schemas.Article { return list[:min(len(list), maxShown)] },
	"count":   func(list any, noun string) string { return text.Plural(reflect.ValueOf(list).Len(), noun) },
	"cite":    cite,
	"csv":     csvIn,
	"prose":   func(s string) string { return strings.TrimSpace(fencedCSV.ReplaceAllString(s, "")) },
	"inc":     func(i int) int { return i + 1 },
	"line":    firstLine,
	"quote":   quoted,
}).Parse(read("answers.tmpl")))

// render fills in a template. Its data is made in this package and always fits.
func render(name string, data any) string {
	var b strings.Builder
	if err := answers.ExecuteTemplate(&b, name, data); err != nil {
		return err.Error()
	}
	return b.String()
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
