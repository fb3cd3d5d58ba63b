// Package jsonlimit bounds JSON that describes JSON: schemas that this service
// did not write, and what is checked against them.
//
// A schema that somebody else checks is only measured, see Measure. One that is
// checked here has static limits, see Read; and before each check its steps are
// counted, see Bounds.Allow, because the validator cannot be interrupted. The
// validator itself is the caller's.
package jsonlimit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Limits of a schema, whoever wrote it.
const (
	// MaxDepth is how deep its JSON may be nested. A level of a schema takes two.
	MaxDepth = 64
	// MaxValues is how many values it may have, the containers included.
	MaxValues = 10_000
)

// Fault is what is wrong with a document, and where (RFC 6901; "" is the whole).
type Fault struct {
	Pointer, Detail string
}

func (f *Fault) Error() string {
	if f.Pointer == "" {
		return f.Detail
	}
	return f.Pointer + " " + f.Detail
}

// level is an object or an array that is being read.
type level struct {
	object bool
	names  map[string]bool
	name   string // the member under way
	items  int    // begun so far
	wants  bool   // a name comes next
}

// Measure says what is wrong with raw as a JSON object within the limits; nil is
// nothing. It reads once, without recursion, and stops at the first fault: what
// is no JSON, is nested too deep, has too many values, refers to another
// document, or has a name twice in one object, of which readers would take
// different ones.
func Measure(raw []byte) *Fault {
	if trimmed := bytes.TrimSpace(raw); len(trimmed) == 0 || trimmed[0] != '{' {
		return &Fault{"", "must be a JSON object"}
	}
	var stack []*level
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	for values := 0; ; {
		token, err := decoder.Token()
		switch {
		case errors.Is(err, io.EOF) && len(stack) == 0 && values > 0:
			return nil
		case err != nil, len(stack) == 0 && values > 0:
			return &Fault{pointer(stack), "is not valid JSON"}
		}
		if token == json.Delim('}') || token == json.Delim(']') {
			stack = stack[:len(stack)-1]
			continue
		}
		if len(stack) > 0 {
			top := stack[len(stack)-1]
			if top.wants {
				name, _ := token.(string)
				top.name = name
				if top.names[name] {
					return &Fault{pointer(stack), "is there twice"}
				}
				top.names[name], top.wants = true, false
				continue
			}
			if to, ok := token.(string); ok && top.object && refers(top.name) && !strings.HasPrefix(to, "#") {
				return &Fault{pointer(stack), "refers to something outside of the schema"}
			}
			top.items++
			top.wants = top.object
		}
		if values++; values > MaxValues {
			return &Fault{pointer(stack), fmt.Sprintf("comes after more than %d values", MaxValues)}
		}
		if token == json.Delim('{') || token == json.Delim('[') {
			if len(stack) == MaxDepth {
				return &Fault{pointer(stack), fmt.Sprintf("is nested more than %d deep", MaxDepth)}
			}
			object := token == json.Delim('{')
			stack = append(stack, &level{object: object, wants: object, names: map[string]bool{}})
		}
	}
}

// refers says whether a keyword leads to a schema.
func refers(keyword string) bool {
	return keyword == "$ref" || keyword == "$dynamicRef" || keyword == "$recursiveRef"
}

// maxPointer is where a pointer is cut.
const maxPointer = 300

// pointer names the value under way.
func pointer(stack []*level) string {
	var b strings.Builder
	for _, l := range stack {
		b.WriteByte('/')
		if l.object {
			b.WriteString(Escape(l.name))
		} else {
			b.WriteString(strconv.Itoa(max(l.items-1, 0)))
		}
		if b.Len() > maxPointer {
			return strings.ToValidUTF8(b.String()[:maxPointer], "") + "..."
		}
	}
	return b.String()
}

// Escape makes a name a step of a JSON pointer.
func Escape(name string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(name) }
