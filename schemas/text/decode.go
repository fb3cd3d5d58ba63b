package text

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Decode decodes one JSON value for a template: like json.Unmarshal into an any,
// but whole numbers become int64, or uint64, so that a template prints and compares
// them as such. One that fits neither stays a json.Number: a template prints it with all
// its digits, and cannot compare it.
func Decode(data []byte) (any, error) {
	r := valueReader{rest: string(data)}
	if v := r.value(0); !r.odd && r.space() == "" {
		return v, nil
	}
	return decode(data)
}

// decode is Decode by the standard library, which takes three times as long.
func decode(data []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the value")
	}
	return native(v), nil
}

// valueReader reads JSON. Its strings share the memory of the text.
type valueReader struct {
	rest string
	odd  bool // the text is not valid, or too deep for this reader
}

// maxLevels is how deep values are nested that are read here.
const maxLevels = 200

// space skips white space and returns the rest.
func (r *valueReader) space() string {
	for r.rest != "" && (r.rest[0] == ' ' || r.rest[0] == '\n' || r.rest[0] == '\t' || r.rest[0] == '\r') {
		r.rest = r.rest[1:]
	}
	return r.rest
}

// skip skips white space and then c; it reports whether c comes next.
func (r *valueReader) skip(c byte) bool {
	if rest := r.space(); rest == "" || rest[0] != c {
		return false
	}
	r.rest = r.rest[1:]
	return true
}

// value reads a value inside so many others.
func (r *valueReader) value(depth int) any {
	switch {
	case depth > maxLevels:
		r.odd = true
	case r.skip('{'):
		return r.object(depth)
	case r.skip('['):
		return r.array(depth)
	case r.skip('"'):
		return r.text()
	default:
		return r.word()
	}
	return nil
}

func (r *valueReader) object(depth int) map[string]any {
	members := make(map[string]any)
	if r.skip('}') {
		return members
	}
	for !r.odd {
		if !r.skip('"') {
			break
		}
		name := r.text()
		if !r.skip(':') {
			break
		}
		members[name] = r.value(depth + 1)
		if r.skip('}') {
			return members
		}
		if !r.skip(',') {
			break
		}
	}
	r.odd = true
	return nil
}

func (r *valueReader) array(depth int) []any {
	items := []any{}
	if r.skip(']') {
		return items
	}
	for !r.odd {
		items = append(items, r.value(depth+1))
		if r.skip(']') {
			return items
		}
		if !r.skip(',') {
			break
		}
	}
	r.odd = true
	return nil
}

// text reads the rest of a string.
func (r *valueReader) text() string {
	plain := true
	for i := 0; i < len(r.rest); i++ {
		switch c := r.rest[i]; {
		case c == '"':
			whole := r.rest[:i]
			r.rest = r.rest[i+1:]
			if !plain && (strings.Contains(whole, `\`) || !utf8.ValidString(whole)) {
				return r.unquoted(whole)
			}
			return whole
		case c == '\\':
			plain = false
			i++
		case c >= utf8.RuneSelf:
			plain = false
		case c < ' ':
			r.odd = true
			return ""
		}
	}
	r.odd = true
	return ""
}

// unquoted returns the string with that text between its quotes.
func (r *valueReader) unquoted(whole string) (s string) {
	if json.Unmarshal([]byte(`"`+whole+`"`), &s) != nil {
		r.odd = true
	}
	return s
}

// word reads a number, a truth value or null.
func (r *valueReader) word() any {
	end := strings.IndexAny(r.rest, ",]} \n\t\r")
	if end < 0 {
		end = len(r.rest)
	}
	word := r.rest[:end]
	r.rest = r.rest[end:]
	switch {
	case word == "null":
		return nil
	case word == "true", word == "false":
		return word == "true"
	case word != "" && (word[0] == '-' || '0' <= word[0] && word[0] <= '9') && json.Valid([]byte(word)):
		return native(json.Number(word))
	}
	r.odd = true
	return nil
}

// native replaces the json.Numbers in v, see Decode.
func native(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		if n, err := strconv.ParseUint(v.String(), 10, 64); err == nil {
			return n
		}
		if f, err := v.Float64(); err == nil && strings.ContainsAny(v.String(), ".eE") {
			return f
		}
		return v
	case []any:
		for i := range v {
			v[i] = native(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = native(v[k])
		}
	}
	return v
}
