package tools_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/tools"
)

// Where arguments are nested, the model reads which field is wrong, also where the schema
// describes itself by references.
func TestRefusalsNameTheNestedField(t *testing.T) {
	const tree = `{"type":"object","additionalProperties":false,"properties":{"root":{"$ref":"#/$defs/node"},"kind":{"type":"string"}},
		"$defs":{"node":{"type":"object","required":["name"],"properties":{"name":{"type":["string","null"]},"a/b":{"type":"integer"},"kids":{"type":"array","items":{"$ref":"#/$defs/node"}}}}}}`
	const list = `{"type":"object","properties":{"orders":{"type":"array","items":{"type":"object","properties":{"id":{"type":"integer"}}}},"ids":{"type":"array","items":{"type":"integer"}}}}`
	const choice = `{"type":"object","properties":{"one":{"oneOf":[{"type":"object","required":["a"]},{"type":"object","required":["b"]}]},
		"any":{"anyOf":[{"type":"array","items":{"type":"integer"}},{"type":"object"}]},"not":{"type":"array","not":{"maxItems":1}}}}`
	const named = `{"type":"object","properties":{"sets":{"type":"object","additionalProperties":{"type":"object","properties":{"n":{"type":"integer"}}}}},
		"patternProperties":{"^x":{"type":"array","prefixItems":[{"type":"object","properties":{"n":{"type":"integer"}}}]}}}`
	for _, tt := range []struct{ schema, input, field, want string }{
		{named, `{"sets":{"a":{"n":"1"}}}`, "/sets", `"sets" must be an object; got an object ("[].n": type: 1 has type "string", want "integer")`},
		{named, `{"x1":[{"n":"1"}]}`, "", `"[][].n": type: 1 has type "string", want "integer"`},
		{choice, `{"one":{}}`, "/one", `"one" must be an object or an object; got an object (oneOf: did not validate against any of the alternatives)`},
		{choice, `{"one":{"a":1,"b":2}}`, "/one", `"one" must be an object or an object; got an object (oneOf: validated against more than one of the alternatives)`},
		{choice, `{"any":["x"]}`, "/any", `"any" must be an array of integers or an object; got an array (anyOf: did not validate against any of the alternatives:` + "\n" + `validating /anyOf/0: validating /anyOf/0/items: type: x has type "string", want "integer"` + "\n" + `validating /anyOf/1: type: [x] has type "array", want "object")`},
		{choice, `{"not":[]}`, "/not", `"not" must be an array; got an array (not: validated against what is excluded)`},
		{tree, `{"root":{"name":null,"kids":[{"name":"x"},{"name":3}]}}`, "/root", `"root.kids[].name": type: 3 has type "integer", want one of "string, null"`},
		{tree, `{"root":{"kids":[]}}`, "/root", `"root": required: missing properties: ["name"]`},
		{tree, `{"root":{"name":"x","a/b":"1"}}`, "/root", `"root.a/b": type: 1 has type "string", want "integer"`},
		{tree, `{"kind":1}`, "/kind", `"kind": type: 1 has type "integer", want "string"`},
		{tree, `{"none":1}`, "/none", `there is no field "none"; the fields are: kind, root`},
		{list, `{"orders":[{"id":"1"}]}`, "/orders", `"orders" must be an array of objects; got an array ("[].id": type: 1 has type "string", want "integer")`},
		{list, `{"ids":["1"]}`, "/ids", `"ids" must be an array of integers; got an array (type: 1 has type "string", want "integer")`},
	} {
		tool := tools.NewRaw("grow", "Grows.", json.RawMessage(tt.schema), func(context.Context, *tools.Call) (tools.Result, error) { return tools.Text(""), nil })
		got := schemas.Visible(tool.Check(json.RawMessage(tt.input)))
		if got.Message != tt.want || len(got.Fields) != 1 || got.Fields[0].Pointer != tt.field {
			t.Errorf("%s: got %q about %+v, want %q about %s", tt.input, got.Message, got.Fields, tt.want, tt.field)
		}
	}
}

// A value that fits the schema and not the Go type is named.
func TestArgumentsThatCannotBeDecoded(t *testing.T) {
	type plan struct {
		Day   time.Time `json:"day"`
		Count int64     `json:"count"`
	}
	tool := tools.NewText("plan", "Plans.", func(context.Context, *tools.Call, plan) (string, error) { return "planned", nil })
	for input, want := range map[string]string{
		`{"day":"2026-11-30T00:00:00Z","count":1e30}`: `the arguments cannot be used: "count" cannot be the number 1e30`,
		`{"day":"tomorrow","count":1}`:                `the arguments cannot be used: parsing time "tomorrow" as "2006-01-02T15:04:05Z07:00": cannot parse "tomorrow" as "2006"`,
	} {
		if err := tool.Check(json.RawMessage(input)); err != nil {
			t.Errorf("%s does not fit the schema: %v", input, err)
		}
		if _, err := tool.Run(t.Context(), &tools.Call{Input: json.RawMessage(input)}); schemas.Visible(err).Message != want {
			t.Errorf("%s: got %v, want %s", input, err, want)
		}
	}
}
