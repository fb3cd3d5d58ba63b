package text

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
)

// ErrFull is the error of a Buffer that cannot hold a write.
var ErrFull = errors.New("the output is too long")

// Buffer is a bytes.Buffer that holds at most Limit bytes. A write that goes
// beyond the limit keeps what fits and returns ErrFull, which stops a template.
type Buffer struct {
	bytes.Buffer
	Limit int
}

// Write implements io.Writer.
func (b *Buffer) Write(p []byte) (int, error) {
	n, err := b.Buffer.Write(p[:min(len(p), b.Limit-b.Len())])
	if err == nil && n < len(p) {
		err = ErrFull
	}
	return n, err
}

// Decode decodes one JSON value for a template: like json.Unmarshal into an any,
// but whole numbers become int64, or uint64, so that a template prints and compares
// them as such. One that fits neither stays a json.Number: a template prints it with all
// its digits, and cannot compare it.
func Decode(data []byte) (any, error) {
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
