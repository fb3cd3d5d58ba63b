package endtoend

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/chattray/chattray/app/apptest"
)

// TestSchemasOfToolsOnWires sends tools whose schemas do not say that the arguments are an
// object, as clients do for tools without arguments, on every wire: the model calls the tool.
// A schema of something else is refused, and the error says where it is in the client's body.
func TestSchemasOfToolsOnWires(t *testing.T) {
	client := apptest.Serve(t)
	type object = map[string]any
	const question = "call pick {}"
	wires := []struct {
		path, pointer string
		body          func(chat string, schema any) object
	}{
		{"/api/ui", "", func(chat string, schema any) object {
			parts := []object{{"type": "text", "text": question}}
			return object{"id": chat, "client_tools": []object{{"name": "pick", "input_schema": schema}}, "messages": []object{{"id": chat, "role": "user", "parts": parts}}}
		}},
		{"/api/agui", "/tools/0/parameters", func(chat string, schema any) object {
			return object{"threadId": chat, "runId": "a", "tools": []object{{"name": "pick", "parameters": schema}}, "messages": []object{{"id": chat, "role": "user", "content": question}}}
		}},
		{"/v1/chat/completions", "/tools/0/function/parameters", func(_ string, schema any) object {
			tool := object{"type": "function", "function": object{"name": "pick", "parameters": schema}}
			return object{"model": "chattray", "stream": true, "tools": []object{tool}, "messages": []object{{"role": "user", "content": question}}}
		}},
		{"/v1/responses", "/tools/0/parameters", func(_ string, schema any) object {
			return object{"model": "chattray", "tools": []object{{"type": "function", "name": "pick", "parameters": schema}}, "input": question}
		}},
	}
	for _, w := range wires {
		for i, schema := range []any{
			nil,
			object{},
			object{"properties": object{"x": object{"type": "string"}}},
			object{"$ref": "#/$defs/a", "$defs": object{"a": object{"type": "object"}}},
			object{"type": "object"},
		} {
			got := client.Ask("ann", http.MethodPost, w.path, "", w.body("c"+strconv.Itoa(i)+w.path[len(w.path)-2:], schema))
			run := got.Header.Get("X-Run-Id")
			if got.Status != http.StatusOK || !strings.Contains(got.Body, run+"-0") {
				t.Errorf("%s with the schema %v: %d %s, want a call of the tool", w.path, schema, got.Status, got.Body)
				continue
			}
			client.Must(http.MethodPost, "/api/chat/runs/"+run+"/cancel", nil) // it counts as one that is under way
		}
		for _, schema := range []any{true, object{"type": "string"}, object{"type": nil}, []object{}, "object"} {
			got := client.Ask("ann", http.MethodPost, w.path, "", w.body("refused", schema))
			if got.Status != http.StatusBadRequest && got.Status != http.StatusUnprocessableEntity || !strings.Contains(got.Body, w.pointer) {
				t.Errorf("%s with the schema %v: %d %s, want an error at %s", w.path, schema, got.Status, got.Body, w.pointer)
			}
		}
	}
}
