package payloads

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/text"
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
	maxReason  = 300 // characters of why something is not shown
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
		f.drop(raw, fmt.Sprintf("it has more than %d bytes or %d levels", maxValue, maxNesting), "it was too large")
	case json.Compact(&data, raw) != nil:
		f.drop(raw, "it is not JSON", "it was not written correctly")
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
	f.drop(raw, why, why)
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
		f.keepDropped(raw, fmt.Sprintf("a reply shows at most %d payloads", maxPayloads))
		f.warn(fmt.Sprintf("The answer has more than %d cards; one is not shown (%s).", maxPayloads, m.label()))
		return
	}
	if _, err := m.payload.Check(data); err != nil {
		f.drop(raw, err.Error(), "something in it was missing or wrong")
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
func choices[T any](f *Filter, data []byte, decode func(json.RawMessage) (T, error)) ([]T, bool) {
	var items []json.RawMessage
	if json.Unmarshal(data, &items) != nil {
		return nil, false
	}
	var valid []T
	for _, item := range items {
		if v, err := decode(item); err == nil {
			valid = append(valid, v)
		} else {
			f.keepDropped(item, err.Error())
		}
	}
	return valid[:min(len(valid), maxChoices)], len(valid) > 0 || len(items) == 0
}

var (
	errValue      = errors.New("it must be a text, or an object with the texts label and value")
	errAction     = errors.New("it must be an object with the texts label and action")
	errUndeclared = errors.New("the page offers no such action")
)

// suggestedValue decodes a string, which is both label and value, or an object
// with both.
func suggestedValue(item json.RawMessage) (v schemas.SuggestedValue, err error) {
	if item[0] == '"' {
		err = json.Unmarshal(item, &v.Label)
		v.Value = v.Label
	} else {
		err = json.Unmarshal(item, &v)
	}
	if err != nil || text.Blank(v.Label) || text.Blank(v.Value) {
		return v, errValue
	}
	return v, nil
}

// suggestedAction decodes an action that the page declares and whose data fit it; the
// handler comes from the declaration.
func (f *Filter) suggestedAction(item json.RawMessage) (a schemas.SuggestedAction, err error) {
	if json.Unmarshal(item, &a) != nil || text.Blank(a.Label) || a.Action == "" {
		return a, errAction
	}
	at := slices.IndexFunc(f.grammar.actions, func(d schemas.Action) bool { return d.Action == a.Action })
	if at < 0 {
		return a, errUndeclared
	}
	a.Handler = f.grammar.actions[at].Handler
	if !slices.Contains([]string{"primary", "secondary", "warning"}, a.Style) {
		a.Style = ""
	}
	if string(a.Data) == "null" {
		a.Data = nil
	}
	return a, f.grammar.fits(a.Action, a.Data)
}

// drop keeps the current occurrence's value, which is not used, with the reason for the
// diagnostics, and adds a warning with the one for the user.
func (f *Filter) drop(raw []byte, reason, told string) {
	f.keepDropped(raw, reason)
	f.warn(fmt.Sprintf("The answer had a part that cannot be shown here (%s): %s.", f.at.marker.label(), told))
}

func (f *Filter) warn(text string) {
	if len(f.found.Warnings) < maxNotes {
		f.found.Warnings = append(f.found.Warnings, text)
	}
}

func (f *Filter) keepDropped(raw []byte, reason string) {
	if len(f.found.Dropped) < maxNotes {
		f.found.Dropped = append(f.found.Dropped, schemas.DroppedPart{
			Type: f.at.marker.kind(), Reason: text.Line(reason, maxReason), Text: string(raw),
		})
	}
}
