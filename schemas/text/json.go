package text

import (
	"bytes"
	"encoding/json"
)

// Encode returns v as JSON on one line, with < > & unescaped.
func Encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// JSON returns v as Encode does; "null" if v cannot be encoded.
func JSON(v any) string {
	raw, err := Encode(v)
	if err != nil {
		return "null"
	}
	return string(raw)
}

// DecodeExact decodes the first JSON value of data. A number in an any becomes a
// json.Number, with its digits as they are written.
func DecodeExact(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	return d.Decode(v)
}

// Canonical returns JSON on one line with sorted keys and numbers as they are
// written. Text that is not JSON is returned unchanged.
func Canonical(raw []byte) []byte {
	var v any
	if DecodeExact(raw, &v) != nil {
		return raw
	}
	out, err := Encode(v)
	if err != nil {
		return raw
	}
	return out
}

// StringEnd returns the index after the JSON string that begins at raw[begin], the length of
// raw if the string does not end.
func StringEnd(raw []byte, begin int) int {
	for i := begin + 1; i < len(raw); i++ {
		switch raw[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(raw)
}
