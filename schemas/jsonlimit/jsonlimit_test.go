package jsonlimit_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/chattray/chattray/schemas/jsonlimit"
)

// checked is a schema with the validator that goes with it.
type checked struct {
	bounds   *jsonlimit.Bounds
	resolved *jsonschema.Resolved
}

func (c checked) Validate(v any) error {
	if err := c.bounds.Allow(v); err != nil {
		return err
	}
	return c.resolved.Validate(v)
}

// compile does what every user of the package does.
func compile(raw []byte) (c checked, err error) {
	if f := jsonlimit.Measure(raw); f != nil {
		return c, f
	}
	s := new(jsonschema.Schema)
	if err := json.Unmarshal(raw, s); err != nil {
		return c, err
	}
	same, err := json.Marshal(s)
	if err != nil {
		return c, err
	}
	if c.bounds, err = jsonlimit.Read(same); err != nil {
		return c, err
	}
	c.resolved, err = s.Resolve(nil)
	return c, err
}

// nested is a document that opens n levels.
func nested(open, inner, end string, n int) string {
	return strings.Repeat(open, n) + inner + strings.Repeat(end, n)
}

// many is n documents in a list, without the brackets.
func many(n int, each string) string { return strings.TrimSuffix(strings.Repeat(each+",", n), ",") }

func TestMeasure(t *testing.T) {
	for _, tt := range []struct{ name, doc, pointer, detail string }{
		{"an object", `{"type":"object","a":[1,{"b":null}]}`, "", ""},
		{"as deep as may be", nested(`{"a":`, "1", "}", jsonlimit.MaxDepth), "", ""},
		{"as many as may be", `{"a":[` + many(jsonlimit.MaxValues-2, "1") + `]}`, "", ""},
		{"empty", ``, "", "must be a JSON object"},
		{"a list", `[{}]`, "", "must be a JSON object"},
		{"not whole", `{"a":{"b":[1,`, "/a/b/0", "is not valid JSON"},
		{"something after it", `{} {`, "", "is not valid JSON"},
		{"too deep", nested(`{"a":`, "{}", "}", jsonlimit.MaxDepth), strings.Repeat("/a", jsonlimit.MaxDepth), "is nested more than 64 deep"},
		{"a bomb", `{"a/b":` + nested("[", "", "]", 100_000) + "}", "/a~1b" + strings.Repeat("/0", jsonlimit.MaxDepth-1), "is nested more than 64 deep"},
		{"too many", `{"enum":[` + many(jsonlimit.MaxValues, "1") + `]}`, "/enum/9998", "comes after more than 10000 values"},
		{"a name twice", `{"type":"object","properties":{"a":{},"a":{}}}`, "/properties/a", "is given twice"},
		{"a name twice, escaped", `{"x":[{},{"a":1,"\u0061":2}]}`, "/x/1/a", "is given twice"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := jsonlimit.Measure([]byte(tt.doc))
			switch {
			case tt.detail == "" && f != nil:
				t.Errorf("got %v", f)
			case tt.detail != "" && (f == nil || f.Pointer != tt.pointer || f.Detail != tt.detail):
				t.Errorf("got %+v, want %s %s", f, tt.pointer, tt.detail)
			}
		})
	}
}

// doubling is a schema in which each of n definitions has two ways into the next.
func doubling(n int, keyword string) string {
	var defs []string
	for i := range n {
		defs = append(defs, fmt.Sprintf(`"a%d":{%q:[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/a%d"}]}`, i, keyword, i+1, i+1))
	}
	return fmt.Sprintf(`{"type":"object","$ref":"#/$defs/a0","$defs":{%s,"a%d":{}}}`, strings.Join(defs, ","), n)
}

func TestCompileRefuses(t *testing.T) {
	chain := `"c0":{}`
	for i := range jsonlimit.MaxChain {
		chain += fmt.Sprintf(`,"c%d":{"$ref":"#/$defs/c%d"}`, i+1, i)
	}
	for _, tt := range []struct{ name, schema, want string }{
		{"itself", `{"type":"object","$ref":"#"}`, "refers to itself"},
		{"itself in allOf", `{"type":"object","allOf":[{"$ref":"#"}]}`, "refers to itself"},
		{"itself in another case", `{"type":"object","ALLOF":[{"$ref":"#"}]}`, "refers to itself"},
		{"itself in not", `{"type":"object","not":{"$ref":"#"}}`, "refers to itself"},
		{"itself in if", `{"type":"object","if":{"$ref":"#"}}`, "refers to itself"},
		{"itself by a dependency", `{"type":"object","dependentSchemas":{"a":{"$ref":"#"}}}`, "refers to itself"},
		{"itself by draft-07's", `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","dependencies":{"a":{"$ref":"#"}}}`, "refers to itself"},
		{"a circle below", `{"type":"object","properties":{"x":{"$ref":"#/$defs/a"}},"$defs":{"a":{"anyOf":[{"$ref":"#/$defs/b"}]},"b":{"oneOf":[{"$ref":"#/$defs/a"}]}}}`, "refers to itself"},
		{"a circle by anchors", `{"type":"object","$anchor":"top","allOf":[{"$ref":"#top"}]}`, "refers to itself"},
		{"a circle that is escaped", `{"type":"object","$ref":"#/$defs/a%62","$defs":{"ab":{"$ref":"#/%24defs/ab"}}}`, "refers to itself"},
		{"dynamic", `{"type":"object","$dynamicAnchor":"d","properties":{"a":{"$dynamicRef":"#d"}}}`, "/properties/a refers with $dynamicRef"},
		{"recursive", `{"type":"object","$recursiveAnchor":true,"properties":{"a":{"$recursiveRef":"#"}}}`, "/properties/a refers with $dynamicRef or $recursiveRef"},
		{"elsewhere", `{"type":"object","properties":{"a":{"$ref":"http://127.0.0.1:1/x"}}}`, "/properties/a/$ref refers to something outside"},
		{"nowhere", `{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}}}`, "/properties/a/$ref does not lead to a schema"},
		{"an id inside", `{"type":"object","properties":{"a":{"$id":"http://x.example/a"}}}`, "/properties/a has an $id"},
		{"doubling allOf", doubling(45, "allOf"), "multiply"},
		{"doubling anyOf", doubling(45, "anyOf"), "multiply"},
		{"doubling oneOf", doubling(45, "oneOf"), "multiply"},
		{"a long chain", `{"type":"object","$ref":"#/$defs/c64","$defs":{` + chain + `}}`, "in a row"},
		{"too many subschemas", `{"type":"object","anyOf":[` + many(jsonlimit.MaxSubschemas, "{}") + `]}`, "comes after more than 1000 subschemas"},
		{"too many values", `{"type":"object","properties":{"a":{"enum":[` + many(jsonlimit.MaxValues, "1") + `]}}}`, "more than 10000 values"},
		{"too deep", `{"type":"object","not":` + nested(`{"not":`, "{}", "}", jsonlimit.MaxDepth) + `}`, "deep"},
		{"a long pattern", `{"type":"object","properties":{"a":{"pattern":"` + strings.Repeat("a", jsonlimit.MaxPattern+1) + `"}}}`, "/properties/a/pattern has 1001 bytes"},
		{"a large pattern", `{"type":"object","properties":{"a":{"pattern":"((ab|bc|cd|[xyz]e){0,30}){0,30}"}}}`, "more than 5000 steps"},
		{"a large pattern of names", `{"type":"object","patternProperties":{"(\\pL{1,900}x)+":{}}}`, "more than 5000 steps"},
		{"an invalid pattern", `{"type":"object","properties":{"a":{"pattern":"(?=x)"}}}`, "/properties/a/pattern is not a regular expression"},
		{"no type", `{"type":"object","properties":{"a":{"type":"strng"}}}`, `/properties/a/type is "strng", which is none of string, number, integer, boolean, object, array, null`},
		{"no type in a list", `{"type":"object","properties":{"a":{"items":{"type":["string","nil"]}}}}`, `/properties/a/items/type is "nil"`},
		{"another draft", `{"$schema":"http://json-schema.org/draft-04/schema#","type":"object"}`, "/$schema must be draft-07 or 2020-12"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := compile([]byte(tt.schema)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// What cannot be decoded is told in the words of those who write schemas.
func TestExplain(t *testing.T) {
	for _, tt := range []struct{ schema, want string }{
		{`{"type":"object","required":"q"}`, `/required must be a list of names, not "q"`},
		{`{"required":[1]}`, `/required must be a list of names, not [1]`},
		{`{"properties":{"q":{"type":"string","required":true}}}`, `/properties/q/required must be a list of names in the object's schema, beside properties, not true`},
		{`{"properties":["q"]}`, `/properties must be a mapping of names to schemas, not ["q"]`},
		{`{"properties":{"a/b":"string"}}`, `/properties/a~1b must be a schema, such as {type: string}, not "string"`},
		{`{"properties":{"q":{"minLength":"3"}}}`, `/properties/q/minLength must be a whole number, not "3"`},
		{`{"minLength":1.5}`, `/minLength must be a whole number, not 1.5`},
		{`{"minimum":"0"}`, `/minimum must be a number, not "0"`},
		{`{"uniqueItems":"yes"}`, `/uniqueItems must be true or false, not "yes"`},
		{`{"enum":"a"}`, `/enum must be a list, not "a"`},
		{`{"type":3}`, `/type must be one of string, number, integer, boolean, object, array, null, or a list of them, not 3`},
		{`{"description":{}}`, `/description must be text, not {}`},
		{`{"items":"string"}`, `/items must be a schema, such as {type: string}, not "string"`},
		{`{"items":[{"type":"string"},3]}`, `/items/1 must be a schema, such as {type: string}, not 3`},
		{`{"allOf":{}}`, `/allOf must be a list of schemas, not {}`},
		{`{"anyOf":[{"not":{"maximum":[]}}]}`, `/anyOf/0/not/maximum must be a number, not []`},
		{`{"title":1,"pattern":2}`, "/pattern must be text, not 2\n/title must be text, not 1"},
		{`{"title":[1,"` + strings.Repeat("long ", 20) + `"]}`, `/title must be text, not [1,"` + strings.Repeat("long ", 10) + "long…"},
		{`{"dependentRequired":{"a":"b"}}`, `/dependentRequired must be a mapping of names to lists of names, not {"a":"b"}`},
		{`{"dependentRequired":["a"]}`, `/dependentRequired must be a mapping of names to lists of names, not ["a"]`},
		{`{"$vocabulary":3}`, ""}, // the decoder says what is wrong
	} {
		err := json.Unmarshal([]byte(tt.schema), new(jsonschema.Schema))
		if err == nil {
			t.Errorf("%s can be decoded", tt.schema)
			continue
		}
		if got := jsonlimit.Explain([]byte(tt.schema), err); tt.want == "" && !errors.Is(got, err) || tt.want != "" && got.Error() != tt.want {
			t.Errorf("%s: got %q, want %q", tt.schema, got, tt.want)
		}
	}
}

// Explain finds nothing in schemas that can be decoded.
func TestExplainTakesSchemas(t *testing.T) {
	for _, schema := range []string{
		`true`,
		`{"type":["string","null"],"required":["a"],"properties":{"a":true,"b":{"items":[{}],"minItems":2.0}},"additionalProperties":false}`,
		`{"$ref":"#/$defs/a","$defs":{"a":{"enum":[null,1],"const":null,"default":{"required":"q"},"required":null}},"x-own":{"title":1}}`,
		`{"dependencies":{"a":["b"],"c":{"minimum":1.5}},"dependentSchemas":{"a":{}},"dependentRequired":{"a":["b"]},"patternProperties":{"^x":{"uniqueItems":true}}}`,
	} {
		if err := json.Unmarshal([]byte(schema), new(jsonschema.Schema)); err != nil {
			t.Fatalf("%s: %v", schema, err)
		}
		if err := jsonlimit.Explain([]byte(schema), nil); err != nil {
			t.Errorf("%s: got %v, want nothing", schema, err)
		}
	}
}

func TestValidate(t *testing.T) {
	tree := `{"type":"object","required":["name"],"properties":{"name":{"type":"string"},"children":{"type":"array","items":{"$ref":"#"}}}}`
	for _, tt := range []struct{ name, schema, value, want string }{
		{"a tree", tree, `{"name":"a","children":[{"name":"b","children":[{"name":"c"}]}]}`, ""},
		{"a fault in a tree", tree, `{"name":"a","children":[{"name":"b","children":[{"name":5}]}]}`, "want \"string\""},
		{"draft-07", `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","definitions":{"a":{"type":"number"}},"properties":{"a":{"$ref":"#/definitions/a"}}}`, `{"a":"x"}`, "number"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := compile([]byte(tt.schema))
			if err != nil {
				t.Fatal(err)
			}
			var v any
			if err := json.Unmarshal([]byte(tt.value), &v); err != nil {
				t.Fatal(err)
			}
			err = s.Validate(v)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// list is n times the same value.
func list(n int, each any) []any {
	l := make([]any, n)
	for i := range l {
		l[i] = each
	}
	return l
}

// What is within the limits of a schema may still multiply with the value: it is
// counted and refused before the validator sees it.
func TestValidateGivesUp(t *testing.T) {
	deep := func(n int) any {
		var v any = "end"
		for range n {
			v = map[string]any{"a": v}
		}
		return v
	}
	in := func(schema string) string {
		return `{"type":"object","properties":{"a":` + schema + `}}`
	}
	for _, tt := range []struct {
		name, schema string
		value        any
	}{
		{"alternatives times items", in(`{"items":{"anyOf":[` + many(700, `{"type":"string"}`) + `,{"type":"number"}]}}`), list(10_000, 1.0)},
		{"oneOf times items", in(`{"items":{"oneOf":[` + many(700, `{"type":"string"}`) + `,{"type":"number"}]}}`), list(10_000, 1.0)},
		{"contains", in(`{"contains":{"anyOf":[` + many(500, `{"type":"string"}`) + `]},"minContains":0}`), list(10_000, 1.0)},
		{"two ways down a tree", `{"type":"object","anyOf":[{"properties":{"a":{"$ref":"#"}}},{"properties":{"a":{"$ref":"#"}}}]}`, deep(45)},
		{"a definition that is used once", `{"type":"object","properties":{"a":{"items":{"$ref":"#/$defs/d"}}},"$defs":{"d":{"anyOf":[` + many(700, `{"type":"string"}`) + `,{"type":"number"}]}}}`, list(10_000, 1.0)},
		{"a definition that is used twice", `{"type":"object","$ref":"#/$defs/d","$defs":{"d":{"anyOf":[{"properties":{"a":{"$ref":"#/$defs/d"}}},{"properties":{"a":{"$ref":"#/$defs/e"}}}]},"e":{"$ref":"#/$defs/d"}}}`, deep(45)},
		{"a deep value", in(`{}`), deep(10_000)},
		{"reasons that repeat much", in(`{"items":{"anyOf":[` + many(900, `{"type":"number"}`) + `,{}]}}`), list(100, strings.Repeat("x", 20_000))},
		{"a large enumeration", in(`{"items":{"enum":[` + many(9_000, "1") + `,2]}}`), list(100_000, 2.0)},
		{"a heavy pattern", in(`{"items":{"pattern":"^((a|aa|ab?){0,20}b?){0,20}$"}}`), list(1_000, strings.Repeat("a", 2_000))},
		{"patterns of names", in(`{"patternProperties":{"^((a|aa|ab?){0,20}b?){0,20}$":{}}}`), names(20_000)},
		{"unique items", in(`{"uniqueItems":true}`), list(200_000, strings.Repeat("x", 100))},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := compile([]byte(tt.schema))
			if err != nil {
				t.Fatal(err)
			}
			value := map[string]any{"a": tt.value}
			if err := s.Validate(value); !errors.Is(err, jsonlimit.ErrTooMuch) {
				t.Errorf("got %.200v", err)
			}
			if s.bounds.Shared() || tt.name == "a deep value" {
				return // there is no bound
			}
			if exact, bound := s.bounds.Counts(value); bound < exact {
				t.Errorf("the bound is %d, less than the %d steps that there are", bound, exact)
			}
		})
	}
}

func names(n int) map[string]any {
	m := map[string]any{}
	for i := range n {
		m[fmt.Sprintf("%s%d", strings.Repeat("a", 100), i)] = true
	}
	return m
}

// A value of the size limit of payloads is validated against a typical schema.
func TestValidateTakesLargeValues(t *testing.T) {
	s, err := compile([]byte(`{"type":"object","properties":{"rows":{"type":"array","items":{"type":"object","required":["id","title"],
		"properties":{"id":{"type":"integer","minimum":1},"title":{"type":"string","maxLength":300},"kind":{"enum":["a","b","c"]}}}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	row := map[string]any{"id": int64(7), "title": strings.Repeat("t", 60), "kind": "b"}
	if err := s.Validate(map[string]any{"rows": list(20_000, row)}); err != nil {
		t.Error(err)
	}
}

// Ordinary schemas and values are allowed without going through both together,
// and without allocations.
func TestAllowIsCheap(t *testing.T) {
	value := map[string]any{"rows": list(100, map[string]any{"id": int64(7)})}
	const row = `{"type":"object","properties":{"id":{"type":"integer","minimum":1}}}`
	for _, schema := range []string{
		`{"type":"object","properties":{"rows":{"type":"array","items":` + row + `}}}`,
		`{"type":"object","properties":{"rows":{"type":"array","items":{"$ref":"#/$defs/row"}}},"$defs":{"row":` + row + `}}`,
	} {
		s, err := compile([]byte(schema))
		if err != nil {
			t.Fatal(err)
		}
		if n := testing.AllocsPerRun(10, func() {
			if err := s.bounds.Allow(value); err != nil {
				t.Error(err)
			}
		}); n > 0 {
			t.Errorf("%s: Allow made %v allocations, want none", schema, n)
		}
	}
}

// For any schema and any value, compiling and checking end, and the bound is
// not too low.
func FuzzValidate(f *testing.F) {
	f.Add(`{"type":"object","$ref":"#"}`, `{}`)
	f.Add(doubling(20, "anyOf"), `{"a":1}`)
	f.Add(`{"type":"object","items":[{"$ref":"#/items/1"},{}],"patternProperties":{"a":{"$ref":"#"}}}`, `{"a":{"a":[1]}}`)
	f.Fuzz(func(t *testing.T, schema, value string) {
		s, err := compile([]byte(schema))
		var v any
		if err == nil && json.Unmarshal([]byte(value), &v) == nil {
			_ = s.Validate(v) // any outcome is right
			if s.bounds.Shared() {
				return
			}
			if exact, bound := s.bounds.Counts(v); bound < exact {
				t.Errorf("the bound is %d, less than the %d steps that there are", bound, exact)
			}
		}
	})
}
