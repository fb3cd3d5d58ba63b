package text

import (
	"encoding/json"
	"strings"
)

// JSON returns v as JSON on one line, with < > & unescaped; "null" if v cannot be
// encoded.
func JSON(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return "null"
	}
	return strings.TrimSuffix(b.String(), "\n")
}
