package demo

import (
	"cmp"
	"embed"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"unicode"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/text"
)

// Limits of answers.
const (
	// maxShown is how many articles an answer names.
	maxShown = 8
	// maxQuoted is how much of a tool's text is quoted, in characters.
	maxQuoted = 600
	// maxParts is into how many sub-questions a topic is split.
	maxParts = 4
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

// answers are the templates of answers that are made of what tools found.
var answers = template.Must(template.New("").Funcs(template.FuncMap{
	"cell":    func(s string) string { return strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "|", `\|`) },
	"join":    func(list []string) string { return strings.Join(list, ", ") },
	"unended": func(s string) string { return strings.TrimRight(s, ":") },
	"shown":   func(list []schemas.Article) []schemas.Article { return list[:min(len(list), maxShown)] },
	"count":   count,
	"cite":    cite,
	"csv":     csvIn,
	"prose":   func(s string) string { return strings.TrimSpace(fencedCSV.ReplaceAllString(s, "")) },
	"inc":     func(i int) int { return i + 1 },
	"line":    firstLine,
	"quote":   quoted,
}).Parse(read("answers.tmpl")))

// render fills in a template. Its data is made here and always fits.
func render(name string, data any) string {
	var b strings.Builder
	if err := answers.ExecuteTemplate(&b, name, data); err != nil {
		return err.Error()
	}
	return b.String()
}

// count says how many items a list has, as in "3 articles".
func count(list any, noun string) string { return text.Plural(reflect.ValueOf(list).Len(), noun) }

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return strings.TrimSpace(line)
}

// quoted is the beginning of a tool's text, for a quotation of several lines.
func quoted(s string) string {
	s = strings.TrimSpace(s)
	if cut := text.Offset(s, maxQuoted); cut < len(s) {
		s = strings.TrimSpace(s[:cut]) + "…"
	}
	return strings.ReplaceAll(s, "\n", "\n> ")
}

// cite names an article in a line.
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

// csvIn returns the first CSV table in text, "" for none. A table that was put on
// one line gets its lines back.
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

func nothing(topic string) string { return render("nothing", topic) }

// told is the text of the rule's tool, as the answer.
func told(s *scene, m match) reply { return reply{text: s.got(m.needs).Text, chips: starters} }

// quote quotes what the rule's tool said, such as an error.
func quote(s *scene, m match) reply { return s.quote("This is what I was told:", m.needs) }

func (s *scene) quote(head, tool string) reply {
	return reply{text: head + "\n" + render("said", s.of(tool)), chips: starters}
}

func ordered(s *scene, m match) reply { return s.quote("This is how it went:", m.needs) }

// planParts asks for articles about the whole topic and about each word of it.
func planParts(s *scene) reply {
	parts := []string{s.topic()}
	if words := strings.Fields(parts[0]); len(words) > 1 {
		parts = append(parts, words[:min(len(words), maxParts-1)]...)
	}
	return reply{text: "Find articles about " + strings.Join(parts, "\nFind articles about "), bare: true}
}

// searchArticles searches, and once more and wider when that found nothing.
func searchArticles(s *scene, _ match) reply {
	topic := s.topic()
	if topic == "" {
		return reply{text: "I did not find a topic in that. Try `Find articles about BCL11A`; `help` says what else I know.", chips: starters}
	}
	calls := []toolCall{{"search_articles", text.JSON(object{"query": topic})}}
	if strings.Contains(s.asked, "reports") {
		calls = append(calls, toolCall{"list_reports", "{}"})
	}
	if r, ok := s.look(fmt.Sprintf("Let me search the articles for **%s**.", topic), calls...); !ok {
		return r
	}
	found, said := s.got("search_articles").Articles, nothing(topic)
	switch widest := telling(topic); {
	case len(found) == 0 && s.Rounds == 1:
		return reply{
			text:  "Nothing yet; I search everywhere, for the word that says most.",
			calls: []toolCall{{"search_articles", text.JSON(object{"query": widest, "stream_id": 0, "report_id": 0})}},
		}
	case len(found) > 0 && s.Rounds > 1 && topic != widest:
		said = fmt.Sprintf("No article has all of **%s**. ", topic) + articlesAbout(found, widest)
	case len(found) > 0:
		said = articlesAbout(found, topic)
	}
	if list := s.got("list_reports").Reports; len(list) > 0 {
		said += "\n\nAnd these are the reports:\n\n" + render("reports", list)
	}
	var chips []string
	for _, a := range found {
		chips = append(chips, fmt.Sprintf("Summarize report %d", a.ReportID))
	}
	chips = unique(chips)
	return reply{text: said, chips: append(chips[:min(len(chips), 2)], starters...)}
}

// telling returns the topic's word that says most: one with a digit or a capital
// inside, as names of genes and drugs have, else the longest.
func telling(topic string) string {
	weight := func(w string) int {
		if strings.ContainsFunc(w[1:], func(r rune) bool { return unicode.IsUpper(r) || unicode.IsDigit(r) }) {
			return len(w) + maxTopicWord
		}
		return len(w)
	}
	return slices.MaxFunc(strings.Fields(topic), func(a, b string) int { return weight(a) - weight(b) })
}

func articlesAbout(found []schemas.Article, topic string) string {
	return render("found", struct {
		Articles []schemas.Article
		Topic    string
	}{found, topic})
}

// show is for a rule whose tool found things that the template shows. In chips
// {id} is the id of the first.
func show(name string, chips ...string) script {
	return func(s *scene, m match) reply {
		got := s.got(m.needs)
		var id int64
		for _, thing := range []int64{first(got.Reports).ReportID, first(got.Streams).StreamID, got.Report.ReportID, got.Stream.StreamID} {
			id = cmp.Or(thing, id)
		}
		if id == 0 {
			return quote(s, m)
		}
		suggested := make([]string, len(chips))
		for i, c := range chips {
			suggested[i] = strings.ReplaceAll(c, "{id}", strconv.FormatInt(id, 10))
		}
		return reply{text: render(name, got), chips: suggested}
	}
}

func first[T any](list []T) (one T) {
	if len(list) > 0 {
		one = list[0]
	}
	return one
}

func showPubmed(s *scene, m match) reply {
	found := s.got(m.needs).Articles
	if len(found) == 0 {
		return quote(s, m)
	}
	return reply{text: articlesAbout(found, s.topic()), chips: []string{"PMID " + found[0].PMID, "Find articles about " + s.topic()}}
}

func showReports(s *scene, m match) reply {
	list, which := s.got(m.needs).Reports, ""
	if len(list) == 0 {
		return quote(s, m)
	}
	if topic := s.topic(); topic != "" {
		list = slices.DeleteFunc(list, func(r schemas.Report) bool { return !mentions(r.Title+r.Summary, topic) })
		if which = " about **" + topic + "**"; len(list) == 0 {
			return reply{text: nothing(topic), chips: starters}
		}
	}
	return reply{
		text:  fmt.Sprintf("I know %s%s, newest first:\n\n%s", count(list, "report"), which, render("reports", list)),
		chips: []string{fmt.Sprintf("Summarize report %d", list[0].ReportID), "List the research streams"},
	}
}

// compareStreams gets two streams at the same time.
func compareStreams(s *scene, m match) reply {
	if r, ok := s.look("I get both at the same time.",
		toolCall{m.needs, text.JSON(object{"stream_id": number(m.said[1])})}, toolCall{m.needs, text.JSON(object{"stream_id": number(m.said[2])})}); !ok {
		return r
	}
	got := s.of(m.needs)
	if len(got) < 2 || got[0].Stream.StreamID == 0 || got[1].Stream.StreamID == 0 {
		return quote(s, m)
	}
	return reply{text: render("compare", got[:2]), chips: []string{"List the reports", "Suggest streams about phage therapy"}}
}
