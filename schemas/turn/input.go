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
		err = Readable(b.Bytes())
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
	// maxNesting is how deep arguments may be nested. Logs and answers have them within
	// other JSON, which encoding/json reads only up to a depth of 10,000.
	maxNesting = 1_000
)

// Readable returns an error if valid JSON is nested too deep to be stored within other
// JSON, or if an object in it has a name twice: one reader would take the first value,
// another one the last.
func Readable(raw []byte) error {
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
				names := open[len(open)-1]
				if names[name] {
					return fmt.Errorf("its arguments give the field %q more than once", text.Ellipsis(name, maxShownName))
				}
				names[name], wants = true, false
				continue
			}
		}
		if len(open) > maxNesting {
			return fmt.Errorf("its arguments are nested more than %d deep", maxNesting)
		}
		wants = len(open) > 0 && open[len(open)-1] != nil
	}
}
