// Package schemas is the vocabulary on the wire: requests, events, the payload
// of complete, records and errors. Its exported types are exactly
// components.schemas of openapi.yaml; a test compares the two, both ways.
//
// It owns names, shapes and validation tags. It does no I/O, reads no clock and
// starts no goroutine. Types that the folders exchange and never put on a wire
// are in its sub-packages, such as turn (one conversation between a model and
// tools) and record (the stored data of runs).
package schemas

import (
	"encoding/json"
	"strconv"
)

// Object is an open JSON object whose keys the service does not know, such as
// the page context of a request. Values are kept unchanged.
type Object map[string]json.RawMessage

// String returns the string under key, or "" if it is absent or not a string.
func (o Object) String(key string) string {
	if raw, ok := o[key]; ok {
		var s string
		if json.Unmarshal(raw, &s) == nil {
			return s
		}
	}
	return ""
}

// Int returns the integer under key, or 0 if it is absent or not an integer. A string may
// hold it: a page's router gives ids as strings, and metadata of OpenAI has nothing else.
func (o Object) Int(key string) int64 {
	var n int64
	if raw, ok := o[key]; ok && json.Unmarshal(raw, &n) == nil {
		return n
	}
	if n, err := strconv.ParseInt(o.String(key), 10, 64); err == nil {
		return n
	}
	return 0
}
