package jsonlimit

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"strconv"
	"strings"
)

// Limits of a schema that is checked here.
const (
	// maxSubschemas bounds the number of its subschemas.
	maxSubschemas = 1_000
	// maxPasses bounds how many of them may check the same value, including
	// through references, and maxChain how many in a row.
	maxPasses = 2_000
	maxChain  = 64
	// maxPattern bounds the length of a regular expression in bytes, maxProgram
	// its steps once its repetitions are written out.
	maxPattern = 1_000
	maxProgram = 5_000
)

// Bounds knows what a check against a schema can cost. It is immutable and safe
// for concurrent use.
type Bounds struct {
	root   *schema
	nodes  map[*schema]*node
	all    total
	refers bool
	shared bool // a part can be reached in several ways, and then check a value again
}

// schema has the keywords of a schema that lead to other schemas, cost time, or that
// validators take as they are.
type schema struct {
	Type         json.RawMessage            `json:"type"`
	ID           string                     `json:"$id"`
	Dialect      string                     `json:"$schema"`
	Ref          string                     `json:"$ref"`
	DynamicRef   string                     `json:"$dynamicRef"`
	RecursiveRef json.RawMessage            `json:"$recursiveRef"`
	Anchor       string                     `json:"$anchor"`
	Dynamic      string                     `json:"$dynamicAnchor"`
	Defs         map[string]*schema         `json:"$defs"`
	Definitions  map[string]*schema         `json:"definitions"`
	Dependencies map[string]json.RawMessage `json:"dependencies"`
	Enum         json.RawMessage            `json:"enum"`
	Const        json.RawMessage            `json:"const"`
	Minimum      json.RawMessage            `json:"minimum"`
	Maximum      json.RawMessage            `json:"maximum"`
	Above        json.RawMessage            `json:"exclusiveMinimum"`
	Below        json.RawMessage            `json:"exclusiveMaximum"`
	MultipleOf   json.RawMessage            `json:"multipleOf"`
	Pattern      string                     `json:"pattern"`

	PrefixItems      []*schema       `json:"prefixItems"`
	Items            json.RawMessage `json:"items"`
	AdditionalItems  *schema         `json:"additionalItems"`
	UniqueItems      bool            `json:"uniqueItems"`
	Contains         *schema         `json:"contains"`
	UnevaluatedItems *schema         `json:"unevaluatedItems"`

	Required              []string           `json:"required"`
	Properties            map[string]*schema `json:"properties"`
	PatternProperties     map[string]*schema `json:"patternProperties"`
	AdditionalProperties  *schema            `json:"additionalProperties"`
	PropertyNames         *schema            `json:"propertyNames"`
	UnevaluatedProperties *schema            `json:"unevaluatedProperties"`

	AllOf            []*schema          `json:"allOf"`
	AnyOf            []*schema          `json:"anyOf"`
	OneOf            []*schema          `json:"oneOf"`
	Not              *schema            `json:"not"`
	If               *schema            `json:"if"`
	Then             *schema            `json:"then"`
	Else             *schema            `json:"else"`
	DependentSchemas map[string]*schema `json:"dependentSchemas"`
	ContentSchema    *schema            `json:"contentSchema"`

	// The schemas in items and dependencies.
	each      *schema
	places    []*schema
	dependent map[string]*schema
}

// keywords are the names that schema reads. They are needed because
// encoding/json ignores case, and JSON schema does not.
var keywords = func() map[string]bool {
	all := make(map[string]bool)
	for f := range reflect.TypeFor[schema]().Fields() {
		all[f.Tag.Get("json")] = true
	}
	return all
}()

// UnmarshalJSON also accepts the schemas true and false.
func (s *schema) UnmarshalJSON(raw []byte) error {
	if raw[0] != '{' {
		return nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return err
	}
	maps.DeleteFunc(members, func(name string, _ json.RawMessage) bool { return !keywords[name] })
	raw, err := json.Marshal(members)
	if err != nil {
		return err
	}
	type plain schema
	if err := json.Unmarshal(raw, (*plain)(s)); err != nil {
		return err
	}
	switch {
	case len(s.Items) == 0:
	case s.Items[0] == '[':
		err = json.Unmarshal(s.Items, &s.places)
	default:
		err = json.Unmarshal(s.Items, &s.each)
	}
	for name, raw := range s.Dependencies {
		if raw[0] == '[' { // names of properties
			continue
		}
		in := new(schema)
		err = errors.Join(err, json.Unmarshal(raw, in))
		if s.dependent == nil {
			s.dependent = make(map[string]*schema)
		}
		s.dependent[name] = in
	}
	return err
}

// node holds what is known about one subschema.
type node struct {
	ref *schema // the target of $ref; nil for none
	// in are the schemas for the same value, below those for its parts.
	in      []*schema
	program int // steps of pattern
	// patterns are the programs of patternProperties, together.
	patterns int
	enum     int // bytes of enum and const
	passes   int // including those in it; 0 means not known yet
	chain    int
	visiting bool
}

// Read measures a schema that is used for checks. Its raw form must be the one
// that the validator writes, so that keywords have the same names for both. The
// schema has to keep the limits of Measure and of this package. References must
// stay inside the schema and must not return to their origin without descending
// into the value. The error joins everything that is wrong, with the places.
func Read(raw json.RawMessage) (*Bounds, error) {
	if f := Measure(raw); f != nil {
		return nil, f
	}
	s := new(schema)
	if err := json.Unmarshal(raw, s); err != nil {
		return nil, err
	}
	c := &compiler{root: s, nodes: map[*schema]*node{}, places: map[string]*schema{}}
	c.collect(s, "")
	if s.Dialect != "" && !strings.Contains(s.Dialect, "json-schema.org/draft-07/") && !strings.Contains(s.Dialect, "json-schema.org/draft/2020-12/") {
		c.fail("/$schema", "must be draft-07 or 2020-12")
	}
	if len(c.wrong) == 0 {
		c.resolve()
	}
	if len(c.wrong) == 0 {
		c.measure()
	}
	b := &Bounds{root: s, nodes: c.nodes, refers: len(c.refs) > 0, shared: c.shared()}
	for part, n := range c.nodes {
		b.all.add(part, n)
	}
	return b, errors.Join(c.wrong...)
}

// Refers reports whether the schema has references. A part of such a schema
// cannot be used alone.
func (b *Bounds) Refers() bool { return b.refers }

// compiler reads a schema.
type compiler struct {
	root   *schema
	nodes  map[*schema]*node
	places map[string]*schema // by pointer and by #anchor
	refs   []reference
	wrong  []error
}

// reference is a $ref and where it is.
type reference struct {
	from  *schema
	place string
}

// maxFaults bounds the faults in an error.
const maxFaults = 10

func (c *compiler) fail(place, format string, args ...any) {
	if len(c.wrong) < maxFaults {
		c.wrong = append(c.wrong, &Fault{place, fmt.Sprintf(format, args...)})
	}
}

// collect finds the subschemas and their properties, except for the targets of references.
func (c *compiler) collect(s *schema, place string) {
	if s == nil {
		c.fail(place, "is not a schema")
		return
	}
	if len(c.nodes) >= maxSubschemas {
		if len(c.nodes) == maxSubschemas && len(c.wrong) == 0 {
			c.fail(place, "comes after more than %d subschemas", maxSubschemas)
		}
		return
	}
	n := &node{}
	c.nodes[s], c.places["#"+place] = n, s
	for _, anchor := range []string{s.Anchor, s.Dynamic} {
		if anchor != "" {
			c.places["#"+anchor] = s
		}
	}
	switch {
	case s.ID != "" && s != c.root:
		c.fail(place, "has an $id, which only the whole schema may have")
	case s.DynamicRef != "" || s.RecursiveRef != nil:
		c.fail(place, "refers with $dynamicRef or $recursiveRef, which are not supported; use $ref")
	case s.Ref != "":
		c.refs = append(c.refs, reference{s, place})
	}
	c.types(place+"/type", s.Type)
	n.program = c.pattern(place+"/pattern", s.Pattern)
	for name := range s.PatternProperties {
		n.patterns += c.pattern(place+"/patternProperties/"+Escape(name), name)
	}
	n.enum = len(s.Enum) + len(s.Const)
	for _, k := range children(s) {
		if k.same {
			n.in = append(n.in, k.schema)
		}
		c.collect(k.schema, place+k.step)
	}
}

// resolve finds the targets of references.
func (c *compiler) resolve() {
	for _, r := range c.refs {
		to := c.places[r.from.Ref]
		if text, err := url.PathUnescape(r.from.Ref); to == nil && err == nil {
			to = c.places[text]
		}
		if to == nil {
			c.fail(r.place+"/$ref", "does not lead to a schema inside this one")
			continue
		}
		n := c.nodes[r.from]
		n.ref, n.in = to, append(n.in, to)
	}
}

// shared reports whether a part can be reached in several ways: by a reference, and by another
// one or from the schema around it. Only definitions are reached by references alone.
func (c *compiler) shared() bool {
	defined := make(map[*schema]bool)
	for s := range c.nodes {
		for _, in := range []map[string]*schema{s.Defs, s.Definitions} {
			for _, d := range in {
				defined[d] = true
			}
		}
	}
	for _, r := range c.refs {
		to := c.nodes[r.from].ref
		if !defined[to] {
			return true
		}
		delete(defined, to) // a second reference finds it no more
	}
	return false
}

// measure finds how many schemas check one value, and refuses references that
// never end and alternatives that multiply.
func (c *compiler) measure() {
	for s := range c.nodes {
		c.passes(s)
	}
}

func (c *compiler) passes(s *schema) *node {
	n := c.nodes[s]
	switch {
	case n.passes > 0 || len(c.wrong) > 0:
		return n
	case n.visiting:
		c.fail(c.placeOf(s), "refers to itself without descending into the value")
		return n
	}
	n.visiting = true
	passes, chain := 1, 1
	for _, in := range n.in {
		i := c.passes(in)
		passes, chain = min(passes+i.passes, maxPasses+1), max(chain, i.chain+1)
	}
	n.visiting, n.passes, n.chain = false, passes, chain
	if len(c.wrong) == 0 && (passes > maxPasses || chain > maxChain) {
		c.fail(c.placeOf(s), "has alternatives and references that multiply: at most %d schemas, %d in a row, may check one value", maxPasses, maxChain)
	}
	return n
}

func (c *compiler) placeOf(s *schema) string {
	found := ""
	for place, at := range c.places {
		if rest := strings.TrimPrefix(place, "#"); at == s && (rest == "" || rest[0] == '/') && (found == "" || rest < found) {
			found = rest
		}
	}
	return found
}

// child is a schema inside another one. Same is true if it checks the same
// value.
type child struct {
	step   string
	schema *schema
	same   bool
}

// children returns all schemas directly inside s, in no order.
func children(s *schema) []child {
	var list []child
	one := func(name string, c *schema, same bool) {
		if c != nil {
			list = append(list, child{"/" + name, c, same})
		}
	}
	some := func(name string, all []*schema, same bool) {
		for i, c := range all {
			list = append(list, child{"/" + name + "/" + strconv.Itoa(i), c, same})
		}
	}
	named := func(name string, all map[string]*schema, same bool) {
		for key, c := range all {
			list = append(list, child{"/" + name + "/" + Escape(key), c, same})
		}
	}
	some("allOf", s.AllOf, true)
	some("anyOf", s.AnyOf, true)
	some("oneOf", s.OneOf, true)
	one("not", s.Not, true)
	one("if", s.If, true)
	one("then", s.Then, true)
	one("else", s.Else, true)
	named("dependentSchemas", s.DependentSchemas, true)
	named("dependencies", s.dependent, true)
	named("$defs", s.Defs, false)
	named("definitions", s.Definitions, false)
	named("properties", s.Properties, false)
	named("patternProperties", s.PatternProperties, false)
	one("additionalProperties", s.AdditionalProperties, false)
	one("propertyNames", s.PropertyNames, false)
	one("unevaluatedProperties", s.UnevaluatedProperties, false)
	some("prefixItems", s.PrefixItems, false)
	one("items", s.each, false)
	some("items", s.places, false)
	one("additionalItems", s.AdditionalItems, false)
	one("contains", s.Contains, false)
	one("unevaluatedItems", s.UnevaluatedItems, false)
	one("contentSchema", s.ContentSchema, false)
	return list
}
