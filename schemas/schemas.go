// Package schemas is the vocabulary on the wire: requests, events, the payload
// of complete, records and errors. Its exported types are exactly
// components.schemas of openapi.yaml; a test compares the two, both ways.
//
// It owns names, shapes and validation tags. It does no I/O, reads no clock and
// starts no goroutine. What the folders say to each other and never put on a
// wire is in its sub-packages: turn (one conversation between a model and
// tools) and record (what is remembered of runs).
package schemas

import "encoding/json"

// Object is an open JSON object whose keys the service does not know, such as
// the page context of a request. Values stay as they came.
type Object map[string]json.RawMessage

// String returns the string under key, or "" when it is absent or no string.
func (o Object) String(key string) string {
	var s string
	if raw, ok := o[key]; ok && json.Unmarshal(raw, &s) == nil {
		return s
	}
	return ""
}

// Int returns the integer under key, or 0 when it is absent or no integer.
func (o Object) Int(key string) int64 {
	var n int64
	if raw, ok := o[key]; ok && json.Unmarshal(raw, &n) == nil {
		return n
	}
	return 0
}
