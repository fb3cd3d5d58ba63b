package jsonlimit

import (
	"encoding/json"
	"regexp/syntax"
	"slices"
	"strings"
)

const typeNames = "string, number, integer, boolean, object, array, null"

// types checks the names of types. A validator may take any name, and then no value fits,
// while servers of models refuse the schema.
func (c *compiler) types(place string, raw json.RawMessage) {
	if len(raw) == 0 {
		return
	}
	if raw[0] != '[' {
		raw = slices.Concat([]byte("["), raw, []byte("]"))
	}
	var names []string
	if json.Unmarshal(raw, &names) != nil {
		c.fail(place, "must be one of %s, or a list of them", typeNames)
	}
	for _, name := range names {
		if !slices.Contains(strings.Split(typeNames, ", "), name) {
			c.fail(place, "is %q, which is none of %s", name, typeNames)
		}
	}
}

// pattern returns the size of a compiled regular expression.
func (c *compiler) pattern(place, text string) int {
	if text == "" {
		return 0
	}
	if len(text) > maxPattern {
		c.fail(place, "has %d bytes, at most %d are allowed", len(text), maxPattern)
		return 0
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		c.fail(place, "is not a regular expression: %v", err)
		return 0
	}
	size := written(parsed)
	if size > maxProgram {
		c.fail(place, "is a regular expression of more than %d steps", maxProgram)
	}
	return size
}

// written returns how many steps an expression has with its repetitions expanded.
func written(re *syntax.Regexp) int {
	size := 1 + len(re.Rune)/2
	for _, sub := range re.Sub {
		size = min(size+written(sub), maxProgram+1)
	}
	if re.Op == syntax.OpRepeat {
		size *= max(re.Min, re.Max, 1) + 1
	}
	return min(size, maxProgram+1)
}
