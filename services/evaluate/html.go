package evaluate

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"strings"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/text"
)

// maxShown is how many characters of a text the page shows.
const maxShown = 50_000

//go:embed report.html
var reportPage string

var reportTemplate = template.Must(template.New("report").Funcs(template.FuncMap{
	"cut":      func(s string) string { return text.Cut(s, maxShown, cutNote) },
	"raw":      func(raw json.RawMessage) string { return text.Cut(string(raw), maxShown, cutNote) },
	"seconds":  seconds,
	"dollars":  dollars,
	"join":     func(list []string) string { return strings.Join(list, ", ") },
	"verdicts": func() []Verdict { return Verdicts },
	"time":     func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") },
	"side":     newSide,
	"messages": func(list []schemas.HistoryMessage) string { return text.Plural(len(list), "message") },
}).Parse(reportPage))

func cutNote(total int) string {
	return fmt.Sprintf("… (%d characters in all; the JSON report has them)", total)
}

func seconds(ms int64) string { return fmt.Sprintf("%.1f s", float64(ms)/1000) }

func dollars(u schemas.USD) string {
	switch {
	case u == 0:
		return "–"
	case u < schemas.Dollar/10_000:
		return "< $0.0001"
	default:
		return fmt.Sprintf("$%.4f", float64(u)/float64(schemas.Dollar))
	}
}

// side is one of the two answers as the page shows it.
type side struct {
	Title, Model, Text, Error string
	Calls                     []Call
	Payloads                  []Payload
	Usage                     schemas.Usage
	DurationMS                int64
}

func newSide(i *Item, fresh bool) side {
	failure := func(e *schemas.MessageFailure) string {
		if e == nil {
			return ""
		}
		return string(e.Code) + ": " + e.Message
	}
	if n := &i.New; fresh {
		return side{"New", n.Model, n.Text, failure(n.Error), n.Calls, n.Payloads, n.Usage, n.DurationMS}
	}
	r := i.Record
	return side{"Recorded", r.Model, r.Answer, failure(r.Error), r.Calls, r.Payloads, r.Usage, r.DurationMS}
}

// WriteHTML writes the report as one page that needs nothing else.
func (r *Report) WriteHTML(to io.Writer) error { return reportTemplate.Execute(to, r) }

// WriteJSON writes the report as JSON.
func (r *Report) WriteJSON(to io.Writer) error {
	e := json.NewEncoder(to)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// Text returns the summary in a few lines.
func (r *Report) Text() string {
	s := &r.Summary
	var b strings.Builder
	fmt.Fprintf(&b, "%s:", text.Plural(s.Questions, "question"))
	for _, v := range Verdicts {
		fmt.Fprintf(&b, " %d %s,", s.Verdicts[v], v)
	}
	fmt.Fprintf(&b, " %d left out\n", s.LeftOut)
	if r.Stopped != "" {
		fmt.Fprintf(&b, "stopped: %s\n", r.Stopped)
	}
	row := func(name string, t Total) {
		fmt.Fprintf(&b, "%-9s %8d tokens, cost %s, time %s\n", name, t.Usage.TotalTokens, dollars(t.Usage.CostUSD), seconds(t.DurationMS))
	}
	row("recorded:", s.Recorded)
	row("new:", s.New)
	if s.UnrecordedCalls > 0 {
		fmt.Fprintf(&b, "calls without a recorded result: %d\n", s.UnrecordedCalls)
	}
	if s.RefusedCalls > 0 {
		fmt.Fprintf(&b, "calls refused because they may change something: %d\n", s.RefusedCalls)
	}
	return b.String()
}
