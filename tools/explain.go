package tools

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/chattray/chattray/schemas/jsonlimit"
	"github.com/chattray/chattray/schemas/text"
)

// deeper returns the validator's own message if the fault is inside a value, or if the
// schema's description says nothing about values.
func (a *arguments) deeper(name string, v any) string {
	switch v.(type) {
	case map[string]any, []any:
	default:
		if !strings.HasPrefix(expected(a.schema.Properties[name]), noKind) {
			return ""
		}
	}
	err := a.parts[name].Validate(v)
	_, where, message := place(err)
	return " (" + where + message + ")"
}

// noKind describes values of any type.
const noKind = "a value"

// expected describes the values that a schema accepts.
func expected(s *jsonschema.Schema) string {
	if s == nil {
		return noKind
	}
	text := kinds(s)
	if len(s.Enum) > 0 {
		text = "one of " + list(s.Enum)
	}
	if s.Const != nil {
		text = jsonText(*s.Const)
	}
	if s.Type == "array" && s.Items != nil && s.Items.Type != "" {
		text += " of " + s.Items.Type + "s"
	}
	limits := []string{}
	limit := func(format string, v any) { limits = append(limits, fmt.Sprintf(format, v)) }
	if s.Minimum != nil {
		limit("at least %v", *s.Minimum)
	}
	if s.Maximum != nil {
		limit("at most %v", *s.Maximum)
	}
	if s.ExclusiveMinimum != nil {
		limit("more than %v", *s.ExclusiveMinimum)
	}
	if s.ExclusiveMaximum != nil {
		limit("less than %v", *s.ExclusiveMaximum)
	}
	if s.MultipleOf != nil {
		limit("a multiple of %v", *s.MultipleOf)
	}
	if s.MinLength != nil {
		limit("at least %d characters", *s.MinLength)
	}
	if s.MaxLength != nil {
		limit("at most %d characters", *s.MaxLength)
	}
	if s.MinItems != nil {
		limit("at least %d items", *s.MinItems)
	}
	if s.MaxItems != nil {
		limit("at most %d items", *s.MaxItems)
	}
	if s.Pattern != "" {
		limit("matching %s", s.Pattern)
	}
	if len(limits) > 0 {
		text += ", " + strings.Join(limits, ", ")
	}
	if s.Description != "" {
		text += " (" + s.Description + ")"
	}
	return text
}

// kinds describes the types that a schema accepts: its own, or those of its alternatives.
func kinds(s *jsonschema.Schema) string {
	names := make([]string, 0, len(s.Types))
	for _, t := range s.Types {
		names = append(names, article(t))
	}
	if s.Type == "" && len(names) == 0 {
		for _, alternative := range slices.Concat(s.AnyOf, s.OneOf) {
			names = append(names, expected(alternative))
		}
	}
	if len(names) == 0 {
		return article(s.Type)
	}
	return strings.Join(names, " or ")
}

func article(kind string) string {
	switch kind {
	case "":
		return noKind
	case "null":
		return kind
	case "integer", "array", "object":
		return "an " + kind
	default:
		return "a " + kind
	}
}

func list(values []any) string {
	parts := make([]string, len(values))
	for i, v := range values {
		parts[i] = jsonText(v)
	}
	return strings.Join(parts, ", ")
}

// shown returns a value with its type, shortened.
func shown(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case map[string]any:
		return "an object"
	case []any:
		return "an array"
	case string:
		return "the string " + text.Ellipsis(jsonText(v), maxShownValue)
	case float64:
		return "the number " + jsonText(v)
	default:
		return jsonText(v)
	}
}

func jsonText(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return "?"
	}
	return string(b)
}

// place returns the field that the validator's message is about, where in it the fault is,
// to put before the message, and the message; "" if the message is about the whole value.
func place(err error) (field, where, message string) {
	keys, message := jsonlimit.Misfit(err)
	if where = jsonlimit.Path(keys); where == "" {
		return "", "", message
	}
	return keys[0], strconv.Quote(where) + ": ", message
}
