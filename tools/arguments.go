package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/jsonlimit"
	"github.com/chattray/chattray/schemas/text"
)

// Limits of the parts of the arguments that an error repeats.
const (
	maxShownValue   = 60
	maxShownProblem = 300
	maxProblems     = 10
)

// arguments checks the arguments that a model wrote against a tool's schema.
type arguments struct {
	raw    json.RawMessage
	schema *jsonschema.Schema
	whole  *jsonschema.Resolved
	bounds *jsonlimit.Bounds
	// parts are the properties' own schemas, for messages that name the field;
	// nil if the schema has references.
	parts map[string]*jsonschema.Resolved
	names []string
}

// ofTypes has the arguments of each Go type that a tool has been made for, as a
// function that compiles them once.
var ofTypes sync.Map

// inferred returns the arguments that a Go type describes, with changes.
func inferred[In any](changes []func(*jsonschema.Schema)) (*arguments, error) {
	made := func() (*arguments, error) {
		s, err := jsonschema.For[In](nil)
		if err != nil {
			return nil, err
		}
		withoutNull(s)
		for _, change := range changes {
			change(s)
		}
		return compile(s)
	}
	if len(changes) > 0 {
		return made()
	}
	once, _ := ofTypes.LoadOrStore(reflect.TypeFor[In](), sync.OnceValues(made))
	return once.(func() (*arguments, error))() //nolint:forcetypeassert // only such functions are in it
}

// withoutNull removes the type null that a Go slice or pointer allows: no model needs it.
func withoutNull(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if rest := slices.DeleteFunc(slices.Clone(s.Types), func(t string) bool { return t == "null" }); len(rest) == 1 {
		s.Type, s.Types = rest[0], nil
	}
	withoutNull(s.Items)
	withoutNull(s.AdditionalProperties)
	for _, p := range s.Properties {
		withoutNull(p)
	}
}

var errNotObject = errors.New("the schema of its arguments is not of type object")

func compile(s *jsonschema.Schema) (*arguments, error) {
	raw, err := encoded(s)
	if err != nil {
		return nil, err
	}
	bounds, err := jsonlimit.Read(raw)
	if err != nil {
		return nil, fmt.Errorf("the schema of its arguments: %w", err)
	}
	whole, err := s.Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("the schema of its arguments: %w", err)
	}
	a := &arguments{raw: raw, schema: s, whole: whole, bounds: bounds, parts: map[string]*jsonschema.Resolved{}}
	for name, p := range s.Properties {
		if bounds.Refers() {
			break
		}
		if part, err := p.CloneSchemas().Resolve(nil); err == nil {
			a.parts[name] = part
		}
	}
	a.names = slices.Sorted(maps.Keys(s.Properties))
	return a, nil
}

// encoded returns the schema of a tool's arguments as JSON for models.
func encoded(s *jsonschema.Schema) (json.RawMessage, error) {
	if s.Type != "object" {
		return nil, errNotObject
	}
	raw, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("the schema of its arguments: %w", err)
	}
	if s.Properties == nil { // some model servers require the key
		raw = append(bytes.TrimSuffix(raw, []byte("}")), `,"properties":{}}`...)
	}
	return raw, nil
}

// read decodes the schema of a tool's arguments. The schema has to keep the
// limits of jsonlimit.Measure.
func read(raw json.RawMessage) (*jsonschema.Schema, error) {
	if f := jsonlimit.Measure(raw); f != nil {
		return nil, fmt.Errorf("the schema of its arguments: %w", f)
	}
	s := new(jsonschema.Schema)
	if err := json.Unmarshal(raw, s); err != nil {
		return nil, fmt.Errorf("the schema of its arguments: %w", jsonlimit.Explain(raw, err))
	}
	return s, nil
}

// isObject is the check for tools whose owner checks their arguments.
func isObject(input json.RawMessage) error {
	_, err := object(input)
	return err
}

// check returns everything that is wrong, in words that a model can act on. A
// null counts as an absent optional field.
func (a *arguments) check(input json.RawMessage) error {
	args, err := object(input)
	if err != nil {
		return err
	}
	if err := a.bounds.Allow(args); err != nil {
		return misfit{schemas.NewError(schemas.CodeInvalid, "they are too large, or nested too deep, to be checked")}
	}
	maps.DeleteFunc(args, func(name string, v any) bool {
		return v == nil && a.schema.Properties[name] != nil && !slices.Contains(a.schema.Required, name)
	})
	if err = a.whole.Validate(args); err == nil {
		return nil
	}
	var wrong []schemas.FieldError
	add := func(name, detail string) {
		wrong = append(wrong, schemas.FieldError{Pointer: "/" + jsonlimit.Escape(name), Detail: text.Ellipsis(detail, maxShownProblem)})
	}
	for _, name := range a.schema.Required {
		if _, ok := args[name]; !ok {
			add(name, strconv.Quote(name)+" is required: "+expected(a.schema.Properties[name]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(args)) {
		property, known := a.schema.Properties[name]
		switch {
		case !known && a.closed():
			add(name, fmt.Sprintf("there is no field %q; the fields are: %s", name, strings.Join(a.names, ", ")))
		case !known:
		case a.parts[name] != nil && a.parts[name].Validate(args[name]) != nil:
			add(name, fmt.Sprintf("%q must be %s; got %s%s", name, expected(property), shown(args[name]), a.deeper(name, args[name])))
		}
	}
	if len(wrong) == 0 {
		field, where, message := place(err)
		add(field, where+message)
		if field == "" {
			wrong[0].Pointer = "" // the whole value, not a field without a name
		}
	}
	wrong = wrong[:min(len(wrong), maxProblems)]
	details := make([]string, len(wrong))
	for i, w := range wrong {
		details[i] = w.Detail
	}
	return misfit{&schemas.Error{Code: schemas.CodeInvalid, Message: strings.Join(details, "; "), Fields: wrong}}
}

// misfit is a schemas.Error whose text is only the message, because the loop
// makes it part of a sentence.
type misfit struct{ seen *schemas.Error }

func (m misfit) Error() string { return m.seen.Message }
func (m misfit) Unwrap() error { return m.seen }

// closed reports whether the schema allows no other fields.
func (a *arguments) closed() bool {
	return nothing(a.schema.AdditionalProperties) && a.schema.PatternProperties == nil
}

// nothing reports whether s is the schema false.
func nothing(s *jsonschema.Schema) bool {
	return s != nil && s.Not != nil && reflect.DeepEqual(*s.Not, jsonschema.Schema{})
}

func object(input json.RawMessage) (map[string]any, error) {
	if len(bytes.TrimSpace(input)) == 0 {
		return map[string]any{}, nil
	}
	var v any
	if err := json.Unmarshal(input, &v); err != nil {
		return nil, misfit{schemas.NewError(schemas.CodeInvalid, "they are not valid JSON")}
	}
	args, ok := v.(map[string]any)
	if !ok {
		return nil, misfit{schemas.NewError(schemas.CodeInvalid, "they must be a JSON object; got "+shown(v))}
	}
	return args, nil
}

// decode decodes checked arguments. JSON Schema accepts 5.0 and 1e3 as
// integers, Go's decoder does not, so they are rewritten first. Others keep all digits.
func decode(input json.RawMessage, in any) error {
	if len(bytes.TrimSpace(input)) == 0 {
		input = json.RawMessage("{}")
	}
	err := json.Unmarshal(input, in)
	if err == nil {
		return nil
	}
	if v, e := text.Decode(input); e == nil {
		if b, e := json.Marshal(v); e == nil && json.Unmarshal(b, in) == nil {
			return nil
		}
	}
	reason := err.Error()
	if misfit, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		reason = fmt.Sprintf("%q cannot be the %s", misfit.Field, misfit.Value)
	}
	return schemas.NewError(schemas.CodeInvalid, "the arguments cannot be used: "+text.Line(reason, maxShownProblem)).Because(err)
}
