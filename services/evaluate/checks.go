package evaluate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/jsonlimit"
	"github.com/chattray/chattray/schemas/text"
)

// Limits of checks.
const (
	maxChecks    = 50
	maxCheckText = 20_000 // bytes of a text, an expression or a rubric
)

// Check is one thing that an answer has to fulfil. Exactly one of its fields is set;
// Payload goes with JSONSchema.
type Check struct {
	// Contains and NotContains compare without case; Matches is a regular expression (RE2).
	Contains    string `json:"contains,omitempty"`
	NotContains string `json:"not_contains,omitempty"`
	Matches     string `json:"matches,omitempty"`
	// JSONSchema is for the answer, which must then be JSON, alone or in a code fence;
	// with Payload it is for the payloads of that type, of which there must be one.
	JSONSchema    json.RawMessage `json:"json_schema,omitempty"`
	Payload       string          `json:"payload,omitempty"`
	ToolCalled    *CalledTool     `json:"tool_called,omitempty"`
	ToolNotCalled *CalledTool     `json:"tool_not_called,omitempty"`
	// Judge is a rubric: a model says which of the two answers fulfils it better.
	Judge string `json:"judge,omitempty"`

	pattern *regexp.Regexp
	schema  *jsonschema.Resolved
	bounds  *jsonlimit.Bounds // of schema
}

// CalledTool matches calls of a tool that have at least these arguments.
type CalledTool struct {
	Tool      string         `json:"tool"`
	Arguments schemas.Object `json:"arguments,omitempty"`
}

// compile reads the check's expression and schema; the error says what is wrong.
func (c *Check) compile() error {
	set := 0
	for _, is := range []bool{c.Contains != "", c.NotContains != "", c.Matches != "", c.JSONSchema != nil, c.ToolCalled != nil, c.ToolNotCalled != nil, c.Judge != ""} {
		if is {
			set++
		}
	}
	switch {
	case set != 1:
		return fmt.Errorf("has %d of contains, not_contains, matches, json_schema, tool_called, tool_not_called and judge, want exactly one", set)
	case c.Payload != "" && c.JSONSchema == nil:
		return errors.New("has payload without json_schema")
	case len(c.Contains)+len(c.NotContains)+len(c.Matches)+len(c.Judge) > maxCheckText:
		return fmt.Errorf("has a text of more than %d bytes", maxCheckText)
	case c.ToolCalled != nil && c.ToolCalled.Tool == "", c.ToolNotCalled != nil && c.ToolNotCalled.Tool == "":
		return errors.New("names no tool")
	}
	var err error
	if c.Matches != "" {
		c.pattern, err = regexp.Compile(c.Matches)
	}
	if c.JSONSchema != nil {
		c.schema, c.bounds, err = compileSchema(c.JSONSchema)
	}
	return err
}

func compileSchema(raw json.RawMessage) (*jsonschema.Resolved, *jsonlimit.Bounds, error) {
	if fault := jsonlimit.Measure(raw); fault != nil {
		return nil, nil, fmt.Errorf("json_schema %w", fault)
	}
	var s jsonschema.Schema
	err := json.Unmarshal(raw, &s)
	var resolved *jsonschema.Resolved
	if err == nil {
		resolved, err = s.Resolve(nil)
	}
	if err == nil {
		raw, err = json.Marshal(&s)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("json_schema is not a schema: %w", err)
	}
	if raw[0] != '{' { // {} and {"not": {}} are written as true and false
		raw = []byte("{}")
	}
	bounds, err := jsonlimit.Read(raw)
	if err != nil {
		return nil, nil, fmt.Errorf("json_schema %w", err)
	}
	return resolved, bounds, nil
}

// compileAll compiles checks; the error names the first wrong one.
func compileAll(checks []Check) error {
	if len(checks) > maxChecks {
		return fmt.Errorf("%d checks, want at most %d", len(checks), maxChecks)
	}
	for i := range checks {
		if err := checks[i].compile(); err != nil {
			return fmt.Errorf("check %d %w", i+1, err)
		}
	}
	return nil
}

// Name describes the check on one line.
func (c *Check) Name() string {
	raw := text.JSON(c)
	return text.Line(strings.TrimSuffix(strings.TrimPrefix(raw, "{"), "}"), maxCheckName)
}

// maxCheckName is how many characters describe a check.
const maxCheckName = 200

// Holds returns why an answer does not fulfil the check; nil if it does. A check by a
// judge holds for each answer.
func (c *Check) Holds(a *Answer) error {
	switch {
	case c.Contains != "" && !containsFold(a.Text, c.Contains):
		return errors.New("the answer does not contain it")
	case c.NotContains != "" && containsFold(a.Text, c.NotContains):
		return errors.New("the answer contains it")
	case c.pattern != nil && !c.pattern.MatchString(a.Text):
		return errors.New("the answer does not match")
	case c.schema != nil:
		return c.fits(a)
	case c.ToolCalled != nil && !c.ToolCalled.in(a.Calls):
		return errors.New("there is no such call")
	case c.ToolNotCalled != nil && c.ToolNotCalled.in(a.Calls):
		return errors.New("there is such a call")
	}
	return nil
}

func containsFold(s, part string) bool {
	return strings.Contains(strings.ToLower(s), strings.ToLower(part))
}

// fits checks the answer, or its payloads, against the schema.
func (c *Check) fits(a *Answer) error {
	if c.Payload == "" {
		return c.valid([]byte(withoutFence(a.Text)))
	}
	found := false
	for _, p := range a.Payloads {
		if p.Type != c.Payload {
			continue
		}
		found = true
		if err := c.valid(p.Data); err != nil {
			return err
		}
	}
	if !found {
		return errors.New("the answer has no such payload")
	}
	return nil
}

func (c *Check) valid(raw []byte) error {
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return fmt.Errorf("it is not JSON: %w", err)
	}
	if err := c.bounds.Allow(v); err != nil {
		return fmt.Errorf("it %w", err)
	}
	return c.schema.Validate(v)
}

// fenced is an answer that is a code fence and nothing else.
var fenced = regexp.MustCompile("(?s)\\A```[a-zA-Z]*\\n(.*)\\n```\\z")

func withoutFence(s string) string {
	s = strings.TrimSpace(s)
	if m := fenced.FindStringSubmatch(s); m != nil {
		return m[1]
	}
	return s
}

// in reports whether a call matches.
func (t *CalledTool) in(calls []Call) bool {
	for i := range calls {
		if calls[i].Tool == t.Tool && t.matches(calls[i].Input) {
			return true
		}
	}
	return false
}

func (t *CalledTool) matches(input json.RawMessage) bool {
	var has schemas.Object
	if len(t.Arguments) > 0 && json.Unmarshal(input, &has) != nil {
		return false
	}
	for key, want := range t.Arguments {
		if got, ok := has[key]; !ok || !bytes.Equal(text.Canonical(got), text.Canonical(want)) {
			return false
		}
	}
	return true
}
