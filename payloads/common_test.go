package payloads

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/chattray/chattray/schemas/jsonlimit"
	"github.com/chattray/chattray/schemas/text"
)

func asCommonOf(t testing.TB, schema string) (*common, *jsonschema.Resolved) {
	t.Helper()
	var s jsonschema.Schema
	if jsonlimit.Measure([]byte(schema)) != nil || json.Unmarshal([]byte(schema), &s) != nil {
		return nil, nil
	}
	r, err := s.Resolve(nil)
	if err != nil {
		return nil, nil
	}
	return asCommon(&s), r
}

// The schemas of what tools find are of common keywords, so that the validator is not
// asked for each result.
func TestToolsHaveCommonSchemas(t *testing.T) {
	for _, name := range []string{"article_search_results", "pubmed_search_results", "report_list", "report_summary", "web_search_results"} {
		raw, err := os.ReadFile(filepath.Join("schemas", name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		if quick, _ := asCommonOf(t, string(raw)); quick == nil {
			t.Errorf("%s: got a schema with other keywords", name)
		}
	}
}

func TestFits(t *testing.T) {
	const of = `{"$schema":"https://json-schema.org/draft/2020-12/schema","title":"T","type":"object","properties":{
		"n":{"type":"integer","minimum":1},"f":{"type":"number","maximum":2.5},"b":{"type":"boolean","description":"d"},
		"s":{"type":"string","minLength":2,"maxLength":3},"e":{"type":"string","enum":["a","b"]},"p":{"type":"string","pattern":"^[0-9]+$"},
		"list":{"type":"array","items":{"$ref":"#/$defs/row"},"minItems":1,"maxItems":2},"free":{"type":"object"},"any":{"type":"array"}},
		"required":["n"],"additionalProperties":false,"$defs":{"row":{"type":"object","properties":{"id":{"type":"string"}},"required":["id"]}}}`
	quick, validator := asCommonOf(t, of)
	if quick == nil {
		t.Fatal("got no schema of common keywords")
	}
	for value, want := range map[string]bool{
		`{"n":1}`:                       true,
		`{"n":0}`:                       false,
		`{"n":1.5}`:                     false,
		`{"n":"1"}`:                     false,
		`{}`:                            false,
		`{"n":null}`:                    false,
		`{"n":1,"x":1}`:                 false,
		`{"n":1,"f":2.5}`:               true,
		`{"n":1,"f":2.6}`:               false,
		`{"n":1,"f":2}`:                 true,
		`{"n":1,"b":true}`:              true,
		`{"n":1,"b":1}`:                 false,
		`{"n":1,"s":"éé"}`:              true,
		`{"n":1,"s":"ééé"}`:             true,
		`{"n":1,"s":"é"}`:               false,
		`{"n":1,"s":"éééé"}`:            false,
		`{"n":1,"e":"b"}`:               true,
		`{"n":1,"e":"c"}`:               false,
		`{"n":1,"p":"12"}`:              true,
		`{"n":1,"p":"1a"}`:              false,
		`{"n":1,"list":[]}`:             false,
		`{"n":1,"list":[{"id":"a"}]}`:   true,
		`{"n":1,"list":[{"id":1}]}`:     false,
		`{"n":1,"list":[{"x":1}]}`:      false,
		`{"n":1,"list":[[],[],[]]}`:     false,
		`{"n":1,"list":{}}`:             false,
		`{"n":1,"free":{"a":[1,{}]}}`:   true,
		`{"n":1,"free":[]}`:             false,
		`{"n":1,"any":[1,"a",null,{}]}`: true,
		`[]`:                            false,
		`null`:                          false,
	} {
		v, err := text.Decode([]byte(value))
		if err != nil {
			t.Fatal(err)
		}
		if got := quick.fits(v); got != want {
			t.Errorf("%s: got %v, want %v", value, got, want)
		}
		if err := validator.Validate(v); (err == nil) != want {
			t.Errorf("%s: the validator says %v, want that it fits: %v", value, err, want)
		}
	}
}

// A schema with any other keyword is left to the validator.
func TestOtherKeywords(t *testing.T) {
	for _, keywords := range []string{
		`"format":"uri","not":{}`, `"const":"a"`, `"$ref":"#"`, `"anyOf":[{}]`, `"if":{}`, `"$id":"http://a/b"`, `"$anchor":"a"`,
	} {
		for _, schema := range []string{
			`{"type":"string",` + keywords + `}`,
			`{"type":"object","properties":{"a":{"type":"string",` + keywords + `}}}`,
			`{"type":"array","items":{"type":"string",` + keywords + `}}`,
		} {
			if quick, _ := asCommonOf(t, schema); quick != nil {
				t.Errorf("%s: got one of common keywords", schema)
			}
		}
	}
	for _, schema := range []string{
		`{}`, `true`, `{"type":["string","null"]}`, `{"enum":["a"]}`, `{"type":"string","enum":[]}`, `{"type":"string","enum":[1]}`,
		`{"type":"integer","multipleOf":2}`, `{"type":"integer","exclusiveMinimum":2}`, `{"type":"array","uniqueItems":true}`,
		`{"type":"array","prefixItems":[{}]}`, `{"type":"array","contains":{}}`, `{"type":"object","patternProperties":{"a":{}}}`,
		`{"type":"object","additionalProperties":{"type":"string"}}`, `{"type":"object","minProperties":1}`, `{"type":"object","propertyNames":{}}`,
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"type":"array","items":{"$ref":"#/$defs/a"}}}}`,
		`{"$schema":"http://json-schema.org/draft-04/schema#","type":"object"}`, `{"$ref":"#/$defs/a","type":"object","$defs":{"a":{"type":"object"}}}`,
	} {
		if quick, _ := asCommonOf(t, schema); quick != nil {
			t.Errorf("%s: got one of common keywords", schema)
		}
	}
}

// What fits a schema of common keywords is accepted by the validator too.
func FuzzFits(f *testing.F) {
	for schema, value := range map[string]string{
		`{"type":"object","properties":{"a":{"type":"integer","minimum":1}},"required":["a"],"additionalProperties":false}`: `{"a":1}`,
		`{"type":"array","items":{"$ref":"#/$defs/a"},"maxItems":2,"$defs":{"a":{"type":"string","maxLength":2}}}`:          `["a","é"]`,
		`{"type":"object","properties":{"a":{"type":"number","maximum":1e3},"b":{"type":"boolean"}}}`:                       `{"a":1.5,"b":true,"c":null}`,
		`{"type":"string","enum":["a"]}`:   `"a"`,
		`{"type":"string","pattern":"^a"}`: `"ab"`,
	} {
		f.Add(schema, value)
	}
	f.Fuzz(func(t *testing.T, schema, value string) {
		quick, validator := asCommonOf(t, schema)
		v, err := text.Decode([]byte(value))
		if quick == nil || err != nil || !quick.fits(v) {
			return
		}
		if err := validator.Validate(v); err != nil {
			t.Errorf("%s fits %s, but the validator says: %v", value, schema, err)
		}
	})
}
