package tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/turn"
)

// WithArguments returns the tool with arguments that are set once: each call has
// them, models do not see them, and nobody changes them. The error joins everything
// that is wrong with them.
func WithArguments(t turn.Tool, set schemas.Object) (turn.Tool, error) {
	if t.Streams != nil {
		return t, errors.New("its arguments cannot be set: they are read while the model writes them")
	}
	s, err := read(t.InputSchema)
	if err != nil {
		return t, err
	}
	a, err := compile(s)
	if err != nil {
		return t, err
	}
	var wrong []error
	for _, name := range slices.Sorted(maps.Keys(set)) {
		wrong = append(wrong, a.fits(name, set[name]))
	}
	if err := errors.Join(wrong...); err != nil {
		return t, err
	}
	if t.InputSchema, err = encoded(without(s, set)); err != nil {
		return t, err
	}
	t.Preset = maps.Clone(t.Preset)
	if t.Preset == nil {
		t.Preset = make(schemas.Object)
	}
	maps.Copy(t.Preset, set)
	if check, fill := t.Check, t; check != nil {
		t.Check = func(input json.RawMessage) error {
			if err := unchanged(input, set); err != nil {
				return err
			}
			return check(fill.Fill(input))
		}
	}
	return t, nil
}

// fits says why an argument cannot have the value.
func (a *arguments) fits(name string, value json.RawMessage) error {
	property, known := a.schema.Properties[name]
	if !known {
		return fmt.Errorf("there is no argument %q; the arguments are: %s", name, strings.Join(a.names, ", "))
	}
	var v any
	if err := json.Unmarshal(value, &v); err != nil {
		return fmt.Errorf("%q is no JSON value", name)
	}
	if part := a.parts[name]; part != nil && part.Validate(v) != nil {
		return fmt.Errorf("%q must be %s; got %s%s", name, expected(property), shown(v), a.deeper(name, v))
	}
	return nil
}

// without returns the schema of an object without these properties.
func without(s *jsonschema.Schema, set schemas.Object) *jsonschema.Schema {
	s = s.CloneSchemas()
	isSet := func(name string) bool { _, ok := set[name]; return ok }
	s.Required = slices.DeleteFunc(slices.Clone(s.Required), isSet)
	s.PropertyOrder = slices.DeleteFunc(slices.Clone(s.PropertyOrder), isSet)
	maps.DeleteFunc(s.Properties, func(name string, _ *jsonschema.Schema) bool { return isSet(name) })
	return s
}

// unchanged refuses arguments in which one that is set has another value.
func unchanged(input json.RawMessage, set schemas.Object) error {
	args, err := object(input)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(set)) {
		var want any
		if got, there := args[name]; there && json.Unmarshal(set[name], &want) == nil && !reflect.DeepEqual(got, want) {
			return misfit{schemas.NewError(schemas.CodeInvalid, fmt.Sprintf("%q is set by the page to %s", name, jsonText(want)))}
		}
	}
	return nil
}
