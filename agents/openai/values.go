package openai

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/chattray/chattray/agents/openai/plain"
	"github.com/chattray/chattray/schemas/text"
)

// The functions of this file read values of valid JSON whose types differ between servers.

// isSet reports whether a value says anything.
func isSet(raw json.RawMessage) bool {
	switch string(raw) {
	case "", "null", `""`, "false", "{}", "[]":
		return false
	}
	return true
}

// asText returns a string's text, and any other value as it is written.
func asText(raw json.RawMessage) string {
	switch {
	case !isSet(raw):
		return ""
	case raw[0] != '"':
		return string(raw)
	}
	s, _ := plain.Text(raw) // it is a whole string
	return s
}

// number returns the value of a number, which may be written as a string.
func number(raw json.RawMessage) (float64, bool) {
	n, err := strconv.ParseFloat(strings.TrimSpace(asText(raw)), 64)
	return n, err == nil
}

// member is a member that is looked for in an object.
type member struct {
	name  string
	value *json.RawMessage
}

// members finds members of an object, the last one of each name. It reports false for a value
// that says nothing. Values are parts of raw.
func members(raw json.RawMessage, what string, wanted ...member) (some bool, err error) {
	switch {
	case len(raw) == 0 || raw[0] != '{' && !isSet(raw):
		return false, nil
	case raw[0] != '{':
		return false, protocol("%s is not an object: %.100q", what, raw)
	}
	for rest := inside(raw); len(rest) > 0; {
		var name, value json.RawMessage
		name, rest = first(rest)
		value, rest = first(rest)
		for _, m := range wanted {
			if names(name, m.name) {
				*m.value = value
			}
		}
	}
	return true, nil
}

// names reports whether a string of JSON is the name, compared as encoding/json does.
func names(quoted json.RawMessage, name string) bool {
	if bytes.IndexByte(quoted, '\\') >= 0 {
		return strings.EqualFold(asText(quoted), name)
	}
	return strings.EqualFold(string(quoted[1:len(quoted)-1]), name)
}

// elements reads the elements of a list. An object is a list of one.
func elements[T any](raw json.RawMessage, what string, read func(*T, json.RawMessage) error) (list []T, err error) {
	rest := raw
	switch {
	case !isSet(raw):
		return nil, nil
	case raw[0] == '[':
		rest = inside(raw)
	case raw[0] != '{':
		return nil, protocol("%s is not a list: %.100q", what, raw)
	}
	for len(rest) > 0 && err == nil {
		var value json.RawMessage
		value, rest = first(rest)
		list = append(list, *new(T))
		err = read(&list[len(list)-1], value)
	}
	return list, err
}

// inside returns what is between the brackets of an object or a list.
func inside(raw json.RawMessage) json.RawMessage {
	return beyond(raw[1 : len(raw)-1])
}

// first splits off the first of several values.
func first(values json.RawMessage) (value, rest json.RawMessage) {
	n := valueEnd(values)
	return values[:n], beyond(values[n:])
}

// beyond skips what is between two values.
func beyond(raw json.RawMessage) json.RawMessage {
	for len(raw) > 0 && strings.IndexByte(" \t\r\n,:", raw[0]) >= 0 {
		raw = raw[1:]
	}
	return raw
}

// valueEnd returns the length of the value with which raw begins.
func valueEnd(raw json.RawMessage) int {
	depth := 0
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '"':
			i = text.StringEnd(raw, i) - 1
		case '{', '[':
			depth++
			continue
		case '}', ']':
			depth--
		case ' ', '\t', '\r', '\n', ',':
			if depth == 0 {
				return i
			}
			continue
		default:
			continue
		}
		if depth == 0 {
			return i + 1
		}
	}
	return len(raw)
}
