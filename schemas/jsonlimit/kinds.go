package jsonlimit

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/chattray/chattray/schemas/text"
)

// maxShownValue bounds the value that a fault repeats.
const maxShownValue = 60

// The kinds of values that keywords have, as an author reads them.
const (
	kindText    = "text"
	kindNumber  = "a number"
	kindWhole   = "a whole number"
	kindBool    = "true or false"
	kindList    = "a list"
	kindNames   = "a list of names"
	kindNeeds   = "a mapping of names to lists of names"
	kindSchema  = "a schema, such as {type: string}"
	kindSchemas = "a list of schemas"
	kindNamed   = "a mapping of names to schemas"
	kindType    = "one of " + typeNames + ", or a list of them"
)

// kinds are the kinds of the values of keywords.
var kinds = func() map[string]string {
	all := make(map[string]string)
	for kind, names := range map[string]string{
		kindText:    "title description format pattern $id $schema $ref $anchor $comment",
		kindNumber:  "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf",
		kindWhole:   "minLength maxLength minItems maxItems minProperties maxProperties minContains maxContains",
		kindBool:    "uniqueItems deprecated readOnly writeOnly",
		kindList:    "enum examples",
		kindNames:   "required",
		kindNeeds:   "dependentRequired",
		kindSchema:  "items additionalItems additionalProperties propertyNames contains not if then else unevaluatedItems unevaluatedProperties contentSchema",
		kindSchemas: "prefixItems allOf anyOf oneOf",
		kindNamed:   "properties patternProperties dependentSchemas $defs definitions",
		kindType:    "type",
	} {
		for name := range strings.FieldsSeq(names) {
			all[name] = kind
		}
	}
	return all
}()

// Explain says in an author's words why a schema could not be decoded, with err: which
// keywords have a value of the wrong kind, and what they must be. If there are none, it
// returns err. The schema has to keep the limits of Measure.
func Explain(raw json.RawMessage, err error) error {
	c := new(compiler)
	var v any
	if json.Unmarshal(raw, &v) == nil {
		c.kinds("", v)
	}
	if len(c.wrong) == 0 {
		return err
	}
	return errors.Join(c.wrong...)
}

// kinds finds the keywords of a schema, and of those in it, with a value of the wrong kind.
func (c *compiler) kinds(place string, v any) {
	s, _ := v.(map[string]any) // true and false have no keywords
	for _, name := range slices.Sorted(maps.Keys(s)) {
		at, v, kind := place+"/"+Escape(name), s[name], kinds[name]
		list, isList := v.([]any)
		if name == "items" && isList { // before the draft of 2020
			kind = kindSchemas
		}
		switch {
		case v == nil, kind == "":
		case !hasKind(v, kind):
			hint := ""
			if _, flag := v.(bool); name == "required" && flag {
				hint = " in the object's schema, beside properties"
			}
			c.fail(at, "must be %s%s, not %s", kind, hint, shown(v))
		case kind == kindSchema:
			c.kinds(at, v)
		case kind == kindSchemas:
			for i, part := range list {
				c.part(at+"/"+strconv.Itoa(i), part)
			}
		case kind == kindNamed:
			parts, _ := v.(map[string]any)
			for _, key := range slices.Sorted(maps.Keys(parts)) {
				c.part(at+"/"+Escape(key), parts[key])
			}
		}
	}
}

func (c *compiler) part(place string, v any) {
	if !hasKind(v, kindSchema) {
		c.fail(place, "must be %s, not %s", kindSchema, shown(v))
		return
	}
	c.kinds(place, v)
}

func hasKind(v any, kind string) bool {
	allText := func(list []any) bool {
		return !slices.ContainsFunc(list, func(v any) bool { _, ok := v.(string); return !ok })
	}
	switch v := v.(type) {
	case string:
		return kind == kindText || kind == kindType
	case float64:
		return kind == kindNumber || kind == kindWhole && v == float64(int64(v))
	case bool:
		return kind == kindBool || kind == kindSchema
	case []any:
		return kind == kindList || kind == kindSchemas || (kind == kindNames || kind == kindType) && allText(v)
	case map[string]any:
		for _, list := range v {
			if kind == kindNeeds && !hasKind(list, kindNames) {
				return false
			}
		}
		return kind == kindSchema || kind == kindNamed || kind == kindNeeds
	}
	return false
}

func shown(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return text.Ellipsis(string(raw), maxShownValue)
}
