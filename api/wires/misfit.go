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
		return schemas.NewError(schemas.CodeBadRequest, "the body is not valid JSON")
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
	for i := 0; err == nil && d.More(); i++ {
		name, before, left := strconv.Itoa(i), "[", "]"
		if open == json.Delim('{') {
			key, _ := d.Token() // the value has been decoded
			name, _ = key.(string)
			before, left = `{`+string(schemas.Encode(name))+`:`, "}"
		}
		var child json.RawMessage
		if err = d.Decode(&child); err != nil {
			return false
		}
		around := misfit{before: join(m.before, []byte(before)), left: join([]byte(left), m.left)}
		if m.tries++; m.tries > maxTries {
			return false
		}
		err := json.Unmarshal(join(around.before, child, around.left), reflect.New(m.kind).Interface())
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			m.raw, m.wrong, m.before, m.left = child, wrong, around.before, around.left
			m.pointer += "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
			return true
		}
	}
	return false
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
