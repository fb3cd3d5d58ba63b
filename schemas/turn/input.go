package turn

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/chattray/chattray/schemas/text"
)

// Input returns the arguments that a model has written for a call as one line of JSON.
// Arguments that are not a JSON object, or not Readable, are kept as text in an object and
// returned with an error.
func Input(arguments string) (json.RawMessage, error) {
	whole := strings.TrimSpace(arguments)
	if whole == "" || whole == "null" {
		return json.RawMessage("{}"), nil
	}
	var b bytes.Buffer
	err := json.Compact(&b, []byte(strings.ToValidUTF8(whole, "\uFFFD")))
	switch {
	case err != nil:
		err = fmt.Errorf("its arguments are not valid JSON: %w", err)
	case b.Bytes()[0] != '{':
		err = errors.New("its arguments must be a JSON object")
	default:
		err = Readable("its arguments", b.Bytes())
	}
	if err == nil {
		return b.Bytes(), nil
	}
	raw, _ := json.Marshal(map[string]string{"invalid_arguments": whole}) // strings always marshal
	return raw, err
}

const (
	// maxShownName bounds a name in an error, in characters.
	maxShownName = 60
	// maxNesting is how deep arguments and data may be nested. Readers of the dialect messages
	// refuse props with values that are deeper than 32, and have these values one level deeper.
	maxNesting = 31
	// refusedName is a name that these readers refuse: in JavaScript it is not one of data.
	refusedName = "__proto__"
)

// Readable returns an error about what, whose JSON is valid, if it is not Showable, or if an
// object in it has a name twice: one reader would take the first value, another one the last.
func Readable(what string, raw []byte) error { return readNames(what, raw, true) }

// Showable returns an error about what, whose JSON is valid, if it is nested too deep to be
// shown, or has a name that readers refuse.
func Showable(what string, raw []byte) error {
	// Nearly all data is found to be so without its names being read.
	if nesting(raw) <= maxNesting && !bytes.Contains(raw, []byte(refusedName)) && !bytes.Contains(raw, []byte(`\u`)) {
		return nil
	}
	return readNames(what, raw, false)
}

// nesting returns how deep valid JSON is nested.
func nesting(raw []byte) (deepest int) {
	depth, quoted := 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{', c == '[':
			depth++
			deepest = max(deepest, depth)
		case c == '}', c == ']':
			depth--
		}
	}
	return deepest
}

func readNames(what string, raw []byte, once bool) error {
	var open []map[string]bool // the names of the objects that are being read; nil for an array
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	for wants := false; ; {
		token, err := decoder.Token()
		if err != nil {
			return nil // the end
		}
		switch token {
		case json.Delim('{'):
			open = append(open, map[string]bool{})
		case json.Delim('['):
			open = append(open, nil)
		case json.Delim('}'), json.Delim(']'):
			open = open[:len(open)-1]
		default:
			if name, ok := token.(string); ok && wants {
				if name == refusedName {
					return fmt.Errorf("%s have the field %q, which is not allowed", what, name)
				}
				names := open[len(open)-1]
				if once && names[name] {
					return fmt.Errorf("%s give the field %q more than once", what, text.Ellipsis(name, maxShownName))
				}
				names[name], wants = true, false
				continue
			}
		}
		if len(open) > maxNesting {
			return fmt.Errorf("%s are nested more than %d deep", what, maxNesting)
		}
		wants = len(open) > 0 && open[len(open)-1] != nil
	}
}
