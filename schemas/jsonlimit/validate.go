package jsonlimit

import (
	"encoding/json"
	"errors"
)

// Limits of one check.
const (
	// maxValueDepth is how deep a value may be nested.
	maxValueDepth = 200
	// maxSteps bounds the cost of a check. A step is about a microsecond. A
	// schema that accepts a value costs one step; one that may refuse it, so
	// that others are tried, costs as much as writing the reason.
	maxSteps = 500_000
)

// ErrTooMuch is for a value that is not checked because the check would take too long.
var ErrTooMuch = errors.New("is too large or nested too deep to be checked against the schema")

// Allow counts what a check of the value (as encoding/json decodes it, also
// with int64) could cost. If the cost is too high it returns ErrTooMuch; the
// value must then not be given to the validator, which cannot be interrupted.
func (b *Bounds) Allow(v any) error {
	m := measure{}
	if _, ok := m.take(v, 0); !ok {
		return ErrTooMuch
	}
	if !b.shared && b.all.most(m) <= maxSteps {
		return nil
	}
	w := &walk{nodes: b.nodes, left: maxSteps}
	w.visit(b.root, weigh(v), false)
	if w.left < 0 {
		return ErrTooMuch
	}
	return nil
}

// measure counts the values in a value, including the names of members, and adds
// up their sizes, each with its parts.
type measure struct{ values, sizes int }

// take counts v, and returns its size; false means that it is nested too deep.
func (m *measure) take(v any, depth int) (size int, ok bool) {
	if depth > maxValueDepth {
		return 0, false
	}
	size = overhead
	switch v := v.(type) {
	case string:
		size += len(v)
	case json.Number:
		size += len(v)
	case []any:
		for _, item := range v {
			in, ok := m.take(item, depth+1)
			if !ok {
				return 0, false
			}
			size += in
		}
	case map[string]any:
		for name, member := range v {
			in, ok := m.take(member, depth+1)
			if !ok {
				return 0, false
			}
			size += len(name) + in
			m.values++
			m.sizes += len(name) + overhead
		}
	}
	m.values++
	m.sizes += size
	return size, true
}

// total is the combined cost of all parts of a schema.
type total struct{ schemas, perValue, program, unique int }

// add counts one part.
func (t *total) add(s *schema, n *node) {
	t.schemas++
	t.perValue += 1 + exactNumber + refusal + n.enum/comparedPerStep + n.enum/bytesPerStep + 1 + (len(s.Properties)+len(s.Required))/4
	t.program += n.program + n.patterns
	if s.UniqueItems {
		t.unique++
	}
}

// most returns an upper bound of what walk counts for a schema whose parts are not
// shared, so that none checks a value more than once. It needs no walk
// through schema and value together, and suffices for ordinary schemas.
func (t *total) most(m measure) int {
	return m.values*t.perValue + m.sizes*t.schemas/bytesPerStep + m.sizes*t.program/patternFactor + m.sizes*t.unique/comparedPerStep
}

// value is a value with its approximate size in bytes.
type value struct {
	size    int
	text    bool
	items   []*value
	members map[string]*value
}

// overhead is the size of a value without its text.
const overhead = 8

// weigh measures a value and everything in it. The value must not be nested too
// deep.
func weigh(v any) *value {
	w := &value{size: overhead}
	switch v := v.(type) {
	case string:
		w.size, w.text = w.size+len(v), true
	case json.Number:
		w.size += len(v)
	case []any:
		w.items = make([]*value, len(v))
		for i, item := range v {
			w.items[i] = weigh(item)
			w.size += w.items[i].size
		}
	case map[string]any:
		w.members = make(map[string]*value, len(v))
		for name, member := range v {
			in := weigh(member)
			w.members[name] = in
			w.size += len(name) + in.size
		}
	}
	return w
}

// walk follows the path of a validator that accepts everything, and counts its
// steps.
type walk struct {
	nodes map[*schema]*node
	left  int
}

// Costs in steps, measured on the validator.
const (
	refusal         = 10 // writing why a value is refused
	exactNumber     = 2  // comparing a number with limits
	bytesPerStep    = 64 // bytes of the value that such a reason repeats
	comparedPerStep = 16 // bytes of an enumeration
	patternFactor   = 50 // pattern steps times bytes of a text in one step
)

// visit counts the steps of s for v. Unsure is true if other schemas are tried
// after s refuses v; otherwise the first refusal ends the check.
func (w *walk) visit(s *schema, v *value, unsure bool) {
	n := w.nodes[s]
	w.left -= 1 + n.enum/comparedPerStep
	if s.Minimum != nil || s.Maximum != nil || s.Above != nil || s.Below != nil || s.MultipleOf != nil {
		w.left -= exactNumber
	}
	if unsure {
		w.left -= refusal + (v.size+n.enum)/bytesPerStep
	}
	if v.text {
		w.left -= n.program * v.size / patternFactor
	}
	if w.left < 0 {
		return
	}
	if n.ref != nil {
		w.visit(n.ref, v, unsure)
	}
	for _, in := range s.AllOf {
		w.visit(in, v, unsure)
	}
	for _, list := range [][]*schema{s.AnyOf, s.OneOf, {s.Not, s.If}} {
		w.all(list, v, true)
	}
	w.all([]*schema{s.Then, s.Else}, v, unsure)
	for _, more := range []map[string]*schema{s.DependentSchemas, s.dependent} {
		for name, in := range more {
			if v.members[name] != nil {
				w.visit(in, v, unsure)
			}
		}
	}
	if v.members != nil {
		w.object(s, n, v, unsure)
	}
	if v.items != nil {
		w.array(s, v, unsure)
	}
}

// all visits the schemas of a list, except nil ones.
func (w *walk) all(list []*schema, v *value, unsure bool) {
	for _, in := range list {
		if in != nil && w.left >= 0 {
			w.visit(in, v, unsure)
		}
	}
}

func (w *walk) object(s *schema, n *node, v *value, unsure bool) {
	w.left -= (len(s.Properties) + len(s.Required)) / 4
	for name, in := range s.Properties {
		if member := v.members[name]; member != nil && w.left >= 0 {
			w.visit(in, member, unsure)
		}
	}
	more := []*schema{s.UnevaluatedProperties}
	for _, in := range s.PatternProperties {
		more = append(more, in)
	}
	for name, member := range v.members {
		w.left -= n.patterns * (len(name) + overhead) / patternFactor
		if w.left < 0 {
			return
		}
		if s.AdditionalProperties != nil && s.Properties[name] == nil {
			w.visit(s.AdditionalProperties, member, unsure)
		}
		w.all(more, member, unsure)
		if s.PropertyNames != nil {
			w.visit(s.PropertyNames, &value{size: len(name) + overhead, text: true}, unsure)
		}
	}
}

func (w *walk) array(s *schema, v *value, unsure bool) {
	if s.UniqueItems {
		w.left -= v.size / comparedPerStep
	}
	for i, item := range v.items {
		if w.left < 0 {
			return
		}
		for _, places := range [][]*schema{s.PrefixItems, s.places} {
			if i < len(places) {
				w.visit(places[i], item, unsure)
			}
		}
		w.all([]*schema{s.each, s.AdditionalItems, s.UnevaluatedItems}, item, unsure)
		w.all([]*schema{s.Contains}, item, true)
	}
}
