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
func Showable(what string, raw []byte) error { return readNames(what, raw, false) }

// readNames looks at every name in raw. In valid JSON a string is a name if a colon follows it.
// It finds nothing in the rest of JSON that breaks off.
func readNames(what string, raw []byte, once bool) error {
	var open [maxNesting + 1]map[string]bool // the names of each object that is being read, if once
	for i, depth := 0, 0; i < len(raw); i++ {
		switch raw[i] {
		case '{', '[':
			if depth++; depth > maxNesting {
				return fmt.Errorf("%s are nested more than %d deep", what, maxNesting)
			}
			open[depth] = nil
		case '}', ']':
			depth = max(depth-1, 0)
		case '"':
			end := text.StringEnd(raw, i)
			quoted := raw[i:end]
			i = end - 1
			if rest := bytes.TrimLeft(raw[end:], " \t\r\n"); len(rest) == 0 || rest[0] != ':' {
				continue
			}
			name := unquoted(quoted)
			if string(name) == refusedName {
				return fmt.Errorf("%s have the field %q, which is not allowed", what, name)
			}
			if !once {
				continue
			}
			if open[depth][string(name)] {
				return fmt.Errorf("%s give the field %q more than once", what, text.Ellipsis(string(name), maxShownName))
			}
			if open[depth] == nil {
				open[depth] = make(map[string]bool)
			}
			open[depth][string(name)] = true
		}
	}
	return nil
}

// unquoted returns the text of a JSON string, without quotes and escapes.
func unquoted(quoted []byte) []byte {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return bytes.Trim(quoted, `"`)
	}
	var s string
	_ = json.Unmarshal(quoted, &s) // a string that is no JSON is no name
	return []byte(s)
}
