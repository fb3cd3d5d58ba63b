package jsonlimit

import (
	"regexp"
	"strings"
)

// Misfit returns what the validator of a JSON schema says of a value, without the names of the
// schema's parts, and the keys that lead from the value to the fault: the names of properties,
// and "" for an item of a list, or a property that the schema does not name, because the
// validator does not say which one.
func Misfit(err error) (keys []string, detail string) {
	detail = err.Error()
	for {
		rest, named := strings.CutPrefix(detail, "validating ")
		path, message, more := strings.Cut(rest, ": ")
		if !named || !more {
			return keys, unnamed.ReplaceAllStringFunc(detail, alternatives)
		}
		detail = message
		parts := strings.Split(path, "/") // of the schema; its root has one
		switch n := len(parts); {
		case n > 1 && parts[n-2] == "properties":
			keys = append(keys, strings.NewReplacer("~1", "/", "~0", "~").Replace(parts[n-1]))
		case n > 1 && (parts[n-1] == "items" || parts[n-1] == "additionalProperties" || parts[n-2] == "prefixItems" || parts[n-2] == "patternProperties"):
			keys = append(keys, "")
		}
	}
}

// Path writes the keys that Misfit returns, as in authors[].name; "" if none has a name.
func Path(keys []string) string {
	var b strings.Builder
	for _, key := range keys {
		switch {
		case key == "":
			b.WriteString("[]")
		case b.Len() > 0:
			b.WriteString("." + key)
		default:
			b.WriteString(key)
		}
	}
	if strings.Trim(b.String(), "[]") == "" {
		return ""
	}
	return b.String()
}

// unnamed is how the validator names parts of a schema without an id.
var unnamed = regexp.MustCompile(`any of \[<anonymous schema>(?: <anonymous schema>)*\]|both <anonymous schema> and <anonymous schema>|<anonymous schema>`)

// alternatives says what is unnamed.
func alternatives(parts string) string {
	switch {
	case strings.HasPrefix(parts, "any of"):
		return "any of the alternatives"
	case strings.HasPrefix(parts, "both"):
		return "more than one of the alternatives"
	default:
		return "what is excluded"
	}
}
