package demo

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync"
	"text/template"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/text"
	"github.com/chattray/chattray/schemas/turn"
)

// maxChips is how many suggested values an answer carries.
const maxChips = 4

// book is the file of stories, which explains its fields.
type book struct {
	Starters         string
	Service          map[turn.Purpose]step
	SumUp, Elsewhere step
	Shared           []step
	Stories          []story
}

type story struct {
	When               expression
	Files              bool
	Only, Needs, Where string
	Steps, Instead     []step
}

type step struct {
	Think                      string
	Say, Calls, Chips, Buttons filler
	// Pace is the least delay between two words.
	Pace  time.Duration
	Again bool
	// Stop is EndTurn if empty. Fail ends the reply with an error after its text.
	Stop schemas.StopReason
	Fail *schemas.Error
}

// stories returns the stories. The file is part of the program.
var stories = sync.OnceValue(func() (b book) {
	file := yaml.NewDecoder(strings.NewReader(read("stories.yaml")))
	file.KnownFields(true)
	if err := file.Decode(&b); err != nil {
		panic("demo: " + err.Error())
	}
	template.Must(answers.New("starters").Parse(b.Starters))
	return b
})

// expression is a regular expression that ignores case.
type expression struct{ *regexp.Regexp }

// UnmarshalYAML compiles the expression.
func (e *expression) UnmarshalYAML(node *yaml.Node) (err error) {
	e.Regexp, err = regexp.Compile("(?i)" + node.Value)
	return err
}

// filler is a template; nil is an empty one.
type filler struct{ *template.Template }

// UnmarshalYAML parses the template.
func (f *filler) UnmarshalYAML(node *yaml.Node) (err error) {
	f.Template, err = answers.New(node.Value).Parse(node.Value)
	return err
}

func (f filler) fill(r *request) string {
	if f.Template == nil {
		return ""
	}
	return fill(f.Template, r)
}

// reply returns the next reply, with its suggestions.
func (r *request) reply() reply {
	out := r.tell()
	if len(out.calls) > 0 && r.ToolsForbidden {
		out = stories().SumUp.reply(r)
	}
	if r.IntoDocument() && len(out.calls) > 0 {
		out.text = "" // remarks about lookups do not belong in a document
	}
	if len(out.calls) == 0 && out.fail == nil && out.stop == "" && r.suggests {
		out.text += r.suggestions(out)
	}
	return out
}

// tell returns the next reply of the story that the request asks for.
func (r *request) tell() reply {
	if answer, ok := stories().Service[r.Facts.Purpose]; ok {
		return answer.reply(r)
	}
	if r.question == "" {
		return reply{text: "I did not get a question. Write `help` to see what I can do."}
	}
	r.choose()
	steps := r.Story.Steps
	if r.elsewhere() {
		steps = append(slices.Clone(r.Story.Instead), stories().Elsewhere)
	}
	for _, s := range steps {
		if out := s.reply(r); out.text != "" || out.fail != nil {
			return out
		}
	}
	return reply{}
}

// choose sets the story that the question asks for.
func (r *request) choose() {
	for _, s := range stories().Stories { // the last one matches everything
		r.Story, r.matches = s, s.When.FindStringSubmatch(r.question)
		if r.matches != nil && (s.Only == "" || r.Offers(s.Only)) && (!s.Files || len(r.Files)+len(r.Images) > 0) {
			return
		}
	}
}

// elsewhere reports whether the page lacks what the story needs.
func (r *request) elsewhere() bool {
	return r.Story.Needs != "" && !r.Offers(r.Story.Needs) && r.Marker() == ""
}

// reply returns the step's reply, or the zero reply if the step does not apply.
func (s step) reply(r *request) reply {
	out := reply{thinking: s.Think, pace: s.Pace, stop: s.Stop}
	if s.Calls.Template != nil {
		out.calls = r.possible(parseCalls(s.Calls.fill(r)), s.Again)
		if len(out.calls) == 0 {
			return reply{}
		}
	}
	if out.text = s.Say.fill(r); out.text != "" {
		out.chips = strings.Split(s.Chips.fill(r), "\n")
		if buttons := s.Buttons.fill(r); buttons != "" {
			_ = json.Unmarshal([]byte(buttons), &out.buttons) // no buttons if it fails
		}
	}
	if s.Fail != nil {
		out.fail = schemas.NewError(s.Fail.Code, s.Fail.Message)
	}
	return out
}

// possible leaves out the calls of tools that are not offered, and, except with again, of
// those that were called.
func (r *request) possible(calls []toolCall, again bool) []toolCall {
	return slices.DeleteFunc(calls, func(c toolCall) bool { return !r.Offers(c.name) || !again && len(r.Of(c.name)) > 0 })
}

// parseCalls reads the calls of a step.
func parseCalls(list string) (calls []toolCall) {
	name, rest, _ := strings.Cut(strings.TrimSpace(list), " ")
	if name == "" {
		return nil
	}
	var arguments json.RawMessage
	d := json.NewDecoder(strings.NewReader(rest))
	if d.Decode(&arguments) != nil {
		return []toolCall{{name, rest}} // the tool says what is wrong with it
	}
	return append([]toolCall{{name, string(arguments)}}, parseCalls(rest[d.InputOffset():])...)
}

// suggestions writes the chips and buttons for which the page has what they need.
func (r *request) suggestions(out reply) string {
	var values []schemas.SuggestedValue
	for _, c := range unique(out.chips) {
		next := &request{ModelRequest: r.ModelRequest, question: strings.TrimSpace(c)}
		if next.choose(); len(values) < maxChips && next.question != "" && c != r.question && !next.elsewhere() {
			values = append(values, schemas.SuggestedValue{Label: c, Value: c})
		}
	}
	buttons := slices.DeleteFunc(out.buttons, func(a schemas.SuggestedAction) bool { return !r.MaySuggest(a.Action) })
	var more strings.Builder
	if len(values) > 0 && r.Facts.Purpose == "" {
		more.WriteString("\n\nSUGGESTED_VALUES: " + text.JSON(values))
	}
	if len(buttons) > 0 {
		more.WriteString("\n\nSUGGESTED_ACTIONS: " + text.JSON(buttons))
	}
	return more.String()
}
