// Package jsonlimit limits JSON schemas that this service did not write, and
// the values that are checked against them.
//
// A schema that another program uses for checks is only measured; see Measure.
// A schema that is used here has static limits; see Read. Before each check its
// steps are counted, because the validator cannot be interrupted; see
// Bounds.Allow. The caller brings the validator.
package jsonlimit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// Limits of a schema, whoever wrote it.
const (
	// maxDepth is how deep its JSON may be nested. A level of a schema takes two.
	maxDepth = 64
	// maxValues is how many values it may have, including the containers.
	maxValues = 10_000
)

// Fault is what is wrong with a document, and where (a JSON pointer, RFC 6901;
// "" is the whole document).
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
	name   string // the member that is being read
	items  int    // number of items so far
	wants  bool   // a name comes next
}

// Measure returns what is wrong with raw as a JSON object within the limits;
// nil if nothing is. It reads raw once, without recursion, and stops at the
// first fault: invalid JSON, too deep nesting, too many values, a reference to
// another document, or a name that an object has twice, which readers would
// understand differently.
func Measure(raw []byte) *Fault {
	return examine(raw, limits{depth: maxDepth, values: maxValues, closed: true})
}

// Unambiguous returns what is wrong with raw as a JSON object that all readers understand in
// the same way: invalid JSON, or a name that an object has twice.
func Unambiguous(raw []byte) *Fault {
	return examine(raw, limits{depth: math.MaxInt, values: math.MaxInt})
}

// limits are those of examine. A closed document refers to no other one.
type limits struct {
	depth, values int
	closed        bool
}

func examine(raw []byte, most limits) *Fault {
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
					return &Fault{pointer(stack), "is given twice"}
				}
				top.names[name], top.wants = true, false
				continue
			}
			if to, ok := token.(string); ok && most.closed && top.object && refers(top.name) && !strings.HasPrefix(to, "#") {
				return &Fault{pointer(stack), "refers to something outside the schema"}
			}
			top.items++
			top.wants = top.object
		}
		if values++; values > most.values {
			return &Fault{pointer(stack), fmt.Sprintf("comes after more than %d values", most.values)}
		}
		if token == json.Delim('{') || token == json.Delim('[') {
			if len(stack) == most.depth {
				return &Fault{pointer(stack), fmt.Sprintf("is nested more than %d deep", most.depth)}
			}
			object := token == json.Delim('{')
			stack = append(stack, &level{object: object, wants: object, names: map[string]bool{}})
		}
	}
}

// refers reports whether a keyword refers to a schema.
func refers(keyword string) bool {
	return keyword == "$ref" || keyword == "$dynamicRef" || keyword == "$recursiveRef"
}

// maxPointer is the longest pointer; a longer one is cut.
const maxPointer = 300

// pointer returns the place of the current value.
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

// Escape returns a name as a step of a JSON pointer.
func Escape(name string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(name) }
