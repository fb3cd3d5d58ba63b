package api

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf16"

	"github.com/chattray/chattray/schemas"
)

// maxFieldErrors bounds the errors of one answer.
const maxFieldErrors = 20

// inspect compares valid JSON with the type T, more strictly than encoding/json
// does: names in their exact case and at most once, no unknown ones outside of
// open objects, no null for a value, no lone surrogates. wrong is what has
// another shape; refused is U+0000, which no database keeps.
func inspect[T any](raw []byte) (wrong, refused []schemas.FieldError) {
	in := inspector{dec: json.NewDecoder(bytes.NewReader(raw)), raw: raw, escapes: bytes.Contains(raw, []byte(`\u`))}
	in.dec.UseNumber()
	in.value(reflect.TypeFor[T]())
	return in.wrong, in.refused
}

type inspector struct {
	dec     *json.Decoder
	raw     []byte
	escapes bool // there are \u escapes to look at
	path    []step
	wrong   []schemas.FieldError
	refused []schemas.FieldError
}

// step is a part of a JSON pointer: a name, or an index when name is nil.
type step struct {
	name  *string
	index int
}

func (in *inspector) pointer() string {
	var b strings.Builder
	for _, s := range in.path {
		b.WriteByte('/')
		if s.name == nil {
			b.WriteString(strconv.Itoa(s.index))
			continue
		}
		b.WriteString(escapeToken(*s.name))
	}
	return b.String()
}

// escapeToken writes a name as a token of a JSON pointer (RFC 6901).
func escapeToken(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

func (in *inspector) isWrong(detail string) {
	if len(in.wrong) < maxFieldErrors {
		in.wrong = append(in.wrong, schemas.FieldError{Pointer: in.pointer(), Detail: detail})
	}
}

// token returns the next token and looks at its characters when it is a string.
func (in *inspector) token() json.Token {
	from := in.dec.InputOffset()
	tok, err := in.dec.Token()
	if err != nil {
		return nil // not in valid JSON
	}
	if _, ok := tok.(string); ok && in.escapes {
		in.characters(in.raw[from:in.dec.InputOffset()])
	}
	return tok
}

// characters looks for \u escapes that are lone surrogates or U+0000.
func (in *inspector) characters(text []byte) {
	for i := 0; i+5 < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		i++
		if text[i] != 'u' {
			continue
		}
		r := hex4(text[i+1:])
		switch {
		case r == 0:
			if len(in.refused) < maxFieldErrors {
				in.refused = append(in.refused, schemas.FieldError{Pointer: in.pointer(), Detail: "must not contain U+0000"})
			}
		case utf16.IsSurrogate(r):
			if !pairs(r, text[i+5:]) {
				in.isWrong("is not valid Unicode: a lone surrogate")
				return
			}
			i += 6
		}
		i += 4
	}
}

// pairs says whether rest begins with the escape that completes the surrogate r.
func pairs(r rune, rest []byte) bool {
	return len(rest) >= 6 && rest[0] == '\\' && rest[1] == 'u' && utf16.DecodeRune(r, hex4(rest[2:])) != '\uFFFD'
}

func hex4(b []byte) rune {
	n, err := strconv.ParseUint(string(b[:4]), 16, 16)
	if err != nil {
		return '\uFFFD' // not in valid JSON
	}
	return rune(n)
}

// value reads one value that should fit t; a nil t fits all.
func (in *inspector) value(t reflect.Type) {
	tok := in.token()
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if want := mismatch(t, tok); want != "" {
		in.isWrong("must be " + want + ", not " + kindOf(tok))
		t = nil
	}
	switch tok {
	case json.Delim('{'):
		in.object(t)
	case json.Delim('['):
		in.array(t)
	}
}

func (in *inspector) object(t reflect.Type) {
	var known map[string]reflect.Type
	if t != nil && t.Kind() == reflect.Struct {
		known = fields(t)
	}
	seen := map[string]bool{}
	for in.dec.More() {
		name, _ := in.token().(string)
		in.path = append(in.path, step{name: &name})
		ft, ok := known[name]
		switch {
		case seen[name]:
			in.isWrong("is there twice")
		case known != nil && !ok:
			in.isWrong("is not a known field")
		}
		seen[name] = true
		in.value(ft)
		in.path = in.path[:len(in.path)-1]
	}
	in.token()
}

func (in *inspector) array(t reflect.Type) {
	var item reflect.Type
	if t != nil && t.Kind() == reflect.Slice && t != rawType {
		item = t.Elem()
	}
	for i := 0; in.dec.More(); i++ {
		in.path = append(in.path, step{index: i})
		in.value(item)
		in.path = in.path[:len(in.path)-1]
	}
	in.token()
}

var rawType = reflect.TypeFor[json.RawMessage]()

// mismatch says what t wants when tok is something else.
func mismatch(t reflect.Type, tok json.Token) string {
	if t == nil || t == rawType || t.Kind() == reflect.Interface {
		return ""
	}
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		return unless(tok == json.Delim('{'), "an object")
	case reflect.Slice:
		return unless(tok == json.Delim('['), "an array")
	case reflect.String:
		_, ok := tok.(string)
		return unless(ok, "a string")
	case reflect.Bool:
		_, ok := tok.(bool)
		return unless(ok, "a boolean")
	case reflect.Int, reflect.Int64:
		n, ok := tok.(json.Number)
		if ok {
			_, err := strconv.ParseInt(n.String(), 10, 64)
			ok = err == nil
		}
		return unless(ok, "an integer")
	default:
		_, ok := tok.(json.Number)
		return unless(ok, "a number")
	}
}

func unless(ok bool, want string) string {
	if ok {
		return ""
	}
	return want
}

func kindOf(tok json.Token) string {
	switch tok := tok.(type) {
	case string:
		return "a string"
	case bool:
		return "a boolean"
	case json.Number:
		return "the number " + tok.String()[:min(len(tok.String()), 20)]
	case json.Delim:
		if tok == '[' {
			return "an array"
		}
		return "an object"
	default:
		return "null"
	}
}

var fieldCache sync.Map // reflect.Type → map[string]reflect.Type

// fields returns the fields of a struct by their JSON names.
func fields(t reflect.Type) map[string]reflect.Type {
	if known, ok := fieldCache.Load(t); ok {
		return known.(map[string]reflect.Type)
	}
	known := map[string]reflect.Type{}
	for _, f := range slices.Collect(t.Fields()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		known[name] = f.Type
	}
	fieldCache.Store(t, known)
	return known
}
