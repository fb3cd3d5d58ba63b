package argstream

import (
	"encoding/json"
	"strings"

	"github.com/chattray/chattray/schemas"
)

// Text returns a property that is a string, without U+0000, which is not stored.
func Text(head map[string]json.RawMessage, key string) string {
	var text string
	if json.Unmarshal(head[key], &text) != nil {
		return ""
	}
	return strings.ReplaceAll(text, "\x00", "")
}

// Without returns an object without one of its properties.
func Without(object json.RawMessage, name string) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(object, &fields) != nil {
		return object
	}
	delete(fields, name)
	return schemas.Encode(fields)
}
