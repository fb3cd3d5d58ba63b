package bodies

import (
	"encoding/json"
	"reflect"

	"github.com/chattray/chattray/schemas"
)

// Decode puts a body into v, a pointer. A body that is not JSON of
// v's shape is bad_request; a value that is not allowed is invalid. Both name
// the place by JSON pointer.
func (r *Rules) Decode(h *Held, v any) error {
	in := inspect(h.Bytes(), reflect.TypeOf(v).Elem())
	if h.over() && !in.files {
		return TooLarge(h.WithoutFiles)
	}
	return in.unmarshal(v, r.Check)
}

// Parse decodes and checks a body as Rules.Decode does, wherever it comes from.
func Parse[T any](raw []byte, r *Rules) (v T, err error) {
	err = inspect(raw, reflect.TypeFor[T]()).unmarshal(&v, r.Check)
	return v, err
}

// unmarshal decodes a body that was inspected for its type into v.
func (in *inspector) unmarshal(v any, check func(any) []schemas.FieldError) error {
	switch {
	case in.failed:
		return schemas.Malformed(in.raw)
	case len(in.wrong) > 0:
		return FieldsError(schemas.CodeBadRequest, "the body does not have the shape of this request", in.wrong)
	case len(in.refused) > 0:
		return FieldsError(schemas.CodeInvalid, "the body has values that are not allowed", in.refused)
	}
	if err := json.Unmarshal(in.raw, v); err != nil {
		return schemas.NewError(schemas.CodeBadRequest, "the body does not have the shape of this request").Because(err)
	}
	dropNulls(reflect.ValueOf(v))
	if refused := check(v); len(refused) > 0 {
		return FieldsError(schemas.CodeInvalid, "the body has values that are not allowed", refused)
	}
	return nil
}

// FieldsError returns an error about some fields, of which it names the first.
func FieldsError(code schemas.Code, message string, fields []schemas.FieldError) error {
	e := schemas.NewError(code, message)
	e.Fields = fields[:min(len(fields), maxFieldErrors)]
	return e
}

// TooLarge refuses a body that has more bytes than its limit.
func TooLarge(limit int64) error {
	return schemas.NewError(schemas.CodeTooLarge, "the body is larger than "+sizeText(limit))
}
