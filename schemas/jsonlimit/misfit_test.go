package jsonlimit_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/chattray/chattray/schemas/jsonlimit"
)

// The keys lead to the fault as far as the schema has their names, and no further one follows
// as if nothing were between them.
func TestMisfit(t *testing.T) {
	const wrong, detail = `{"type":"object","properties":{"n":{"type":"integer"}}}`, `type: x has type "string", want "integer"`
	for schema, want := range map[string]struct {
		value string
		keys  []string
	}{
		wrong:                                       {`{"n":"x"}`, []string{"n"}},
		`{"items":` + wrong + `}`:                   {`[{"n":"x"}]`, []string{"", "n"}},
		`{"prefixItems":[` + wrong + `]}`:           {`[{"n":"x"}]`, []string{"", "n"}},
		`{"additionalProperties":` + wrong + `}`:    {`{"a":{"n":"x"}}`, []string{"", "n"}},
		`{"patternProperties":{"a":` + wrong + `}}`: {`{"a":{"n":"x"}}`, []string{"", "n"}},
		`{"allOf":[` + wrong + `]}`:                 {`{"n":"x"}`, []string{"n"}},
		`{"properties":{"items":` + wrong + `}}`:    {`{"items":{"n":"x"}}`, []string{"items", "n"}},
		`{"properties":{"a/~":` + wrong + `}}`:      {`{"a/~":{"n":"x"}}`, []string{"a/~", "n"}},
	} {
		var s jsonschema.Schema
		if err := json.Unmarshal([]byte(schema), &s); err != nil {
			t.Fatal(err)
		}
		resolved, err := s.Resolve(nil)
		if err != nil {
			t.Fatal(err)
		}
		var value any
		if err := json.Unmarshal([]byte(want.value), &value); err != nil {
			t.Fatal(err)
		}
		keys, says := jsonlimit.Misfit(resolved.Validate(value))
		if !slices.Equal(keys, want.keys) || says != detail {
			t.Errorf("%s: got the keys %q and %q, want %q and %q", schema, keys, says, want.keys, detail)
		}
	}
}
