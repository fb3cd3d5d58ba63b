package demo

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/chattray/chattray/agents"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/text"
	"github.com/chattray/chattray/schemas/turn"
)

// maxQuestion bounds the part of a user's message that is read, in characters.
const maxQuestion = 1000

// request is a model's request in the form that stories and templates read.
type request struct {
	agents.ModelRequest
	// question is the first paragraph of the user's question.
	question string
	// suggests is true if suggestions are taken out of the text and shown.
	suggests bool
	// Story is the one that the question asks for; matches are those of its
	// expression in the question.
	Story   story
	matches []string
	// Files are the texts of the files that came with the question, and Images its images.
	Files  []file
	Images []turn.Image
	// Results are the tools' results since the question, in order.
	Results []result
	// Rounds counts the model's replies since the question.
	Rounds int
}

// result is a finished tool call: its text, and its data if the stories know
// its shape.
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

// file is an attached file.
type file struct{ Name, Text string }

// attached matches a text file as the prompt has it. Only the line that ends it is not indented.
var attached = regexp.MustCompile(`(?ms)^Attached file \([^)\n]*\):\n<data name=("(?:[^"\\\n]|\\.)*")>\n(.*?)^</data>$`)

// files returns the files in a message.
func files(message string) (found []file) {
	for _, m := range attached.FindAllStringSubmatch(message, -1) {
		name, _ := strconv.Unquote(m[1]) // "" if it fails
		found = append(found, file{name, m[2]})
	}
	return found
}

// streamSchema has the parts of a stream's schema that the stories know.
type streamSchema struct {
	Semantic  struct{ Topics, Inclusion, Exclusion []string }
	Retrieval struct{ Query string }
}

// Schema returns the stream's schema; zero if it has another shape.
func (r result) Schema() (known streamSchema) {
	if json.Unmarshal(r.Stream.Schema, &known) != nil {
		return streamSchema{}
	}
	return known
}

func newRequest(req agents.ModelRequest) *request {
	r := &request{ModelRequest: req, suggests: req.Facts != nil}
	if req.Facts == nil {
		r.Facts = new(turn.Facts)
	}
	asked := r.asked()
	if asked < 0 {
		return r
	}
	message := req.Messages[asked]
	r.question = paragraph(cmp.Or(r.Facts.Question, message.Content))
	r.Files, r.Images = files(message.Content), message.Images
	names := map[string]string{}
	for _, m := range req.Messages[asked+1:] {
		switch m.Role {
		case turn.Assistant:
			r.Rounds++
			for _, c := range m.ToolCalls {
				names[c.ID] = c.Name
			}
		case turn.ToolRole:
			found := result{}
			if json.Unmarshal(m.Data, &found) != nil {
				found = result{} // another shape: its text is quoted
			}
			found.Name, found.Text = names[m.ToolCallID], m.Content
			r.Results = append(r.Results, found)
		case turn.User:
		}
	}
	return r
}

// asked returns the index of the user's message to answer, -1 for none. If
// tools are forbidden, a user message after a tool's result is a note of the
// loop.
func (r *request) asked() int {
	for i, m := range slices.Backward(r.Messages) {
		note := i > 0 && r.Messages[i-1].Role == turn.ToolRole && r.ToolsForbidden
		if m.Role == turn.User && !note {
			return i
		}
	}
	return -1
}

// paragraph returns the first paragraph of a message, bounded.
func paragraph(message string) string {
	message, _, _ = strings.Cut(strings.TrimSpace(strings.ReplaceAll(message, "\r", "")), "\n\n")
	return strings.TrimSpace(message[:text.Offset(message, maxQuestion)])
}

// Offers reports whether the page has the tool.
func (r *request) Offers(name string) bool {
	return slices.ContainsFunc(r.Tools, func(t turn.Tool) bool { return t.Name == name })
}

// Marker comes before a payload of the story's type; "" where the page does not
// allow it.
func (r *request) Marker() string {
	for _, p := range r.Facts.Payloads {
		if p.Name == r.Story.Needs {
			return p.Marker
		}
	}
	return ""
}

// MaySuggest reports whether the page has the action.
func (r *request) MaySuggest(action string) bool {
	return slices.ContainsFunc(r.Facts.Actions, func(a schemas.Action) bool { return a.Action == action })
}

// IntoDocument reports whether the answer's text is written into a document, so
// that it must have nothing else in it.
func (r *request) IntoDocument() bool {
	document, _ := turn.Answer(r.Facts.Context)
	return document != ""
}

// Of returns the results of the named tools since the question.
func (r *request) Of(names ...string) []result {
	return slices.DeleteFunc(slices.Clone(r.Results), func(found result) bool { return !slices.Contains(names, found.Name) })
}

// Last returns the last result of the tool, zero for none.
func (r *request) Last(name string) (last result) {
	for _, found := range r.Of(name) {
		last = found
	}
	return last
}

// Found returns the last result of the tool that the story needs.
func (r *request) Found() result { return r.Last(r.Story.Needs) }

// Match returns a group of the story's expression in the question.
func (r *request) Match(group int) string { return r.matches[group] }

// Next returns the item of the list whose turn it is in this round.
func (r *request) Next(list ...string) string { return list[r.Rounds%len(list)] }

// Has reports whether the question has the word, which is in lower case.
func (r *request) Has(word string) bool {
	return slices.Contains(strings.Fields(strings.ToLower(r.question)), word)
}

// Mentions reports whether the question contains the text, which is in lower case.
func (r *request) Mentions(text string) bool {
	return strings.Contains(strings.ToLower(r.question), text)
}

// ID returns the number after the thing in the question ("report 3"), else the
// id of the thing that the page shows, else 0.
func (r *request) ID(thing string) int64 {
	if m := regexp.MustCompile(`(?i)\b` + thing + `\W{1,3}(\d{1,9})\b`).FindStringSubmatch(r.question); m != nil {
		return number(m[1])
	}
	return r.Facts.Context.Int(thing + "_id")
}

// object is a JSON object; its keys are written in alphabetical order.
type object = map[string]any

func number(digits string) int64 {
	n, _ := strconv.ParseInt(digits, 10, 64) // 0 without digits
	return n
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
