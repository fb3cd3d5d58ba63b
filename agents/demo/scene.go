package demo

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/chattray/chattray/agents"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/text"
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
	// ask is the first paragraph of the question that is being answered, asked is
	// the same in lower case.
	ask, asked string
	// first says that this is the first answer of the chat.
	first bool
	// Results is what tools gave since the question, in order.
	Results []result
	// Rounds counts the model's replies since the question.
	Rounds int
}

// result is a finished tool call: its text, and its data as far as the rules know
// the shape.
type result struct {
	Name     string            `json:"-"`
	Text     string            `json:"-"`
	Articles []schemas.Article `json:"articles"`
	Report   schemas.Report    `json:"report"`
	Reports  []schemas.Report  `json:"reports"`
	Stream   schemas.Stream    `json:"stream"`
	Streams  []schemas.Stream  `json:"streams"`
	Blocks   []block           `json:"blocks"`
}

// block is a block of the document.
type block struct {
	ID      string `json:"block_id"`
	Type    string `json:"type"`
	Content string `json:"content"`
}

// streamSchema is what the rules know of a stream's schema.
type streamSchema struct {
	Semantic  struct{ Topics, Inclusion, Exclusion []string }
	Retrieval struct{ Query string }
}

// Schema is the stream's schema; zero where it has a shape of its own.
func (r result) Schema() (known streamSchema) {
	if json.Unmarshal(r.Stream.Schema, &known) != nil {
		return streamSchema{}
	}
	return known
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
			s.Rounds++
			for _, c := range m.ToolCalls {
				names[c.ID] = c.Name
			}
		case turn.ToolRole:
			r := result{}
			if json.Unmarshal(m.Data, &r) != nil {
				r = result{} // of another shape: its text is quoted
			}
			r.Name, r.Text = names[m.ToolCallID], m.Content
			s.Results = append(s.Results, r)
		case turn.User:
		}
	}
	return s
}

// question returns the index of the user's message to answer, -1 for none. A user
// message after a tool's result is a note of the loop, no question.
func (s *scene) question() int {
	for i, m := range slices.Backward(s.Messages) {
		note := i > 0 && s.Messages[i-1].Role == turn.ToolRole && s.ToolsForbidden
		if m.Role == turn.User && !note {
			return i
		}
	}
	return -1
}

// paragraph returns the first paragraph of a message, bounded.
func paragraph(message string) string {
	message, _, _ = strings.Cut(strings.TrimSpace(strings.ReplaceAll(message, "\r", "")), "\n\n")
	return strings.TrimSpace(message[:text.Offset(message, maxAsk)])
}

// offered reports whether the page has the tool.
func (s *scene) offered(name string) bool {
	return slices.ContainsFunc(s.Tools, func(t turn.Tool) bool { return t.Name == name })
}

// marker comes before a payload of the type; "" where the page does not allow it.
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

// of returns the results of the named tools since the question.
func (s *scene) of(names ...string) []result {
	return slices.DeleteFunc(slices.Clone(s.Results), func(r result) bool { return !slices.Contains(names, r.Name) })
}

// got returns the last result of the tool, zero for none.
func (s *scene) got(name string) (last result) {
	for _, r := range s.of(name) {
		last = r
	}
	return last
}

// look calls tools that were not called yet: ok is false while the answer has to
// wait for them. It goes on without a tool that is not offered.
func (s *scene) look(text string, calls ...toolCall) (r reply, ok bool) {
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
func (s *scene) args(thing string) object {
	if id := s.id(thing); id > 0 {
		return object{thing + "_id": id}
	}
	return object{}
}

// stopWords say what to do, not what about; in a few languages.
var stopWords = strings.Fields(read("stopwords.txt"))

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
		if isNumber || len(w) > maxTopicWord || slices.Contains(stopWords, lower) || slices.Contains(without, lower) {
			continue
		}
		if kept = append(kept, w); len(kept) == maxTopicWords {
			break
		}
	}
	return strings.Join(kept, " ")
}

// mentions reports whether text has one of the topic's words.
func mentions(text, topic string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc(strings.Fields(strings.ToLower(topic)), func(w string) bool { return strings.Contains(text, w) })
}

// object is JSON in the making; its keys are written in order.
type object = map[string]any

func number(digits string) int64 {
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// capital is text with a capital letter in front.
func capital(s string) string {
	first := text.Offset(s, 1)
	return strings.ToUpper(s[:first]) + s[first:]
}

// unique returns the items in their order, each once.
func unique[T comparable](items []T) []T {
	var out []T
	for _, i := range items {
		if !slices.Contains(out, i) {
			out = append(out, i)
		}
	}
	return out
}
