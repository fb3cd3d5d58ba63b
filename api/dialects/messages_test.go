package dialects_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/chattray/chattray/api/dialects"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/runlog"
)

// messagesFrame is the frame of a body in the dialect messages, without its ids and
// metadata; "" is none.
func messagesFrame(t *testing.T, b runlog.Body) string {
	t.Helper()
	raw := string(dialects.AppendMessagesFrame(nil, &runlog.Event{Seq: 7, At: runlog.Level{Group: 2, Message: 3}, Body: b}))
	if raw == "" {
		return ""
	}
	_, data, _ := strings.Cut(raw, "data: ")
	before, rest, found := strings.Cut(data, `,"chunk_id":"C7"`)
	if !found || !strings.HasPrefix(rest, `,"message_id":"M3","block_id":"B2"`) || !json.Valid([]byte(data)) {
		t.Errorf("the frame is %s, want JSON with its ids", raw)
	}
	return before
}

func TestFramesOfCallsInMessages(t *testing.T) {
	start := runlog.ToolStart{Tool: "look", ToolUseID: "c1", Index: 2, Input: json.RawMessage(`{"q":"a"}`), Title: "Look"}
	const called = `{"type":"tool_call","props":{"arguments":"{\"q\":\"a\"}","id":"c1","index":2,"name":"look","progress":0,"title":"Look"}`
	for name, tt := range map[string]struct {
		body runlog.Body
		want string
	}{
		"the model is asked": {&runlog.Status{Message: "Thinking...", Code: schemas.StatusThinking}, ""},
		"a status line": {
			&runlog.Status{Message: "Running look...", Code: schemas.StatusRunningTool, Tool: "look"},
			`{"type":"loading","props":{"message":"Running look...","code":"running_tool","values":{"tool":"look"}},"delta":true,"delta_action":"replace"`,
		},
		"a call": {&start, called},
		"an argument that goes into a block": {
			&runlog.Streamed{Argument: "text"}, `{"type":"tool_call","props":{"streamed":"text"},"delta":true`,
		},
		"a call whose argument has gone into a block": {
			&runlog.ToolStart{Tool: "write", ToolUseID: "c1", Input: json.RawMessage(`{"text":"long","to":"b"}`), Streamed: "text", Beside: json.RawMessage(`{"to":"b"}`)},
			`{"type":"tool_call","props":{"arguments":"{\"to\":\"b\"}","id":"c1","index":0,"name":"write","progress":0,"streamed":"text"}`,
		},
		"a call that is denied": {
			&runlog.ToolRefused{ToolStart: start}, strings.Replace(called, `"id"`, `"denied":true,"id"`, 1),
		},
		"a step": {
			&runlog.ToolProgress{Stage: "s", Message: "m", Progress: 0.5, Data: json.RawMessage(`{"n":1}`)},
			`{"type":"tool_call","props":{"data":{"n":1},"progress":0.5,"stage":"s","status_message":"m"},"delta":true,"delta_action":"merge"`,
		},
		"a plan": {
			&runlog.ToolProgress{Data: json.RawMessage(`{"block_ids":"a,b"}`), Document: &runlog.DocumentChange{NewDoc: true}},
			`{"type":"tool_call","props":{"data":{"block_ids":"a,b"}},"delta":true,"delta_path":"data","delta_action":"set"`,
		},
		"a result": {
			&runlog.ToolComplete{ToolUseID: "c1", Output: "o", Done: "Looked", Apart: true},
			`{"type":"text","props":{"content":"o","done":"Looked","is_error":false,"tool_use_id":"c1"}`,
		},
		"a result in a log of an older version": {
			&runlog.ToolComplete{ToolUseID: "c1", Output: "o", IsError: true},
			`{"type":"tool_call","props":{"is_error":true,"output":"o"},"delta":true,"delta_action":"merge"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := messagesFrame(t, tt.body); got != tt.want {
				t.Errorf("the frame is\n%s, want\n%s", got, tt.want)
			}
		})
	}
}
