package payloads

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"text/template"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/chattray/chattray/schemas/jsonlimit"
	"github.com/chattray/chattray/schemas/text"
	"github.com/chattray/chattray/schemas/turn"
)

// The sources of a payload.
const (
	sourceTool = "tool"
	sourceLLM  = "llm"
)

// The markers of suggestions; no payload type may have them.
const (
	markerValues  = "SUGGESTED_VALUES:"
	markerActions = "SUGGESTED_ACTIONS:"
)

// Limits of a payload type's parts, in bytes, and of a summary, in characters.
const (
	maxDescription  = 2_000
	maxInstructions = 8_000
	maxSchema       = 64 << 10
	maxTemplate     = 4_000
	maxSummary      = 200
)

var (
	nameForm   = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)
	markerForm = regexp.MustCompile(`^[A-Z][A-Z0-9_]{1,62}:$`)
)

// NewType makes the payload type that a page file declares; it is not global.
// The error names every part of def that is wrong, joined. The schema must
// declare at its root whether it accepts an object or an array, and may refer
// only to itself. Summary is a Go text/template over the decoded data, with the
// function count ({{count .articles "article"}} gives "3 articles"); if it is
// empty or fails on a payload, the summary is the type's name in words.
func NewType(def turn.PayloadDef) (turn.PayloadType, error) {
	check, array, schemaErr := compileSchema(def.Schema)
	summary, summaryErr := compileSummary(def.Name, def.Summary)
	if err := errors.Join(checkDef(def), schemaErr, summaryErr); err != nil {
		return turn.PayloadType{}, fmt.Errorf("payload type %q: %w", def.Name, err)
	}
	return turn.PayloadType{
		Name:         def.Name,
		Description:  def.Description,
		Schema:       def.Schema,
		Array:        array,
		Source:       def.Source,
		Marker:       def.Marker,
		Instructions: def.Instructions,
		Check: func(data json.RawMessage) (any, error) {
			v, err := text.Decode(data)
			if err != nil {
				return nil, err
			}
			return v, check(v)
		},
		Summarize: summary,
	}, nil
}

func checkDef(def turn.PayloadDef) error {
	var errs []error
	if !nameForm.MatchString(def.Name) {
		errs = append(errs, errors.New("name must begin with a lower case letter and have only those, digits and _ (at most 64)"))
	}
	switch def.Source {
	case sourceLLM:
		if !markerForm.MatchString(def.Marker) {
			errs = append(errs, fmt.Errorf("marker %q must begin with an upper case letter, have only those, digits and _ (2 to 63), and end with a colon", def.Marker))
		}
		if def.Marker == markerValues || def.Marker == markerActions {
			errs = append(errs, fmt.Errorf("marker %s belongs to suggestions", def.Marker))
		}
	case sourceTool:
		if def.Marker != "" {
			errs = append(errs, errors.New("a tool's payload has no marker"))
		}
		if def.Instructions != "" {
			errs = append(errs, errors.New("instructions have no effect without a marker: with a marker a model writes the payload, without one a tool makes it"))
		}
	default:
		errs = append(errs, fmt.Errorf("source %q must be tool or llm", def.Source))
	}
	return errors.Join(append(errs,
		checkSize("description", def.Description, maxDescription),
		checkSize("instructions", def.Instructions, maxInstructions))...)
}

func checkSize(part, text string, limit int) error {
	if len(text) > limit {
		return fmt.Errorf("%s has %d bytes, at most %d are allowed", part, len(text), limit)
	}
	return nil
}

// compileSchema returns the check of decoded data, and whether the schema
// accepts an array.
func compileSchema(raw json.RawMessage) (check func(any) error, array bool, err error) {
	if err := checkSize("schema", string(raw), maxSchema); err != nil {
		return nil, false, err
	}
	if f := jsonlimit.Measure(raw); f != nil {
		return nil, false, fmt.Errorf("schema: %w", f)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, false, fmt.Errorf("schema: %w", jsonlimit.Explain(raw, err))
	}
	if s.Type != "object" && s.Type != "array" {
		return nil, false, errors.New(`schema: "type" at the root must be "object" or "array"`)
	}
	understood, err := json.Marshal(&s)
	if err != nil {
		return nil, false, fmt.Errorf("schema: %w", err)
	}
	bounds, err := jsonlimit.Read(understood)
	if err != nil {
		return nil, false, fmt.Errorf("schema: %w", err)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		return nil, false, fmt.Errorf("schema: %w", err)
	}
	quick := asCommon(&s)
	return func(v any) error {
		if err := bounds.Allow(v); err != nil {
			return err
		}
		if quick != nil && quick.fits(v) {
			return nil
		}
		if err := resolved.Validate(floats(v)); err != nil {
			return misfit(err)
		}
		return nil
	}, s.Type == "array", nil
}

// misfit says at which field data do not fit a schema, and why.
func misfit(err error) error {
	keys, detail := jsonlimit.Misfit(err)
	if where := jsonlimit.Path(keys); where != "" {
		detail = strconv.Quote(where) + ": " + detail
	}
	return errors.New(detail)
}

// floats returns v with a float64 for each json.Number. The validator takes such a number for
// a text, or computes all digits of one like 1e999999, which takes much longer than a step.
func floats(v any) any {
	switch v := v.(type) {
	case json.Number:
		f, _ := v.Float64() // infinite if it is out of range
		return min(max(f, -math.MaxFloat64), math.MaxFloat64)
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = floats(v[i])
		}
		return list
	case map[string]any:
		object := make(map[string]any, len(v))
		for name := range v {
			object[name] = floats(v[name])
		}
		return object
	}
	return v
}

// compileSummary returns a function that writes one line about decoded data.
func compileSummary(name, source string) (func(any) string, error) {
	plain := strings.ReplaceAll(name, "_", " ")
	if source == "" {
		return func(any) string { return plain }, nil
	}
	if err := checkSize("summary", source, maxTemplate); err != nil {
		return nil, err
	}
	t, err := template.New(name).Funcs(template.FuncMap{"count": count}).Parse(source)
	if err != nil {
		return nil, fmt.Errorf("summary: %w", err)
	}
	bounded := text.Bounded(t)
	return func(v any) string {
		out := text.Buffer{Limit: maxTemplate}
		if err := bounded.Execute(&out, v); err != nil && !errors.Is(err, text.ErrFull) {
			return plain
		}
		line := text.Line(strings.ReplaceAll(out.String(), "<no value>", ""), maxSummary)
		if line == "" {
			return plain
		}
		return line
	}, nil
}

// count returns the number of items with a noun, as in "1 report" or "3
// reports".
func count(items any, noun string) string {
	list, _ := items.([]any)
	if len(list) == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", len(list), noun)
}
