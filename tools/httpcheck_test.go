package tools_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/tools"
)

const orderSchema = `{"type":"object","required":["order_id"],"properties":{"order_id":{"type":"string"},"count":{"type":"integer"},"why":{"type":"string"},` +
	`"ids":{"type":"array","items":{"type":"string"}},"to":{"type":"object","properties":{"city":{"type":"string"}}},"extra":{"type":"object"},"any":{}}}`

// eitherBody is a body for one of the arguments a and b.
const eitherBody = `{ {{if .a}}"a": {{.a}}{{end}}{{if .b}}"b": {{.b}}{{end}} }`

// Templates that never work, or whose author meant something else, are refused at the start.
func TestNewHTTPChecksTemplates(t *testing.T) {
	for _, tc := range []struct {
		name, url, body, schema string
		want                    string // in the error; empty for none
	}{
		{"names of arguments", "/{{.order_id}}?why={{.why}}", `{"id": {{.order_id}}, "count": {{.count}}}`, orderSchema, ""},
		{"misspelt in the URL", "/{{.oder_id}}", "", orderSchema, "url: there is no argument .oder_id; input_schema has .any, .count, .extra, .ids, .order_id, .to, .why"},
		{"misspelt in the body", "/", `{"id": {{.oder_id}}}`, orderSchema, "body: there is no argument .oder_id"},
		{"misspelt in a condition", "/{{if .wy}}x{{end}}", "", orderSchema, "url: there is no argument .wy"},
		{"misspelt for all", `/`, `[{{range .ids}}{{$.oder_id}}{{end}}]`, orderSchema, "body: there is no argument .oder_id"},
		{"misspelt in an object", "/{{.to.town}}", "", orderSchema, "url: there is no argument .to.town"},
		{"a part of a text", "/{{.why.city}}", "", orderSchema, "url: there is no argument .why.city"},
		{"in an object", "/{{.to.city}}", "", orderSchema, ""},
		{"in an object of any form", "/{{.extra.a}}/{{.any.b}}", "", orderSchema, ""},
		{"elements", "/?{{range .ids}}id={{.}}&{{end}}", `[{{range $i, $id := .ids}}{{if $i}},{{end}}{{$id}}{{end}}]`, orderSchema, ""},
		{"fields of an element", "/", `{{with .to}}{"city": {{.city}}}{{else}}{}{{end}}`, orderSchema, ""},
		{"an element that may be absent", "/{{index .ids 3}}", "", orderSchema, ""},
		{"no schema", "/{{.id}}", "", "", "there is no argument .id; input_schema has no properties"},
		{"others allowed", "/{{.id}}", "", `{"type":"object","properties":{"a":{}},"additionalProperties":true}`, ""},
		{"others allowed by their names", "/{{.x_id}}", "", `{"type":"object","patternProperties":{"^x_":{}}}`, ""},
		{"others forbidden", "/{{.id}}", "", `{"type":"object","properties":{"a":{}},"additionalProperties":false}`, "there is no argument .id"},
		{"described elsewhere", "/{{.id}}", "", `{"type":"object","allOf":[{"properties":{"id":{"type":"string"}}}]}`, ""},
		{"described by reference", "/{{.id}}", "", `{"type":"object","$ref":"#/$defs/a","$defs":{"a":{"properties":{"id":{"type":"string"}}}}}`, ""},

		{"quoted", "/", `{"id": "{{.order_id}}"}`, orderSchema, `write {{.order_id}} instead of "{{.order_id}}"`},
		{"quoted and optional", "/", `{"why": "{{ .why }}"}`, orderSchema, `write {{ .why }} instead of "{{ .why }}"`},
		{"quoted of any name", "/", `{"why": "{{.a}}"}`, string(anyArguments), `write {{.a}} instead of "{{.a}}"`},
		{"in a text", "/", `{"text": "order {{.order_id}}, please"}`, orderSchema, `write {{printf "order %v" .id}}`},
		{"in a text as printf", "/", `{"text": {{printf "order %v, please" .order_id}}}`, orderSchema, ""},
		{"a number in a text", "/", `{"text": "{{.count}} pieces"}`, orderSchema, ""},
		{"an optional part", "/", `{"id": {{.order_id}}{{if .why}}, "why": {{.why}}{{end}}}`, orderSchema, ""},
		{"no JSON at all", "/", `id={{.order_id}}`, orderSchema, "it is not JSON but id="},
		{
			"arguments that exclude each other", "/", `{ {{if .a}}"a": {{.a}}{{end}}{{if .b}}"b": {{.b}}{{end}} }`,
			`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"oneOf":[{"required":["a"]},{"required":["b"]}]}`, "",
		},
		{"one of two at least", "/", eitherBody, `{"type":"object","properties":{"a":{},"b":{}},"anyOf":[{"required":["a"]},{"required":["b"]}]}`, ""},
		{"not both", "/", eitherBody, `{"type":"object","properties":{"a":{},"b":{}},"not":{"required":["a","b"]}}`, ""},
		{"one that depends", "/", eitherBody, `{"type":"object","properties":{"a":{},"b":{}},"if":{"required":["a"]},"then":{"properties":{"b":false}}}`, ""},
		{"one excludes the other", "/", eitherBody, `{"type":"object","properties":{"a":{},"b":{}},"dependentSchemas":{"a":{"properties":{"b":false}}}}`, ""},
		{"at most one", "/", eitherBody, `{"type":"object","properties":{"a":{},"b":{}},"maxProperties":1}`, ""},

		{"a secret in the URL", "/?key=${shop_key}", "", orderSchema, "url: ${shop_key} is not replaced here: secrets are for headers only"},
		{"a secret in the body", "/", `{"key": "${shop_key}"}`, orderSchema, "body: ${shop_key} is not replaced here: secrets are for headers only"},
		{"single braces", "/{order_id}/{why}", "", orderSchema, "url: {order_id} is not replaced: write {{.order_id}}\nurl: {why} is not replaced"},
		{"GraphQL", "/", `{"query": "{orders {order_id}}"}`, orderSchema, ""},
		{"GraphQL in the URL", `/?query={order(id:"{{.order_id}}"){order_id}}`, "", orderSchema, ""},
		{"braces of something else", "/?q={id}&w={{.why}}", "", orderSchema, ""},

		{"no URL", "/%zz{{.order_id}}", "", orderSchema, "url: parse"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			def := turn.HTTPTool{Name: "order", Description: "Orders.", Method: http.MethodPost, URL: "https://shop.example" + tc.url, Body: tc.body, InputSchema: json.RawMessage(tc.schema)}
			_, err := tools.NewHTTP(def, nil)
			if tc.want == "" {
				if err != nil {
					t.Errorf("got %v, want it to be taken", err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
}

func TestNewHTTPChecksHeaders(t *testing.T) {
	for _, tc := range []struct{ name, value, want string }{
		{"Host", "shop.internal:8080", ""},
		{"X-Key", "a key", ""},
		{"host", "a b", "the value of host has characters"},
		{"X-Key", "s3cret\n", "the value of X-Key has characters"},
		{"X Key", "a", `"X Key" is not a name`},
		{"content-length", "3", "content-length follows from the body"},
		{"Transfer-Encoding", "chunked", "Transfer-Encoding follows from the body"},
		{"Idempotency-Key", "k", "Idempotency-Key would be the same in all calls"},
		{"x-idempotency-key", "k", "x-idempotency-key would be the same in all calls"},
	} {
		def := turn.HTTPTool{Name: "order", Description: "Orders.", URL: "https://shop.example/", Headers: map[string]string{tc.name: tc.value}}
		_, err := tools.NewHTTP(def, nil)
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), "headers: "+tc.want) || strings.Contains(err.Error(), "s3cret")) {
			t.Errorf("%s: %q: got %v, want %q", tc.name, tc.value, err, tc.want)
		}
	}
}

func TestHTTPToolSendsHost(t *testing.T) {
	tool, _ := declared(t, turn.HTTPTool{Headers: map[string]string{"host": "shop.internal"}}, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "host "+r.Host)
	})
	got, err := tool.Run(t.Context(), &tools.Call{Name: "lookup"})
	if err != nil || got.Text != "host shop.internal" {
		t.Errorf("got %+v, %v, want the declared host", got, err)
	}
}
