package demo

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/chattray/chattray/agents"
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

// result is a finished tool call.
type result struct {
	name      string
	arguments string
	text      string
}

func newScene(req agents.ModelRequest) *scene {
	s := &scene{ModelRequest: req, first: true}
	asked := s.question()
	if asked < 0 {
		return s
	}
	s.first = asked == 0 && !strings.HasPrefix(req.System, partBegins)
	s.ask = paragraph(req.Messages[asked].Content)
	s.asked = strings.ToLower(s.ask)
	calls := map[string]turn.ToolCall{}
	for _, m := range req.Messages[asked+1:] {
		switch m.Role {
		case turn.Assistant:
			s.rounds++
			for _, c := range m.ToolCalls {
				calls[c.ID] = c
			}
		case turn.ToolRole:
			c := calls[m.ToolCallID]
			s.results = append(s.results, result{c.Name, c.Arguments, m.Content})
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
	text = strings.TrimSpace(text)
	if i := strings.Index(strings.ReplaceAll(text, "\r", ""), "\n\n"); i >= 0 {
		text = strings.TrimSpace(text[:i])
	}
	if r := []rune(text); len(r) > maxAsk {
		text = string(r[:maxAsk])
	}
	return text
}

// offered says whether the page has all these tools. Whether they may still be
// called is looked at in one place, answer.
func (s *scene) offered(names ...string) bool {
	for _, name := range names {
		if !slices.ContainsFunc(s.Tools, func(t turn.Tool) bool { return t.Name == name }) {
			return false
		}
	}
	return true
}

// spec returns the tool of that name.
func (s *scene) spec(name string) turn.Tool {
	for _, t := range s.Tools {
		if t.Name == name {
			return t
		}
	}
	return turn.Tool{}
}

// mayWrite says whether the page allows the payload behind marker, maySuggest
// whether it has the action.
func (s *scene) mayWrite(marker string) bool { return strings.Contains(s.System, "write "+marker) }

func (s *scene) maySuggest(action string) bool { return strings.Contains(s.System, "\n- "+action+" (") }

// of returns the texts that a tool gave since the question.
func (s *scene) of(names ...string) []result {
	var found []result
	for _, r := range s.results {
		if slices.Contains(names, r.name) {
			found = append(found, r)
		}
	}
	return found
}

// called says whether one of the tools was called since the question.
func (s *scene) called(names ...string) bool { return len(s.of(names...)) > 0 }

// context is the part of the system prompt that says where the user is and what
// the page shows.
func (s *scene) context() string {
	_, rest, _ := strings.Cut("\n"+s.System, "\n## CONTEXT\n")
	text, _, _ := strings.Cut(rest, "\n## ")
	return text
}

// id returns the number that the question gives a thing ("report 3"), else that
// of the one which the page shows, else 0.
func (s *scene) id(thing string) int64 {
	if m := regexp.MustCompile(`\b` + thing + `\W{1,3}(\d{1,9})\b`).FindStringSubmatch(s.asked); m != nil {
		return number(m[1])
	}
	for _, m := range contextHead.FindAllStringSubmatch(s.context(), -1) {
		if m[1] == thing {
			return number(m[2])
		}
	}
	return 0
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
func (s *scene) topic() string { return topicOf(s.ask) }

func topicOf(text string) string {
	var kept []string
	for _, w := range strings.FieldsFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsDigit(r) && r != '-'
	}) {
		w = strings.Trim(w, "-")
		if w == "" || stopWords[strings.ToLower(w)] || len(w) > maxTopicWord || isNumber(w) {
			continue
		}
		if kept = append(kept, w); len(kept) == maxTopicWords {
			break
		}
	}
	return strings.Join(kept, " ")
}

func isNumber(w string) bool {
	return strings.IndexFunc(w, func(r rune) bool { return !unicode.IsDigit(r) }) < 0
}

// toJSON is for values made here, which always marshal.
func toJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return "{}"
	}
	return string(b)
}
