package endtoend

import (
	"maps"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/chattray/chattray/app/apptest"
)

// ofOneRequest is what differs between two answers that say the same.
var ofOneRequest = regexp.MustCompile(`"request_id":"[^"]*"`)

// TestWiresOfAnotherUser has a user who knows the ids of another one's chat and run, and of
// its call that waits for the page. On every wire each of them is answered like an id that
// does not exist, and the run still waits.
func TestWiresOfAnotherUser(t *testing.T) {
	client := apptest.Serve(t)
	type object = map[string]any
	const question = `call pick {}`
	asked := client.Must(http.MethodPost, "/api/ui", object{
		"id": "hers", "client_tools": []object{{"name": "pick"}},
		"messages": []object{{"id": "u1", "role": "user", "parts": []object{{"type": "text", "text": question}}}},
	})
	run := asked.Header.Get("X-Run-Id")
	if !strings.Contains(asked.Body, run+"-0") {
		t.Fatalf("the run has no call that waits: %s", asked.Body)
	}
	ui := func(chat, call, state string) object {
		part := object{"type": "tool-pick", "toolCallId": call, "state": state, "input": object{}, "output": "x", "errorText": "x", "approval": object{"id": call, "approved": true}}
		return object{"id": chat, "messages": []object{{"id": "a", "role": "assistant", "parts": []object{part}}}}
	}
	agui := func(chat string, more object) object {
		in := object{"threadId": chat, "runId": "r", "messages": []object{}, "tools": []object{}, "context": []object{}, "state": object{}}
		maps.Copy(in, more)
		return in
	}
	for _, tt := range []struct {
		method, path string
		body         func(chat, run, digits string) object
	}{
		{http.MethodGet, "/api/ui/CHAT/stream", nil},
		{http.MethodGet, "/api/ui/CHAT/messages", nil},
		{http.MethodPost, "/api/ui/CHAT/stop", nil},
		{http.MethodPost, "/api/ui", func(chat, run, _ string) object { return ui(chat, run+"-0", "output-available") }},
		{http.MethodPost, "/api/ui", func(_, run, _ string) object { return ui("his", run+"-0", "output-error") }},
		{http.MethodPost, "/api/ui", func(_, run, _ string) object { return ui("his", run+"-0", "approval-responded") }},
		{http.MethodGet, "/api/agui?offset=-1&runId=RUN", nil},
		{http.MethodGet, "/api/agui?threadId=CHAT", nil},
		{http.MethodPost, "/api/agui/stop", func(chat, run, _ string) object { return object{"threadId": chat, "runId": run} }},
		{http.MethodPost, "/api/copilotkit/agent/default/stop/CHAT", func(string, string, string) object { return object{} }},
		{http.MethodGet, "/api/copilotkit/threads/CHAT/messages", nil},
		{http.MethodGet, "/api/copilotkit/threads", nil},
		{http.MethodPost, "/api/agui", func(chat, run, _ string) object {
			return agui(chat, object{"messages": []object{{"id": "t", "role": "tool", "toolCallId": run + "-0", "content": "x"}}})
		}},
		{http.MethodPost, "/api/agui", func(_, run, _ string) object {
			return agui("his", object{"messages": []object{{"id": "m", "role": "assistant", "content": ""}}, "resume": []object{{"interruptId": run + "-0", "status": "resolved", "payload": true}}})
		}},
		{http.MethodPost, "/v1/chat/completions", func(_, run, _ string) object {
			return object{"model": "chattray", "messages": []object{{"role": "tool", "tool_call_id": run + "-0", "content": "x"}}}
		}},
		{http.MethodGet, "/v1/responses/resp_DIGITS_0", nil},
		{http.MethodGet, "/v1/responses/resp_DIGITS_0?stream=true&starting_after=2000", nil},
		{http.MethodPost, "/v1/responses/resp_DIGITS_0/cancel", nil},
		{http.MethodDelete, "/v1/responses/resp_DIGITS_0", nil},
		{http.MethodGet, "/v1/responses/resp_DIGITS_0/input_items", nil},
		{http.MethodPost, "/v1/responses", func(_, _, digits string) object {
			return object{"model": "chattray", "previous_response_id": "resp_" + digits + "_0", "input": "hello"}
		}},
		{http.MethodPost, "/v1/responses", func(_, _, digits string) object {
			return object{"model": "chattray", "input": []object{{"type": "message", "id": "msg_" + digits + "_1", "role": "assistant", "content": "x"}, {"role": "user", "content": "hello"}}}
		}},
		{http.MethodPost, "/v1/responses", func(_, run, _ string) object {
			return object{"model": "chattray", "input": []object{{"type": "function_call_output", "call_id": run + "-0", "output": "x"}}}
		}},
		{http.MethodPost, "/v1/responses", func(_, _, digits string) object {
			return object{"model": "chattray", "input": []object{{"type": "mcp_approval_response", "approval_request_id": "mcpr_" + digits + "_0", "approve": true}}}
		}},
	} {
		answer := func(chat, run string) (status int, body string) {
			digits := strings.ReplaceAll(run, "-", "")
			var sent any
			if tt.body != nil {
				sent = tt.body(chat, run, digits)
			}
			path := strings.NewReplacer("CHAT", chat, "RUN", run, "DIGITS", digits).Replace(tt.path)
			got := client.Ask("bob", tt.method, path, "", sent)
			return got.Status, ofOneRequest.ReplaceAllString(got.Body, "")
		}
		status, body := answer("hers", run)
		wantStatus, want := answer("nobodys", "01a2076f-b072-7d03-b2f4-60749eeb93dc")
		if status != wantStatus || body != want {
			t.Errorf("%s %s with another user's id: %d %s, want %d %s as for one that does not exist", tt.method, tt.path, status, body, wantStatus, want)
		}
	}
	if got := client.Must(http.MethodGet, "/api/chat/runs/"+run, nil); !strings.Contains(got.Body, `"waiting"`) {
		t.Errorf("the run is %s, want that it waits", got.Body)
	}
}

// TestUnknownIDsOnOpenAIWires names calls and responses that do not exist, or that no longer
// can be answered: the error says which of the client's ids it is about.
func TestUnknownIDsOnOpenAIWires(t *testing.T) {
	client := apptest.Serve(t)
	type object = map[string]any
	run := client.Must(http.MethodPost, "/v1/chat/completions", object{"model": "chattray", "messages": []object{{"role": "user", "content": "hello"}}}).Header.Get("X-Run-Id")
	const nobodys = "01a2076f-b072-7d03-b2f4-60749eeb93dc"
	digits := func(id string) string { return strings.ReplaceAll(id, "-", "") }
	message := object{"role": "user", "content": "hello"}
	for _, tt := range []struct {
		path, list string
		items      []object
		more       object
		param      string
	}{
		{"/v1/chat/completions", "messages", []object{message, {"role": "tool", "tool_call_id": "call_abc", "content": "x"}}, nil, "/messages/1/tool_call_id"},
		{"/v1/chat/completions", "messages", []object{message, {"role": "tool", "content": "x"}}, nil, "/messages/1/tool_call_id"},
		{"/v1/chat/completions", "messages", []object{
			message, {"role": "tool", "tool_call_id": nobodys + "-0", "content": "x"}, {"role": "tool", "tool_call_id": "call_abc", "content": "x"},
		}, nil, "/messages/1/tool_call_id"},
		{"/v1/chat/completions", "messages", []object{message, {"role": "tool", "tool_call_id": run + "-7", "content": "x"}}, nil, "/messages/1/tool_call_id"},
		{"/v1/responses", "input", []object{message, {"type": "function_call_output", "call_id": "call_abc", "output": "x"}}, nil, "/input/1/call_id"},
		{"/v1/responses", "input", []object{{"type": "function_call_output", "call_id": nobodys + "-0", "output": "x"}}, nil, "/input/0/call_id"},
		{"/v1/responses", "input", []object{{"type": "function_call_output", "call_id": run + "-7", "output": "x"}}, nil, "/input/0/call_id"},
		{"/v1/responses", "input", []object{{"type": "mcp_approval_response", "approval_request_id": "mcpr_x", "approve": true}}, nil, "/input/0/approval_request_id"},
		{"/v1/responses", "input", []object{{"type": "mcp_approval_response", "approval_request_id": "mcpr_" + digits(run) + "_7", "approve": true}}, nil, "/input/0/approval_request_id"},
		{"/v1/responses", "input", []object{message}, object{"previous_response_id": "resp_x"}, "/previous_response_id"},
		{"/v1/responses", "input", []object{message}, object{"previous_response_id": "resp_" + digits(nobodys) + "_0"}, "/previous_response_id"},
		{"/v1/responses", "input", []object{{"type": "message", "id": "msg_" + digits(nobodys) + "_1", "role": "assistant", "content": "x"}, message}, nil, "/input/0/id"},
	} {
		body := object{"model": "chattray", tt.list: tt.items}
		maps.Copy(body, tt.more)
		got := client.Ask("ann", http.MethodPost, tt.path, "", body)
		if got.Status != http.StatusNotFound || !strings.Contains(got.Body, `"param":"`+tt.param+`"`) || !strings.Contains(got.Body, `"code":"not_found"`) {
			t.Errorf("%s with %v: %d %s, want 404 with the param %s", tt.path, body, got.Status, got.Body, tt.param)
		}
	}
}
