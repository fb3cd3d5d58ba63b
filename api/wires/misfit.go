package wires

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strconv"
	"strings"

	"github.com/chattray/chattray/schemas"
)

// maxTries bounds the values that are tried to find one of a wrong type.
const maxTries = 10_000

// Unmarshal decodes raw into v, a pointer. The pointer at is where the client's body has raw.
// A value of a wrong type is bad_request and named by its JSON pointer.
func Unmarshal(raw []byte, v any, at string) error {
	err := json.Unmarshal(raw, v)
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
	switch {
	case err == nil:
		return nil
	case !ok:
		return schemas.Malformed(raw)
	}
	m := misfit{kind: reflect.TypeOf(v).Elem(), raw: raw, pointer: at, wrong: wrong}
	for more := true; more; {
		more = m.next()
	}
	if m.pointer == "" {
		return schemas.NewError(schemas.CodeBadRequest, "the body must not be "+article(wrong.Value))
	}
	e := schemas.NewError(schemas.CodeBadRequest, "the body does not have the shape of this request")
	e.Fields = []schemas.FieldError{{Pointer: m.pointer, Detail: "must not be " + article(m.wrong.Value)}}
	return e
}

// misfit is a value that a type does not take. The library names only the fields on the way
// to it, and not those beneath a type that decodes itself. A value is therefore tried alone,
// without all that is beside it and beside what it is in.
type misfit struct {
	kind         reflect.Type
	raw          []byte
	pointer      string
	wrong        *json.UnmarshalTypeError
	before, left []byte // what is around raw when it is tried
	tries        int
}

// next moves to the member or element of the value that the type does not take. False means
// that it is the value itself.
func (m *misfit) next() bool {
	d := json.NewDecoder(bytes.NewReader(m.raw))
	open, err := d.Token()
	opens, closes := "[", "]"
	switch open {
	case json.Delim('{'):
		opens, closes = "{", "}"
	case json.Delim('['):
	default:
		return false
	}
	if m.try(m.before, []byte(opens+closes), m.left) != nil { // whatever is in it
		return false
	}
	left := join([]byte(closes), m.left)
	for i := 0; err == nil && d.More(); i++ {
		name, before := strconv.Itoa(i), opens
		if opens == "{" {
			key, _ := d.Token() // the value has been decoded
			name, _ = key.(string)
			before += string(schemas.Encode(name)) + ":"
		}
		var child json.RawMessage
		if err = d.Decode(&child); err != nil {
			return false
		}
		if m.tries++; m.tries > maxTries {
			return false
		}
		around := join(m.before, []byte(before))
		if wrong := m.try(around, child, left); wrong != nil {
			m.raw, m.wrong, m.before, m.left = child, wrong, around, left
			m.pointer += "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
			return true
		}
	}
	return false
}

// try returns the error of the type for a value of which these parts are the whole.
func (m *misfit) try(parts ...[]byte) *json.UnmarshalTypeError {
	wrong, _ := errors.AsType[*json.UnmarshalTypeError](json.Unmarshal(join(parts...), reflect.New(m.kind).Interface()))
	return wrong
}

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

// article returns the name of a value's JSON type with its article.
func article(value string) string {
	kind, number, _ := strings.Cut(value, " ")
	switch {
	case number != "": // another number is taken
		return "the number " + number
	case strings.HasPrefix(kind, "a"), strings.HasPrefix(kind, "o"):
		return "an " + kind
	}
	return "a " + kind
}
