package ws_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chattray/chattray/api/ws"
	"github.com/chattray/chattray/schemas"
)

// everyMember is an event with every member that an event may have.
const everyMember = `{
	"name": "message", "id": "e", "message": {"content": "x", "role": "user"}, "model": "m", "mode": "chat",
	"block_id": "b", "block_ids": "c", "document_id": "d", "chat_id": "c", "user_id": "u", "context": {"current_page": "p"},
	"interaction_type": "action_executed", "action_metadata": {"action_identifier": "a", "action_data": {"x": 1}, "payload_id": "p"},
	"attachments": [{"name": "a", "mime": "text/plain", "content": "x"}],
	"client_tools": [{"name": "t", "description": "x", "input_schema": {"type": "object"}}],
	"if_busy": "reject", "conversation_history": [{"role": "user", "content": "x"}], "edit_message_id": "m",
	"run_id": "r", "after": 7, "approval_id": "a", "approved": true, "input": {"x": 1},
	"tool_use_id": "t", "output": {"x": 1}, "is_error": true
}`

// required are members that only the service checks: there is nothing that their absence means.
var required = []string{"/message/content", "/conversation_history/0/content", "/client_tools/0/input_schema"}

// TestNullIsAbsentInEvents sends each member of an event, and of the objects in it, as null:
// an optional one counts as absent, a required one is refused, and null is an output.
func TestNullIsAbsentInEvents(t *testing.T) {
	var event map[string]any
	if err := json.Unmarshal([]byte(everyMember), &event); err != nil {
		t.Fatal(err)
	}
	if _, err := ws.ParseEvent([]byte(everyMember)); err != nil {
		t.Fatal(err)
	}
	for f := range reflect.TypeFor[schemas.SocketEvent]().Fields() {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); event[name] == nil {
			t.Errorf("the test has no member %s", name)
		}
	}
	members := 0
	var try func(at string, object map[string]any)
	try = func(at string, object map[string]any) {
		for name, value := range object {
			delete(object, name)
			absent, without := parseEvent(t, event)
			object[name] = nil
			null, with := parseEvent(t, event)
			object[name] = value
			place := at + "/" + name
			members++
			switch {
			case place == "/output":
				if with != nil || string(null.Output) != "null" {
					t.Errorf("%s: got %q (%v) for null, want null", place, null.Output, with)
				}
			case slices.Contains(required, place):
			case (without == nil) != (with == nil):
				t.Errorf("%s: null gives %v, an absent one %v", place, with, without)
			case with == nil:
				if d := cmp.Diff(absent, null); d != "" {
					t.Errorf("%s: null is not absent (-absent +null):\n%s", place, d)
				}
			}
			switch value := value.(type) {
			case map[string]any:
				if place == "/message" || place == "/action_metadata" { // the others are the client's own
					try(place, value)
				}
			case []any:
				try(place+"/0", value[0].(map[string]any))
			}
		}
	}
	try("", event)
	if members < 35 {
		t.Errorf("%d members, want at least 35", members)
	}
}

func parseEvent(t *testing.T, event map[string]any) (schemas.SocketEvent, error) {
	t.Helper()
	raw, err := json.Marshal(event)
	if err != nil {
		t.Fatal(err)
	}
	return ws.ParseEvent(raw)
}
