package payloads

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
)

// common is a schema that uses only common keywords. It tells that a value fits without
// the validator, which makes about ten allocations for each part of a value.
type common struct {
	kind                 string // JSON type
	enum                 []string
	minLength, maxLength int
	pattern              *regexp.Regexp
	minimum, maximum     *float64
	items                *common
	minItems, maxItems   int
	properties           map[string]*common
	required             []string
	closed               bool // allows no other properties
}

// draft is the version of JSON Schema in which the common keywords mean what fits checks.
const draft = "https://json-schema.org/draft/2020-12/schema"

// unlimited is the maximum of a length that has none.
const unlimited = int(^uint(0) >> 1)

// maxExact is the largest whole number up to which each is exact as a float64.
const maxExact = 1 << 53

// asCommon returns s as a schema of common keywords; nil if it uses another one.
func asCommon(s *jsonschema.Schema) *common {
	r := commonReader{root: s, definitions: map[string]*common{}}
	return r.read(s)
}

// commonReader reads the parts of a schema.
type commonReader struct {
	root        *jsonschema.Schema
	definitions map[string]*common // nil while it is read, and for one with other keywords
}

func (r *commonReader) read(s *jsonschema.Schema) *common {
	// What is read of rest is removed, so that a keyword that nobody knows here remains.
	rest := *s
	rest.Title, rest.Description, rest.Comment, rest.Format = "", "", "", ""
	rest.Default, rest.Examples, rest.PropertyOrder = nil, nil, nil
	if s == r.root {
		rest.Defs = nil
		if s.Schema == draft {
			rest.Schema = ""
		}
	}
	c := &common{kind: s.Type, maxLength: unlimited, maxItems: unlimited}
	rest.Type = ""
	known := true
	switch s.Type {
	case "object":
		known = r.object(c, &rest)
	case "array":
		known = r.array(c, &rest)
	case "string":
		known = c.readString(&rest)
	case "integer", "number":
		c.minimum, c.maximum = rest.Minimum, rest.Maximum
		rest.Minimum, rest.Maximum = nil, nil
	case "boolean":
	default:
		c = r.definition(rest.Ref)
		rest.Ref = ""
	}
	if !known || !reflect.ValueOf(rest).IsZero() {
		return nil
	}
	return c
}

func (r *commonReader) definition(ref string) *common {
	name, ok := strings.CutPrefix(ref, "#/$defs/")
	s := r.root.Defs[name]
	if !ok || s == nil {
		return nil
	}
	if c, ok := r.definitions[name]; ok {
		return c
	}
	r.definitions[name] = nil
	r.definitions[name] = r.read(s)
	return r.definitions[name]
}

func (r *commonReader) object(c *common, rest *jsonschema.Schema) bool {
	c.required = rest.Required
	c.properties = make(map[string]*common, len(rest.Properties))
	for name, s := range rest.Properties {
		property := r.read(s)
		if property == nil {
			return false
		}
		c.properties[name] = property
	}
	if s := rest.AdditionalProperties; s != nil && reflect.DeepEqual(*s, jsonschema.Schema{Not: &jsonschema.Schema{}}) {
		c.closed, rest.AdditionalProperties = true, nil
	}
	rest.Required, rest.Properties = nil, nil
	return true
}

func (r *commonReader) array(c *common, rest *jsonschema.Schema) bool {
	if rest.Items != nil {
		if c.items = r.read(rest.Items); c.items == nil {
			return false
		}
	}
	setLimits(&c.minItems, &c.maxItems, rest.MinItems, rest.MaxItems)
	rest.Items, rest.MinItems, rest.MaxItems = nil, nil, nil
	return true
}

func (c *common) readString(rest *jsonschema.Schema) bool {
	for _, v := range rest.Enum {
		word, ok := v.(string)
		if !ok {
			return false
		}
		c.enum = append(c.enum, word)
	}
	if rest.Pattern != "" {
		var err error
		if c.pattern, err = regexp.Compile(rest.Pattern); err != nil {
			return false
		}
	}
	setLimits(&c.minLength, &c.maxLength, rest.MinLength, rest.MaxLength)
	none := rest.Enum != nil && c.enum == nil
	rest.Enum, rest.Pattern, rest.MinLength, rest.MaxLength = nil, "", nil, nil
	return !none
}

func setLimits(least, most *int, setLeast, setMost *int) {
	if setLeast != nil {
		*least = *setLeast
	}
	if setMost != nil {
		*most = *setMost
	}
}

// fits reports whether v, as text.Decode returns it, is sure to fit. A value of which it is not
// sure, such as a number with an exponent for an integer, is left to the validator.
func (c *common) fits(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return c.kind == "object" && c.fitsObject(v)
	case []any:
		if c.kind != "array" || len(v) < c.minItems || len(v) > c.maxItems {
			return false
		}
		return c.items == nil || !slices.ContainsFunc(v, func(item any) bool { return !c.items.fits(item) })
	case string:
		return c.kind == "string" && c.fitsString(v)
	case bool:
		return c.kind == "boolean"
	case int64:
		return (c.kind == "integer" || c.kind == "number") && -maxExact <= v && v <= maxExact && c.within(float64(v))
	case float64:
		return c.kind == "number" && c.within(v)
	}
	return false
}

func (c *common) fitsObject(v map[string]any) bool {
	for _, name := range c.required {
		if _, ok := v[name]; !ok {
			return false
		}
	}
	for name, member := range v {
		if property := c.properties[name]; property != nil && !property.fits(member) || property == nil && c.closed {
			return false
		}
	}
	return true
}

func (c *common) fitsString(s string) bool {
	if c.minLength > 0 || c.maxLength < len(s) {
		if n := utf8.RuneCountInString(s); n < c.minLength || n > c.maxLength {
			return false
		}
	}
	return (c.enum == nil || slices.Contains(c.enum, s)) && (c.pattern == nil || c.pattern.MatchString(s))
}

func (c *common) within(n float64) bool {
	return (c.minimum == nil || n >= *c.minimum) && (c.maximum == nil || n <= *c.maximum)
}
