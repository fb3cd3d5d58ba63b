package modeltest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chattray/chattray/agents"
	"github.com/chattray/chattray/agents/modeltest/upstream"
	"github.com/chattray/chattray/schemas/turn"
)

// image is the base64 of an image.
type image string

// Base64 implements turn.ImageSource.
func (i image) Base64(context.Context) (string, error) { return string(i), nil }

// full is a request with everything in it.
func full() agents.ModelRequest {
	return agents.ModelRequest{
		Model: "test", System: "be brief", Temperature: 0.5, MaxTokens: 100,
		Messages: []turn.Message{
			{Role: turn.User, Content: "look", Images: []turn.Image{{MIME: "image/png", Size: 4, Source: image("AAAA")}}},
			{Role: turn.Assistant, Content: "Looking.", ToolCalls: []turn.ToolCall{{ID: "a", Name: "f", Arguments: `{"x":1}`}, {ID: "b", Name: "f", Arguments: `{"x`}, {ID: "c", Name: "f"}}},
			{Role: turn.ToolRole, Content: "found", ToolCallID: "a"},
		},
		Tools: []turn.Tool{{Name: "f", Description: "finds", InputSchema: json.RawMessage(`{"type":"object","properties":{"x":{"type":"integer"}}}`)}},
	}
}

const fullBody = `{"model":"test","stream":true,"stream_options":{"include_usage":true},"temperature":0.5,"max_tokens":100,"messages":[
	{"role":"system","content":"be brief"},
	{"role":"user","content":[{"type":"text","text":"look"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]},
	{"role":"assistant","content":"Looking.","tool_calls":[
		{"id":"a","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}},
		{"id":"b","type":"function","function":{"name":"f","arguments":"{}"}},
		{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},
	{"role":"tool","content":"found","tool_call_id":"a"}],
	"tools":[{"type":"function","function":{"name":"f","description":"finds","parameters":{"type":"object","properties":{"x":{"type":"integer"}}}}}]}`

func (p protocol) requests(t *testing.T) {
	send := func(t *testing.T, req agents.ModelRequest, first ...upstream.Reply) []upstream.Request {
		up := upstream.NewMemory()
		up.Push(first...)
		up.On(upstream.Any, upstream.Text("ok"))
		if got := Read(t.Context(), p.model(t, up), req); got.Err != nil {
			t.Fatal(got.Err)
		}
		return up.Requests()
	}
	decode := func(t *testing.T, raw []byte) (v map[string]any) {
		t.Helper()
		if err := json.Unmarshal(raw, &v); err != nil {
			t.Fatalf("%v in %s", err, raw)
		}
		return v
	}
	t.Run("everything", func(t *testing.T) {
		got := send(t, full())[0]
		if diff := cmp.Diff(decode(t, []byte(fullBody)), decode(t, got.Body)); diff != "" {
			t.Errorf("body (-want +got):\n%s", diff)
		}
		if got.Path != "/v1/chat/completions" || got.Header.Get("Authorization") != "Bearer "+key {
			t.Errorf("path %s, authorization %q", got.Path, got.Header.Get("Authorization"))
		}
	})
	t.Run("tools forbidden", func(t *testing.T) {
		req := full()
		req.ToolsForbidden = true
		body := decode(t, send(t, req)[0].Body)
		if body["tool_choice"] != "none" || body["tools"] == nil {
			t.Errorf("tool_choice is %v, want none, beside tools", body["tool_choice"])
		}
	})
	t.Run("small", func(t *testing.T) {
		body := decode(t, send(t, agents.ModelRequest{Model: "test", Messages: []turn.Message{{Role: turn.User}}})[0].Body)
		for _, absent := range []string{"tools", "tool_choice", "max_tokens", "max_completion_tokens"} {
			if _, ok := body[absent]; ok {
				t.Errorf("body has %s", absent)
			}
		}
		if temperature, ok := body["temperature"].(float64); !ok || temperature != 0 {
			t.Errorf("temperature is %v, want 0", body["temperature"])
		}
		if m, ok := body["messages"].([]any)[0].(map[string]any); !ok || m["content"] == nil {
			t.Errorf("an empty message has no content: %v", m)
		}
	})
	t.Run("without what the server refuses, from then on", func(t *testing.T) {
		up := upstream.NewMemory()
		up.Push(
			upstream.Status(http.StatusBadRequest, `{"error":{"message":"unknown field","param":"stream_options"}}`),
			upstream.Status(http.StatusUnprocessableEntity, `{"error":{"message":"max_tokens is not supported, use max_completion_tokens"}}`),
			upstream.Status(http.StatusBadRequest, `{"error":{"message":"only the default temperature"}}`))
		up.On(upstream.Any, upstream.Text("ok"))
		m := p.model(t, up)
		for range 2 {
			if got := Read(t.Context(), m, full()); got.Err != nil {
				t.Fatal(got.Err)
			}
		}
		requests := up.Requests()
		if len(requests) != 5 {
			t.Fatalf("%d calls, want 4 for the first reply and 1 for the second", len(requests))
		}
		body := decode(t, requests[4].Body)
		for _, absent := range []string{"stream_options", "max_tokens", "temperature"} {
			if _, ok := body[absent]; ok {
				t.Errorf("body still has %s", absent)
			}
		}
		if body["max_completion_tokens"] != 100.0 {
			t.Errorf("max_completion_tokens is %v, want 100", body["max_completion_tokens"])
		}
	})
	t.Run("options that one refusal names together", func(t *testing.T) {
		up := upstream.NewMemory()
		refuses := func(r upstream.Request) bool {
			return strings.Contains(string(r.Body), "stream_options") || strings.Contains(string(r.Body), "temperature") || strings.Contains(string(r.Body), `"tool_choice"`)
		}
		up.On(refuses, upstream.Status(http.StatusBadRequest, `{"error":{"message":"Unsupported parameters: stream_options, temperature, tool_choice"}}`))
		up.On(upstream.Any, upstream.Text("ok"))
		m, req := p.model(t, up), full()
		req.ToolsForbidden = true
		for range 2 {
			if got := Read(t.Context(), m, req); got.Text != "ok" {
				t.Fatalf("%q, %v; want ok", got.Text, got.Err)
			}
		}
		if up.Calls() != 5 {
			t.Errorf("%d calls, want 4 for the first reply and 1 for the second", up.Calls())
		}
	})
	t.Run("a refusal that also names what was learned", func(t *testing.T) {
		up := upstream.NewMemory()
		has := func(part string) func(upstream.Request) bool {
			return func(r upstream.Request) bool { return strings.Contains(string(r.Body), part) }
		}
		up.On(has(`"max_tokens"`), upstream.Status(http.StatusBadRequest, `{"error":{"message":"Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."}}`))
		up.On(has(`"tool_choice"`), upstream.Status(http.StatusBadRequest, `{"error":{"message":"tool_choice is no parameter; there are messages, tools, max_completion_tokens"}}`))
		up.On(upstream.Any, upstream.Text("ok"))
		m, req := p.model(t, up), full()
		for _, forbidden := range []bool{false, true} {
			req.ToolsForbidden = forbidden
			if got := Read(t.Context(), m, req); got.Text != "ok" {
				t.Fatalf("%q, %v; want ok", got.Text, got.Err)
			}
		}
		if up.Calls() != 4 {
			t.Errorf("%d calls, want 2 for each reply", up.Calls())
		}
	})
	t.Run("what a server wants back, from then on", func(t *testing.T) {
		wants := []struct{ refusal, change string }{
			{"", `"extra_content":{"google":{"thought_signature":"s"}}`},
			{"thinking is enabled but reasoning_content is missing in assistant tool call message at index 2", `"role":"assistant","content":"Looking.","reasoning_content":"hm"`},
			{"Missing `reasoning_content` field in the assistant message at message index 4", `"role":"assistant","content":"So.","reasoning_content":" "`},
			{"[{'type': 'missing', 'loc': ('body', 'messages', 2, 'reasoning_content'), 'msg': 'Field required'}]", `"role":"assistant","content":"Looking.","reasoning_content":"hm"`},
			{"Failed to deserialize the JSON body into the target type: messages[3]: missing field `content` at line 1 column 99", `"role":"assistant","content":"","tool_calls":[{"id":"d"`},
			{"[{'type': 'missing', 'loc': ('body', 'messages', 3, 'content'), 'msg': 'Field required'}]", `"role":"assistant","content":"","tool_calls":[{"id":"d"`},
			{"Function call is missing a thought_signature in functionCall parts", `"extra_content":{"google":{"thought_signature":"skip_thought_signature_validator"}}`},
		}
		for _, tt := range wants {
			req := full()
			req.Messages[1].Reasoning, req.Messages[1].ToolCalls[0].Extra = "hm", `{"google":{"thought_signature":"s"}}`
			req.Messages = append(req.Messages, turn.Message{Role: turn.Assistant, Content: "So."},
				turn.Message{Role: turn.Assistant, ToolCalls: []turn.ToolCall{{ID: "d", Name: "f"}}})
			up := upstream.NewMemory()
			if tt.refusal != "" {
				up.Push(upstream.Status(http.StatusBadRequest, `[{"error":{"code":400,"message":"`+tt.refusal+`"}}]`))
			}
			up.On(upstream.Any, upstream.Text("ok"))
			m := p.model(t, up)
			for range 2 {
				if got := Read(t.Context(), m, req); got.Err != nil {
					t.Fatal(got.Err)
				}
			}
			for i, r := range up.Requests() {
				if want := i > 0 || tt.refusal == ""; strings.Contains(string(r.Body), tt.change) != want {
					t.Errorf("after %q: request %d has %s: %t, want %t", tt.refusal, i, tt.change, !want, want)
				}
			}
		}
	})
	t.Run("what servers behind one name refuse and want", func(t *testing.T) {
		noReasoning := upstream.Status(http.StatusBadRequest, `{"error":{"message":"property 'reasoning_content' is unsupported"}}`)
		noExtra := upstream.Status(http.StatusBadRequest, `{"error":{"message":"Extra inputs are not permitted, field: extra_content"}}`)
		signature := upstream.Status(http.StatusBadRequest, `{"error":{"message":"Function call is missing a thought_signature"}}`)
		reasoning := upstream.Status(http.StatusBadRequest, `{"error":{"message":"reasoning_content is missing"}}`)
		inStream := upstream.Open(upstream.Bytes(": PROCESSING\n\n"), upstream.Data(`{"error":{"code":400,"message":"Provider returned error","metadata":{"raw":"reasoning_content is missing"}}}`))
		ok := upstream.Text("ok")
		for _, tt := range []struct {
			name    string
			replies []upstream.Reply
			change  string // what the requests have
			want    string // y for a request that has it; a space between calls
		}{
			{"one wants it, one refuses it", []upstream.Reply{reasoning, ok, noReasoning, ok, ok}, `"reasoning_content"`, "ny yn n"},
			{"it is told in the stream", []upstream.Reply{inStream, ok, ok}, `"reasoning_content"`, "ny y"},
			{"none takes it, told in the stream", []upstream.Reply{inStream, inStream, ok}, `"reasoning_content"`, "ny n"},
			{"none takes it", []upstream.Reply{noReasoning, noReasoning, ok}, `"reasoning_content"`, "ny n"},
			{"after it was learned, none takes it", []upstream.Reply{reasoning, ok, noReasoning, noReasoning, ok}, `"reasoning_content"`, "ny yn y"},
			{"one refuses what another wants back", []upstream.Reply{noExtra, ok, signature, ok, ok}, `"thought_signature":"s"`, "yn ny y"},
			{"each refuses the other's", []upstream.Reply{noExtra, signature, noExtra, ok}, `"thought_signature":"s"`, "ynn y"},
		} {
			req := full()
			req.Messages[1].Reasoning, req.Messages[1].ToolCalls[0].Extra = "hm", `{"google":{"thought_signature":"s"}}`
			up := upstream.NewMemory()
			up.Push(tt.replies...)
			m := p.model(t, up)
			got, seen := "", 0
			for range strings.FieldsSeq(tt.want) {
				_ = Read(t.Context(), m, req) // some calls fail
				for _, r := range up.Requests()[seen:] {
					got += map[bool]string{true: "y", false: "n"}[strings.Contains(string(r.Body), tt.change)]
				}
				got, seen = got+" ", up.Calls()
			}
			if got = strings.TrimSpace(got); got != tt.want {
				t.Errorf("%s: the requests have it: %s, want %s", tt.name, got, tt.want)
			}
		}
	})
	t.Run("a user's message after a tool's result", func(t *testing.T) {
		req := full()
		req.Messages = append(req.Messages, turn.Message{Role: turn.User, Content: "Answer now."})
		for _, refusal := range []upstream.Reply{
			upstream.Status(http.StatusBadRequest, `{"object":"error","message":"Unexpected role 'user' after role 'tool'","type":"invalid_request_message_order","param":null,"code":"3230"}`),
			upstream.Status(http.StatusInternalServerError, `{"error":{"code":500,"message":"Jinja Exception: After the optional system message, conversation roles must alternate user and assistant roles except for tool calls and results."}}`),
		} {
			sent := send(t, req, refusal)
			if len(sent) != 2 {
				t.Fatalf("%d requests, want 2", len(sent))
			}
			var roles []string
			for _, m := range decode(t, sent[1].Body)["messages"].([]any) {
				roles = append(roles, m.(map[string]any)["role"].(string))
			}
			if got, want := strings.Join(roles, " "), "system user assistant tool assistant user"; got != want {
				t.Errorf("after a refusal the roles are %s, want %s", got, want)
			}
		}
	})
	t.Run("a model without a system role", func(t *testing.T) {
		const alternate = `{"error":{"message":"Conversation roles must alternate user/assistant/user/assistant/..."}}`
		picture := full()
		text := picture
		text.Messages = []turn.Message{{Role: turn.User, Content: "look"}}
		greeted := picture
		greeted.Messages = []turn.Message{{Role: turn.Assistant, Content: "Hello."}, {Role: turn.User, Content: "look"}}
		for _, tt := range []struct {
			name      string
			req       agents.ModelRequest
			refusals  []upstream.Reply
			wantFirst string
		}{
			{"Gemma", text, []upstream.Reply{upstream.Status(http.StatusBadRequest, `{"object":"error","message":"System role not supported"}`)}, `{"content":"be brief\n\nlook","role":"user"}`},
			{
				"Gemma, with a picture", picture,
				[]upstream.Reply{upstream.Status(http.StatusInternalServerError, `{"error":{"code":500,"message":"Jinja Exception: System role not supported"}}`)},
				`{"content":[{"text":"be brief\n\nlook","type":"text"},{"image_url":{"url":"data:image/png;base64,AAAA"},"type":"image_url"}],"role":"user"}`,
			},
			{"Gemma at Google", text, []upstream.Reply{upstream.Status(http.StatusBadRequest, `[{"error":{"code":400,"message":"Developer instruction is not enabled for models/gemma-3-27b-it"}}]`)}, `{"content":"be brief\n\nlook","role":"user"}`},
			{"o1-mini", text, []upstream.Reply{upstream.Status(http.StatusBadRequest, `{"error":{"message":"Unsupported value: 'messages[0].role' does not support 'system' with this model.","param":"messages[0].role"}}`)}, `{"content":"be brief\n\nlook","role":"user"}`},
			{"Mistral 0.1", text, []upstream.Reply{upstream.Status(http.StatusBadRequest, `{"error":"Error rendering prompt with jinja template: Only user and assistant roles are supported!"}`)}, `{"content":"be brief\n\nlook","role":"user"}`},
			{"Mistral 0.2", text, []upstream.Reply{upstream.Status(http.StatusBadRequest, alternate), upstream.Status(http.StatusBadRequest, alternate)}, `{"content":"be brief\n\nlook","role":"user"}`},
			{"Mistral 0.2, after a greeting", greeted, []upstream.Reply{upstream.Status(http.StatusBadRequest, alternate), upstream.Status(http.StatusBadRequest, alternate)}, `{"content":"be brief","role":"user"}`},
		} {
			up := upstream.NewMemory()
			up.Push(tt.refusals...)
			up.On(upstream.Any, upstream.Text("ok"))
			m := p.model(t, up)
			for range 2 {
				if got := Read(t.Context(), m, tt.req); got.Err != nil {
					t.Fatalf("%s: %v", tt.name, got.Err)
				}
			}
			sent := up.Requests()[len(tt.refusals):]
			if len(sent) != 2 {
				t.Fatalf("%s: %d requests after the refusals, want one for each call", tt.name, len(sent))
			}
			for _, r := range sent {
				messages := decode(t, r.Body)["messages"].([]any)
				want := len(tt.req.Messages)
				if tt.req.Messages[0].Role != turn.User { // the system prompt is a message before it
					want++
				}
				first, err := json.Marshal(messages[0])
				if err != nil || string(first) != tt.wantFirst || len(messages) != want {
					t.Errorf("%s: %d messages, the first is %s, %v; want %d and %s", tt.name, len(messages), first, err, want, tt.wantFirst)
				}
			}
		}
	})
	t.Run("what another server gave", func(t *testing.T) {
		req := full()
		req.Messages[1].ToolCalls[0].Extra = `{"google":{"thought_signature":"s"}}`
		sent := send(t, req, upstream.Status(http.StatusUnprocessableEntity, `{"detail":[{"type":"extra_forbidden","loc":["body","messages",2,"tool_calls",0,"extra_content"]}]}`))
		if diff := cmp.Diff(decode(t, []byte(fullBody)), decode(t, sent[1].Body)); diff != "" {
			t.Errorf("body after a refusal (-want +got):\n%s", diff)
		}
	})
	t.Run("ids of calls that another model made", func(t *testing.T) {
		accepted := regexp.MustCompile(`^[a-zA-Z0-9]{9}$`)
		for _, refusal := range []upstream.Reply{
			upstream.Status(http.StatusBadRequest, `{"object":"error","message":"Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.","type":"invalid_function_call","code":"3280"}`),
			upstream.Status(http.StatusInternalServerError, `{"error":{"code":500,"message":"Jinja Exception: Tool call IDs should be alphanumeric strings with length 9!"}}`),
		} {
			req := full()
			calls := []turn.ToolCall{{ID: "call_1", Name: "f"}, {ID: "call_2", Name: "f"}, {ID: "D681PevKs", Name: "f"}}
			req.Messages[1].ToolCalls, req.Messages[2].ToolCallID = calls, "call_2"
			sent := send(t, req, refusal)
			if len(sent) != 2 {
				t.Fatalf("%d requests, want 2", len(sent))
			}
			var body struct {
				Messages []struct {
					Calls  []struct{ ID string } `json:"tool_calls"`
					CallID string                `json:"tool_call_id"`
				}
			}
			if err := json.Unmarshal(sent[1].Body, &body); err != nil {
				t.Fatal(err)
			}
			got := body.Messages[2].Calls
			for _, c := range got {
				if !accepted.MatchString(c.ID) {
					t.Errorf("after a refusal an id is %q", c.ID)
				}
			}
			if got[0].ID == got[1].ID || got[2].ID != "D681PevKs" || body.Messages[3].CallID != got[1].ID {
				t.Errorf("after a refusal the calls are %v and the result is of %q", got, body.Messages[3].CallID)
			}
		}
	})
	t.Run("calls that no tool has", func(t *testing.T) {
		accepted := regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
		for _, call := range []turn.ToolCall{
			{Name: ""},
			{Name: " f "},
			{Name: "functions.f"},
			{Name: "größe"},
			{Name: strings.Repeat("f", 200)},
			{Name: "f", Arguments: "null"},
			{Name: "f", Arguments: "[1]"},
			{Name: "f", Arguments: `"{}"`},
			{Name: "f", Arguments: " {"},
		} {
			call.ID = "a"
			req := full()
			req.Messages[1].ToolCalls = []turn.ToolCall{call, {ID: "b", Name: "f", Arguments: " {\"x\":1}"}}
			var body struct {
				Messages []struct {
					Calls []struct {
						Function struct{ Name, Arguments string }
					} `json:"tool_calls"`
				}
			}
			if err := json.Unmarshal(send(t, req)[0].Body, &body); err != nil {
				t.Fatal(err)
			}
			calls := body.Messages[2].Calls
			if got := calls[0].Function; !accepted.MatchString(got.Name) || got.Arguments != "{}" {
				t.Errorf("the call %q with %q is sent as %q with %q", call.Name, call.Arguments, got.Name, got.Arguments)
			}
			if got := calls[1].Function; got.Name != "f" || got.Arguments != " {\"x\":1}" {
				t.Errorf("a call of a tool is sent as %q with %q", got.Name, got.Arguments)
			}
		}
	})
	t.Run("the request stays as it was", func(t *testing.T) {
		req := full()
		send(t, req)
		if diff := cmp.Diff(full(), req); diff != "" {
			t.Errorf("request (-want +got):\n%s", diff)
		}
	})
	t.Run("at the same time", func(t *testing.T) {
		up := upstream.NewMemory()
		for i := range 20 {
			up.On(upstream.LastUser(fmt.Sprintf("number %d.", i)), upstream.Text(fmt.Sprintf("answer %d", i)))
		}
		m := p.model(t, up)
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() {
				req := agents.ModelRequest{Model: "test", Messages: []turn.Message{{Role: turn.User, Content: fmt.Sprintf("number %d.", i)}}}
				if got, want := Read(t.Context(), m, req).Text, fmt.Sprintf("answer %d", i); got != want {
					t.Errorf("answer to %d is %q, want %q", i, got, want)
				}
			})
		}
		wg.Wait()
	})
}
