package demo

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/chattray/chattray/agents"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/turn"
)

// Bounds of what is read of a user's message and of a topic in it.
const (
	maxAsk        = 1000
	maxTopicWords = 6
	maxTopicWord  = 40
)

// scene is a request as the rules see it.
type scene struct {
	agents.ModelRequest
	facts turn.Facts
	// ask is the first paragraph of the question that is being answered, asked
	// is the same in lower case.
	ask, asked string
	// first says that this is the first answer of the chat.
	first bool
	// results is what tools gave since the question, in order.
	results []result
	// rounds counts the model's replies since the question.
	rounds int
}

// result is a finished tool call: its text, and its data as far as they are of a
// shape that the rules know.
type result struct {
	name, text string
	Articles   []schemas.Article `json:"articles"`
	Report     schemas.Report    `json:"report"`
	Reports    []schemas.Report  `json:"reports"`
	Stream     schemas.Stream    `json:"stream"`
	Streams    []schemas.Stream  `json:"streams"`
	Blocks     []block           `json:"blocks"`
}

// block is a block of the document.
type block struct {
	ID      string `json:"block_id"`
	Type    string `json:"type"`
	Content string `json:"content"`
}

func newScene(req agents.ModelRequest) *scene {
	s := &scene{ModelRequest: req, first: true}
	if req.Facts != nil {
		s.facts = *req.Facts
	}
	asked := s.question()
	if asked < 0 {
		return s
	}
	s.first = asked == 0 && s.facts.Purpose == ""
	s.ask = paragraph(req.Messages[asked].Content)
	s.asked = strings.ToLower(s.ask)
	names := map[string]string{}
	for _, m := range req.Messages[asked+1:] {
		switch m.Role {
		case turn.Assistant:
			s.rounds++
			for _, c := range m.ToolCalls {
				names[c.ID] = c.Name
			}
		case turn.ToolRole:
			r := result{}
			if json.Unmarshal(m.Data, &r) != nil {
				r = result{} // of another shape: its text is quoted
			}
			r.name, r.text = names[m.ToolCallID], m.Content
			s.results = append(s.results, r)
		case turn.User:
		}
	}
	return s
}

// question returns the index of the user's message to answer, -1 for none. A
// user message behind a tool's result is a note of the loop, no question.
func (s *scene) question() int {
	for i, m := range slices.Backward(s.Messages) {
		note := i > 0 && s.Messages[i-1].Role == turn.ToolRole && s.ToolsForbidden
		if m.Role == turn.User && !note {
			return i
		}
	}
	return -1
}

// paragraph returns the first paragraph of text, bounded.
func paragraph(text string) string {
	text, _, _ = strings.Cut(strings.TrimSpace(strings.ReplaceAll(text, "\r", "")), "\n\n")
	if r := []rune(text); len(r) > maxAsk {
		text = string(r[:maxAsk])
	}
	return strings.TrimSpace(text)
}

// offered says whether the page has the tool. Whether it may still be called is
// looked at in one place, answer.
func (s *scene) offered(name string) bool {
	return slices.ContainsFunc(s.Tools, func(t turn.Tool) bool { return t.Name == name })
}

// marker stands before a payload of the type; "" where the page does not allow it.
func (s *scene) marker(name string) string {
	for _, p := range s.facts.Payloads {
		if p.Name == name {
			return p.Marker
		}
	}
	return ""
}

func (s *scene) maySuggest(action string) bool {
	return slices.ContainsFunc(s.facts.Actions, func(a schemas.Action) bool { return a.Action == action })
}

// of returns what a tool gave since the question.
func (s *scene) of(names ...string) []result {
	var found []result
	for _, r := range s.results {
		if slices.Contains(names, r.name) {
			found = append(found, r)
		}
	}
	return found
}

// got is the last of these results, zero for none.
func (s *scene) got(name string) result {
	if all := s.of(name); len(all) > 0 {
		return all[len(all)-1]
	}
	return result{}
}

// look asks for tools that were not called yet: ok is false while the answer has
// to wait for them. One that is not offered is gone without.
func (s *scene) look(text string, calls ...call) (r reply, ok bool) {
	for _, c := range calls {
		if s.offered(c.name) && len(s.of(c.name)) == 0 {
			r.calls = append(r.calls, c)
		}
	}
	r.text = text
	return r, len(r.calls) == 0
}

// id returns the number that the question gives a thing ("report 3"), else that
// of the one which the page shows, else 0.
func (s *scene) id(thing string) int64 {
	if m := regexp.MustCompile(`\b` + thing + `\W{1,3}(\d{1,9})\b`).FindStringSubmatch(s.asked); m != nil {
		return number(m[1])
	}
	return s.facts.Context.Int(thing + "_id")
}

// args are those of a tool that reads one thing.
func (s *scene) args(thing string) string {
	if id := s.id(thing); id > 0 {
		return toJSON(object{thing + "_id": id})
	}
	return "{}"
}

// stopWords say what to do, not what about; in a few languages.
var stopWords = set(`
	a about add all also an and any are article articles as ask at be been by can chart column compare could create csv data database describe did do
	document does draft explain figures find for from get give had has have help how i in into is it its know latest library list look make me more my new
	newest of on or our overview paper papers please pubmed query read recent report reports research results say says schema search show stream streams
	studies study suggest sum summarise summarize summary table tell that the their them there these they this to topic topics trial trials up us was web
	were what when where which who why will with work would write you your hi hello hey thanks propose categories categorize categorise validate whether known there here sure thing things
	edit rewrite shorten improve rephrase change delete remove drop move after before top bottom end block section paragraph text last first
	der die das ein eine einen und oder über zu zum zur von im ist was wie finde suche such zeige zeig artikel bericht berichte bitte mir mich ich sagt sagen gibt es welche forschung
	le la les un une des et ou sur de du dans trouve cherche montre liste moi rapport je est quoi que qui
	el los las una y o sobre en con busca buscar muestra artículos informe informes por favor
`)

func set(text string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(text) {
		m[w] = true
	}
	return m
}

// topic returns what the question is about: its words without those that say
// what to do. They are letters, digits and hyphens, so quoting them is safe.
func (s *scene) topic(without ...string) string {
	var kept []string
	for _, w := range strings.FieldsFunc(s.ask, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsDigit(r) && r != '-'
	}) {
		w = strings.Trim(w, "-")
		lower := strings.ToLower(w)
		isNumber := strings.Trim(w, "0123456789") == ""
		if stopWords[lower] || slices.Contains(without, lower) || len(w) > maxTopicWord || isNumber {
			continue
		}
		if kept = append(kept, w); len(kept) == maxTopicWords {
			break
		}
	}
	return strings.Join(kept, " ")
}

// mentions says whether text has one of the topic's words.
func mentions(text, topic string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc(strings.Fields(strings.ToLower(topic)), func(w string) bool { return strings.Contains(text, w) })
}

// object is JSON in the making; its keys are written in order.
type object = map[string]any

// toJSON is for values made here, which always marshal.
func toJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return "{}"
	}
	return string(b)
}

func number(digits string) int64 {
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(line)
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
	return strconv.Itoa(n) + " " + noun + "s"
}

// capital is text with a capital letter in front.
func capital(text string) string {
	for i, r := range text {
		return strings.ToUpper(string(r)) + text[i+len(string(r)):]
	}
	return text
}

func unique[T cmp.Ordered](items []T) []T {
	var out []T
	for _, i := range items {
		if !slices.Contains(out, i) {
			out = append(out, i)
		}
	}
	return out
}
