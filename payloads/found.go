package payloads

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/turn"
)

// Limits of what one reply may hold: a value in bytes and in levels (logs have it within
// other JSON), payloads, suggestions of each kind, warnings and dropped texts (more are
// not kept), and how deeply broken values are searched for markers.
const (
	maxValue    = 256 << 10
	maxNesting  = 1_000
	maxPayloads = 16
	maxChoices  = 8

	maxNotes   = 32
	maxSalvage = 8
)

// value is a JSON value that is being read. Its end is found by counting
// brackets outside strings; bytes beyond maxValue are counted but not kept.
type value struct {
	raw      []byte
	depth    int
	inString bool
	escaped  bool
	tooLarge bool
}

// add adds the part of s that belongs to the value, and reports whether the value has ended.
func (v *value) add(s string) (n int, ended bool) {
	for n < len(s) && !ended {
		b := s[n]
		n++
		switch {
		case v.escaped:
			v.escaped = false
		case v.inString:
			v.escaped = b == '\\'
			v.inString = b != '"'
		case b == '"':
			v.inString = true
		case b == '{', b == '[':
			v.depth++
			v.tooLarge = v.tooLarge || v.depth > maxNesting
		case b == '}', b == ']':
			v.depth--
			ended = v.depth == 0
		}
	}
	room := min(n, maxValue-len(v.raw))
	v.raw = append(v.raw, s[:room]...)
	v.tooLarge = v.tooLarge || room < n
	return n, ended
}

// take stores a value that has ended.
func (f *Filter) take() {
	m, raw := f.at.marker, f.value.raw
	var data bytes.Buffer
	switch {
	case f.value.tooLarge:
		f.drop(raw, "The answer had a part that cannot be shown here (%s): it was too large.", m.label())
	case json.Compact(&data, raw) != nil:
		f.drop(raw, "The answer had a part that cannot be shown here (%s): it was not written correctly.", m.label())
		f.salvage(raw, false)
		f.found.Cut = nil // only the last value can be cut off
	case m.payload != nil:
		f.takePayload(m, raw, data.Bytes())
	case m.name == markerValues:
		f.takeValues(data.Bytes())
	default:
		f.takeActions(data.Bytes())
	}
}

// cutOff drops a value that was cut off by the end of the reply.
func (f *Filter) cutOff(truncated bool) {
	m, raw := f.at.marker, f.value.raw
	why := "it did not end"
	if truncated {
		why = "it was cut off"
	}
	f.drop(raw, "The answer had a part that cannot be shown here (%s): %s.", m.label(), why)
	if !f.salvage(raw, truncated) {
		f.found.Cut = &turn.CutValue{Marker: m.name, Text: string(raw)}
	}
}

// salvage parses the occurrences inside a broken value: a marker at a line's
// start is never part of JSON. It reports whether there are any.
func (f *Filter) salvage(raw []byte, truncated bool) bool {
	if f.depth >= maxSalvage {
		return false
	}
	s := string(raw)
	for {
		_, after, more := strings.Cut(s, "\n")
		if !more {
			return false
		}
		s = after
		if _, v := f.grammar.match(strings.TrimLeft(s, " \t")); v == yes {
			inner := newFilter(f.grammar, f.depth+1)
			inner.found = f.found
			inner.Feed(s)
			_, f.found = inner.End(truncated)
			return true
		}
	}
}

func (f *Filter) takePayload(m *marker, raw, data []byte) {
	if len(f.found.Payloads) == maxPayloads {
		f.drop(raw, "The answer has more than %d cards; one is not shown (%s).", maxPayloads, m.label())
		return
	}
	if _, err := m.payload.Check(data); err != nil {
		f.drop(raw, "The answer had a part that cannot be shown here (%s): something in it was missing or wrong.", m.label())
		return
	}
	f.found.Payloads = append(f.found.Payloads, turn.Payload{Type: m.payload.Name, Data: data})
}

// takeValues stores a list of suggested values, which replaces an earlier one
// unless all of its items are invalid.
func (f *Filter) takeValues(data []byte) {
	if values, ok := choices(f, data, suggestedValue); ok {
		f.found.Values = values
	}
}

// takeActions does the same for actions.
func (f *Filter) takeActions(data []byte) {
	if actions, ok := choices(f, data, f.suggestedAction); ok {
		f.found.Actions = actions
	}
}

// choices decodes the valid items of a list, maxChoices at most; the invalid
// ones are kept for the diagnostics. It reports whether the list is used.
func choices[T any](f *Filter, data []byte, decode func(json.RawMessage) (T, bool)) ([]T, bool) {
	var items []json.RawMessage
	if json.Unmarshal(data, &items) != nil {
		return nil, false
	}
	var valid []T
	for _, item := range items {
		if v, ok := decode(item); ok {
			valid = append(valid, v)
		} else {
			f.keepDropped(item)
		}
	}
	return valid[:min(len(valid), maxChoices)], len(valid) > 0 || len(items) == 0
}

// suggestedValue decodes a string, which is both label and value, or an object
// with both.
func suggestedValue(item json.RawMessage) (v schemas.SuggestedValue, ok bool) {
	if item[0] == '"' {
		err := json.Unmarshal(item, &v.Label)
		v.Value = v.Label
		return v, err == nil && !isBlank(v.Label)
	}
	err := json.Unmarshal(item, &v)
	return v, err == nil && !isBlank(v.Label) && !isBlank(v.Value)
}

// suggestedAction decodes an action that the page declares; the handler comes
// from the declaration.
func (f *Filter) suggestedAction(item json.RawMessage) (a schemas.SuggestedAction, ok bool) {
	if json.Unmarshal(item, &a) != nil || isBlank(a.Label) {
		return a, false
	}
	declared, ok := f.grammar.actions[a.Action]
	a.Handler = declared.Handler
	if !slices.Contains([]string{"primary", "secondary", "warning"}, a.Style) {
		a.Style = ""
	}
	if string(a.Data) == "null" {
		a.Data = nil
	}
	return a, ok
}

func isBlank(s string) bool { return strings.TrimSpace(s) == "" }

// drop keeps an unused value for the diagnostics and adds a warning.
func (f *Filter) drop(raw []byte, format string, args ...any) {
	f.keepDropped(raw)
	if len(f.found.Warnings) < maxNotes {
		f.found.Warnings = append(f.found.Warnings, fmt.Sprintf(format, args...))
	}
}

func (f *Filter) keepDropped(raw []byte) {
	if len(f.found.Dropped) < maxNotes {
		f.found.Dropped = append(f.found.Dropped, string(raw))
	}
}
