package tools

import (
	"encoding/json"
	"slices"

	"github.com/chattray/chattray/schemas/weburl"
)

// URLs returns the keys of all addresses in the strings of an input, the names of
// its members too: of a tool that does something with them which is not known
// here.
func URLs(input json.RawMessage) []string {
	var v any
	if json.Unmarshal(input, &v) != nil {
		return nil
	}
	var keys []string
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			keys = append(keys, weburl.Sent(v)...)
		case []any:
			for _, item := range v {
				walk(item)
			}
		case map[string]any:
			for name, item := range v {
				keys = append(keys, weburl.Sent(name)...)
				walk(item)
			}
		}
	}
	walk(v)
	slices.Sort(keys)
	return slices.Compact(keys)
}
