package tools_test

import (
	"encoding/json"
	"testing"

	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/tools"
)

func TestHTTPActionsRefuseUnknownKeys(t *testing.T) {
	for _, tt := range []struct {
		schema, input string
		fits          bool
	}{
		{``, `{}`, true},
		{``, `{"a":1}`, false},
		{`{"type":"object","properties":{"a":{"type":"integer"}}}`, `{"a":1}`, true},
		{`{"type":"object","properties":{"a":{"type":"integer"}}}`, `{"a":1,"b":1}`, false},
		{`{"type":"object","additionalProperties":true}`, `{"b":1}`, true},
	} {
		action, err := tools.NewHTTPAction(turn.HTTPTool{Name: "do", Description: "Does.", URL: "https://a.test/", InputSchema: json.RawMessage(tt.schema)}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := action.Check(json.RawMessage(tt.input)); (err == nil) != tt.fits {
			t.Errorf("%s with %s: %v", tt.schema, tt.input, err)
		}
	}
	for _, schema := range []string{`[]`, `true`, `{"type":"string"}`, `{`} {
		if _, err := tools.NewHTTPAction(turn.HTTPTool{Name: "do", URL: "https://a.test/", InputSchema: json.RawMessage(schema)}, nil); err == nil {
			t.Errorf("the schema %s is taken", schema)
		}
	}
}
