package endtoend

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/chattray/chattray/agents/modeltest/upstream"
	"github.com/chattray/chattray/app"
	"github.com/chattray/chattray/app/apptest"
)

// wireCase is a request of a wire's client and what comes of it. In path and body, RUN is
// the run of the newest case that had one, DIGITS is its digits, and CURSOR is the cursor in
// the newest answer that had one.
type wireCase struct {
	name, path string
	body       string // JSON; "" is a GET
	status     int    // 0 is 200
	says       []string
	lacks      []string
	reads      []string // in what the model gets
	unread     []string
}

// wireScript is what the model says: a question with the word pick calls the page's tool,
// one with the word gated waits for the gate, and one with the word full has a payload and
// suggestions.
func wireScript(up *upstream.Server, gate <-chan struct{}) {
	up.On(upstream.LastUser("gated"), upstream.Reply{upstream.Wait(gate)}.Then(upstream.Text("Yes.")...))
	up.On(upstream.LastUser("pick").After(0), upstream.Open(upstream.Call(0, "c1", "pick", "{}"), upstream.Finish("tool_calls"), upstream.Usage(10, 2), upstream.Done()))
	up.On(upstream.LastUser("full"), upstream.Text("A query.\n\nQUERY_SUGGESTION: {\"query\": \"sickle\", \"source\": \"pubmed\"}\n\nSUGGESTED_VALUES: [\"Show more\"]\n"))
	up.On(upstream.Any, upstream.Text("Yes."))
}

// cursorOf is the cursor of a page of messages.
var cursorOf = regexp.MustCompile(`"(?:next_)?cursor":"([^"]+)"`)

// holdWire sends the requests of a wire's client, one after the other, to one service. Every
// stream has the headers that its clients and proxies need.
func holdWire(t *testing.T, cases []wireCase) {
	t.Helper()
	client, up := apptest.ServeScripted(t)
	gate := make(chan struct{})
	wireScript(up, gate)
	t.Cleanup(func() { close(gate) })
	run, cursor := "none", "none"
	for _, tt := range cases {
		names := strings.NewReplacer("RUN", run, "DIGITS", strings.ReplaceAll(run, "-", ""), "CURSOR", cursor, "LONG", strings.Repeat("ä", 16_001))
		method, body, before := http.MethodGet, any(nil), up.Calls()
		if tt.body != "" {
			method, body = http.MethodPost, json.RawMessage(names.Replace(tt.body))
		}
		got := client.Ask("ann", method, names.Replace(tt.path), "", body)
		want := tt.status
		if want == 0 {
			want = http.StatusOK
		}
		if got.Status != want {
			t.Errorf("%s: got %d %s, want %d", tt.name, got.Status, got.Body, want)
		}
		var prompt strings.Builder
		for _, r := range up.Requests()[before:] {
			for _, m := range r.Messages {
				if s := m.Text(); s != "" {
					prompt.WriteString(s + "\n")
				} else {
					prompt.Write(m.Content)
				}
			}
			for _, tool := range r.Tools {
				prompt.WriteString("tool " + tool.Function.Name + "\n")
			}
		}
		holds(t, tt.name+": the answer", got.Body, tt.says, tt.lacks)
		holds(t, tt.name+": the model", prompt.String(), tt.reads, tt.unread)
		if got.Header.Get("Content-Type") == "text/event-stream" {
			streamHeaders(t, tt.name, tt.path, got.Header)
		}
		if id := got.Header.Get("X-Run-Id"); id != "" {
			run = id
		}
		if m := cursorOf.FindStringSubmatch(got.Body); m != nil {
			cursor = m[1]
		}
	}
}

func holds(t *testing.T, what, text string, has, lacks []string) {
	t.Helper()
	for _, want := range has {
		if !strings.Contains(text, want) {
			t.Errorf("%s gets %s, want %q in it", what, text, want)
		}
	}
	for _, other := range lacks {
		if strings.Contains(text, other) {
			t.Errorf("%s gets %s, want no %q in it", what, text, other)
		}
	}
}

// streamHeaders checks the headers of a stream.
func streamHeaders(t *testing.T, name, path string, h http.Header) {
	t.Helper()
	want := map[string]string{"Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no", "Content-Location": "", "X-Vercel-Ai-Ui-Message-Stream": ""}
	if strings.HasPrefix(path, "/api/ui") {
		want["X-Vercel-Ai-Ui-Message-Stream"] = "v1"
	}
	for key, value := range want {
		if h.Get(key) != value {
			t.Errorf("%s: the header %s is %q, want %q", name, key, h.Get(key), value)
		}
	}
	if h.Get("X-Run-Id") == "" || h.Get("X-Request-Id") == "" {
		t.Errorf("%s: the stream has the headers %v, want the ids of the run and the request", name, h)
	}
}

func TestRequestsOfUI(t *testing.T) {
	ask := func(chat, more, text string) string {
		return `{"id": "` + chat + `", ` + more + `"messages": [{"id": "s", "role": "system", "parts": [{"type": "text", "text": "Be a pirate"}]}, {"id": "u-` + chat + `", "role": "user", "parts": [{"type": "text", "text": "` + text + `"}, {"type": "text", "text": "second line"}]}]}`
	}
	holdWire(t, []wireCase{
		{name: "context", path: "/api/ui?page=edit_stream&tab=retrieval&subtab=drafts", body: ask("one", "", "full"), says: []string{`"type":"data-payload"`, `"type":"data-suggestions"`, "[DONE]"}, reads: []string{"Be a pirate", "full\nsecond line", "edit_stream", "retrieval", "drafts"}},
		{name: "messages", path: "/api/ui/one/messages", says: []string{`"type":"data-payload"`, `"sickle"`, `"type":"data-suggestions"`, `"Show more"`, `full\nsecond line`}, lacks: []string{"next_cursor"}},
		{name: "the last page", path: "/api/ui/one/messages?limit=1", says: []string{"data-payload", "next_cursor"}, lacks: []string{"second line"}},
		{name: "the page before", path: "/api/ui/one/messages?limit=1&cursor=CURSOR", says: []string{"second line"}, lacks: []string{"data-payload", "next_cursor"}},
		{name: "no if_busy", path: "/api/ui?if_busy=maybe", body: ask("one", "", "hello"), status: 422, says: []string{"/if_busy must be one of"}},
		{name: "a page of nothing", path: "/api/ui/one/messages?limit=0", status: 422, says: []string{"limit"}},
		{name: "long instructions", path: "/api/ui", body: strings.Replace(ask("two", "", "hello"), "Be a pirate", "LONG", 1), status: 422, says: []string{"16000"}},
		{name: "a tool twice", path: "/api/ui", body: ask("three", `"client_tools": [{"name": "pick"}, {"name": "pick"}], `, "hello"), status: 422, says: []string{"/client_tools/1/name is the name of another tool"}},
		{name: "a tool of the service", path: "/api/ui?page=reports", body: ask("three", `"client_tools": [{"name": "get_report"}], `, "hello"), status: 422, says: []string{"/client_tools/0/name is the name of another tool"}},
	})
}

func TestRequestsOfCompletions(t *testing.T) {
	ask := func(more, text string) string {
		return `{"model": "chattray", ` + more + `"messages": [{"role": "system", "content": "Be a pirate"}, {"role": "user", "content": [{"type": "text", "text": "` + text + `"}, {"type": "text", "text": "second line"}]}]}`
	}
	const pick, picks = `"tools": [{"type": "function", "function": {"name": "pick"}}], `, `"tools": [{"type": "function", "function": {"name": "pick"}}, {"type": "function", "function": {"name": "pick"}}], `
	holdWire(t, []wireCase{
		{name: "context", path: "/v1/chat/completions", body: ask(`"stream": true, "metadata": {"current_page": "reports", "active_tab": "files", "active_subtab": "drafts"}, `, "hello"), says: []string{"[DONE]"}, lacks: []string{`"usage"`}, reads: []string{"Be a pirate", "hello\nsecond line", "reports", "files", "drafts"}},
		{name: "long instructions", path: "/v1/chat/completions", body: strings.Replace(ask("", "hello"), "Be a pirate", "LONG", 1), status: 400, says: []string{"16000", `"param":"/messages"`}},
		{name: "the client's tool", path: "/v1/chat/completions", body: ask(pick, "hello"), reads: []string{"tool pick"}},
		{name: "without tools", path: "/v1/chat/completions", body: ask(pick+`"tool_choice": "none", `, "hello"), unread: []string{"tool pick"}},
		{name: "a tool twice", path: "/v1/chat/completions", body: ask(picks, "hello"), status: 400, says: []string{`"param":"/tools/1/function/name"`}},
		{name: "audio", path: "/v1/chat/completions", body: ask(`"audio": {"voice": "alloy"}, `, "hello"), status: 400, says: []string{`"code":"unsupported_parameter"`}},
		{name: "no if_busy", path: "/v1/chat/completions?if_busy=maybe", body: ask("", "hello"), status: 400, says: []string{"/if_busy must be one of"}},
		{name: "usage at a wait", path: "/v1/chat/completions", body: ask(pick+`"stream": true, "stream_options": {"include_usage": true}, `, "pick"), says: []string{`"finish_reason":"tool_calls"`, `"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":2,"total_tokens":12}`}},
		{name: "usage at a wait, whole", path: "/v1/chat/completions", body: ask(pick, "pick"), says: []string{`"finish_reason":"tool_calls"`, `"total_tokens":12`}},
	})
}

func TestRequestsOfAGUI(t *testing.T) {
	ask := func(thread, run, more, messages string) string {
		return `{"threadId": "` + thread + `", "runId": "` + run + `", "state": {}, "context": [], ` + more + `"messages": [` + messages + `]}`
	}
	user := func(id, text string) string {
		return `{"id": "s", "role": "system", "content": "Be a pirate"}, {"id": "` + id + `", "role": "user", "content": [{"type": "text", "text": "` + text + `"}, {"type": "text", "text": "second line"}]}`
	}
	const pick, picks = `"tools": [{"name": "pick"}], `, `"tools": [{"name": "pick"}, {"name": "pick"}], `
	holdWire(t, []wireCase{
		{name: "null members", path: "/api/agui", body: `{"threadId": "one", "runId": "r1", "parentRunId": null, "protocolVersion": null, "state": null, "context": null, "tools": null, "forwardedProps": null, "resume": null, "messages": [{"id": "m1", "role": "user", "content": "hello", "name": null, "toolCallId": null}]}`, says: []string{"RUN_FINISHED"}, lacks: []string{"null", "parentRunId"}},
		{name: "context, parent", path: "/api/agui", body: ask("one", "r2", `"parentRunId": "r1", `, user("m2", "hello")), says: []string{`"parentRunId":"r1"`, "RUN_FINISHED"}, reads: []string{"Be a pirate", "hello\nsecond line"}},
		{name: "a file", path: "/api/agui", body: ask("one", "r3", "", `{"id": "m3", "role": "user", "content": [{"type": "text", "text": "What is in it?"}, {"type": "document", "source": {"type": "data", "value": "c2VjcmV0IHdvcmQ=", "mimeType": "text/plain"}, "metadata": {"filename": "notes.txt"}}]}`), says: []string{"RUN_FINISHED"}, reads: []string{"notes.txt", "secret word"}},
		{name: "the last page", path: "/api/agui?threadId=one&limit=2", says: []string{"What is in it?", `"truncated":true`}, lacks: []string{"second line"}},
		{name: "the page before", path: "/api/agui?threadId=one&limit=2&before=CURSOR", says: []string{"second line"}, lacks: []string{"What is in it?"}},
		{name: "long instructions", path: "/api/agui", body: strings.Replace(ask("two", "r", "", user("m", "hello")), "Be a pirate", "LONG", 1), status: 422, says: []string{"16000"}},
		{name: "a tool twice", path: "/api/agui", body: ask("two", "r", picks, user("m", "hello")), status: 422, says: []string{`"pointer":"/tools/1/name"`}},
		{name: "no if_busy", path: "/api/agui?if_busy=maybe", body: ask("one", "r9", "", user("m9", "hello")), status: 422, says: []string{"/if_busy must be one of"}},
		{name: "no if_busy, forwarded", path: "/api/agui", body: ask("one", "r9", `"forwardedProps": {"if_busy": "maybe"}, `, user("m9", "hello")), status: 422, says: []string{`"pointer":"/forwardedProps/if_busy"`}},
		{name: "no model, forwarded", path: "/api/agui", body: ask("one", "r9", `"forwardedProps": {"model": "none"}, `, user("m9", "hello")), status: 422, says: []string{`"pointer":"/forwardedProps/model"`}},
		{name: "a document that is none, forwarded", path: "/api/agui", body: ask("one", "r9", `"forwardedProps": {"context": {"document_id": "no id", "mode": "chat"}}, `, user("m9", "hello")), status: 422, says: []string{`"pointer":"/forwardedProps/context/document_id"`}},
		{name: "a call that never waited", path: "/api/agui", body: ask("one", "r4", "", `{"id": "t", "role": "tool", "toolCallId": "RUN-0", "content": "x"}`), status: 409, says: []string{"does not wait"}},
		{name: "a call of the page", path: "/api/agui", body: ask("three", "r5", pick, user("m5", "pick")), says: []string{"TOOL_CALL_END", "RUN_FINISHED"}},
		{name: "its tool fails", path: "/api/agui", body: ask("three", "r6", pick, user("m5", "pick")+`, {"id": "a", "role": "assistant", "content": ""}, {"id": "t", "role": "tool", "toolCallId": "RUN-0", "content": "", "error": "no such button"}`), says: []string{"Yes.", "RUN_FINISHED"}, reads: []string{"no such button"}},
		{name: "the run that began", path: "/api/agui?offset=-1&runId=r5&threadId=three", says: []string{"Yes.", `"runId":"r5"`}},
		{name: "the request that continued it", path: "/api/agui?offset=-1&runId=r6&threadId=three", status: 404},
		{name: "another call of the page", path: "/api/agui", body: ask("four", "r7", pick, user("m7", "pick")), says: []string{"RUN_FINISHED"}},
		{name: "its user cancels it", path: "/api/agui", body: ask("four", "r8", pick+`"resume": [{"interruptId": "RUN-0", "status": "cancelled"}], `, user("m7", "pick")+`, {"id": "a", "role": "assistant", "content": ""}`), says: []string{"Yes.", "RUN_FINISHED"}, reads: []string{"The user cancelled this call."}},
		{name: "a third call of the page", path: "/api/agui", body: ask("five", "r10", pick, user("m10", "pick")), says: []string{"RUN_FINISHED"}},
		{name: "no if_busy, and a call that waits", path: "/api/agui?if_busy=maybe", body: ask("five", "r11", pick, user("m10", "pick")+`, {"id": "a", "role": "assistant", "content": ""}, `+user("m11", "hello")), status: 422, says: []string{"/if_busy must be one of"}},
		{name: "two answers to it", path: "/api/agui", body: ask("five", "r12", pick+`"resume": [{"interruptId": "RUN-0", "status": "resolved", "payload": "Basel"}, {"interruptId": "RUN-0", "status": "cancelled"}], `, user("m10", "pick")), says: []string{"Yes.", "RUN_FINISHED"}, reads: []string{"Basel"}, unread: []string{"The user cancelled this call."}},
	})
}

func TestRequestsOfResponses(t *testing.T) {
	ask := func(more, text string) string {
		return `{"model": "chattray", ` + more + `"input": [{"role": "user", "content": [{"type": "input_text", "text": "` + text + `"}, {"type": "input_text", "text": "second line"}]}]}`
	}
	const pick, picks = `"tools": [{"type": "function", "name": "pick"}], `, `"tools": [{"type": "function", "name": "pick"}, {"type": "function", "name": "pick"}], `
	holdWire(t, []wireCase{
		{name: "context", path: "/v1/responses", body: ask(`"stream": true, "instructions": "Be a pirate", "metadata": {"current_page": "reports", "active_tab": "files", "active_subtab": "drafts"}, `, "hello"), says: []string{"response.completed"}, reads: []string{"Be a pirate", "hello\nsecond line", "reports", "files", "drafts"}},
		{name: "long instructions", path: "/v1/responses", body: ask(`"instructions": "LONG", `, "hello"), status: 400, says: []string{"16000", `"param":"/instructions"`}},
		{name: "a tool twice", path: "/v1/responses", body: ask(picks, "hello"), status: 400, says: []string{`"param":"/tools/1/name"`}},
		{name: "a tool without a name", path: "/v1/responses", body: ask(`"tools": [{"type": "mcp", "server_label": "chattray"}, {"type": "function"}], `, "hello"), status: 400, says: []string{`"param":"/tools/1/name"`}, lacks: []string{"description"}},
		{name: "a file", path: "/v1/responses", body: `{"model": "chattray", "input": [{"role": "user", "content": [{"type": "input_text", "text": "What is in it?"}, {"type": "input_file", "filename": "notes.txt", "file_data": "data:text/plain;base64,c2VjcmV0IHdvcmQ="}]}]}`, reads: []string{"notes.txt", "secret word"}},
		{name: "no if_busy", path: "/v1/responses?if_busy=maybe", body: ask("", "hello"), status: 400, says: []string{"/if_busy must be one of"}},
		{name: "usage at a wait", path: "/v1/responses", body: ask(pick, "pick"), says: []string{`"input_tokens":10`, `"output_tokens":2`, `"total_tokens":12`}},
		{name: "usage of a run that was cancelled", path: "/v1/responses/resp_DIGITS_0/cancel", body: `{}`, says: []string{`"total_tokens":12`}},
		{name: "in the background", path: "/v1/responses", body: ask(`"background": true, "metadata": {"chat_id": "busy"}, `, "gated"), says: []string{`"background":true`, `"output":[]`, `"usage":null`, `"id":"resp_`}, lacks: []string{`"status":"completed"`}},
		{name: "a busy chat", path: "/v1/responses", body: ask(`"metadata": {"chat_id": "busy"}, `, "hello"), status: 409, says: []string{`"code":"busy"`}},
		{name: "queued", path: "/v1/responses?if_busy=queue", body: ask(`"background": true, "metadata": {"chat_id": "busy"}, `, "hello"), says: []string{`"status":"queued"`, `"output":[]`, `"usage":null`}},
		{name: "queued, read again", path: "/v1/responses/resp_DIGITS_0", says: []string{`"status":"queued"`}},
		{name: "queued, cancelled", path: "/v1/responses/resp_DIGITS_0/cancel", body: `{}`, says: []string{`"status":"cancelled"`}},
	})
}

// TestCancelOnWires has streams whose run is cancelled while they are read: by the client
// that closes its connection and has asked for that, and by a request to cancel a response
// that is not in the background.
func TestCancelOnWires(t *testing.T) {
	up := upstream.NewMemory()
	client := apptest.ServeOn(t, apptest.Databases()[0], app.Options{Models: up.Transport()}, apptest.Scripted("CHATTRAY_ON_DISCONNECT_GRACE=10ms", "CHATTRAY_OTHER_REQUESTS_PER_MINUTE=0"))
	gate := make(chan struct{})
	wireScript(up, gate)
	t.Cleanup(func() { close(gate) })
	for _, tt := range []struct{ name, path, body, cancel string }{
		{"ui", "/api/ui", `{"id": "c", "on_disconnect": "cancel", "messages": [{"id": "u", "role": "user", "parts": [{"type": "text", "text": "gated"}]}]}`, ""},
		{"responses", "/v1/responses", `{"model": "chattray", "stream": true, "input": "gated"}`, "/v1/responses/resp_DIGITS_0/cancel"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			request, err := http.NewRequestWithContext(ctx, http.MethodPost, client.URL+tt.path, strings.NewReader(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Authorization", "Bearer "+client.Tokens["ann"])
			request.Header.Set("Content-Type", "application/json")
			answer, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			defer answer.Body.Close()
			run := answer.Header.Get("X-Run-Id")
			if tt.cancel == "" {
				leave()
			} else {
				path := strings.Replace(tt.cancel, "DIGITS", strings.ReplaceAll(run, "-", ""), 1)
				if got := client.Must(http.MethodPost, path, nil); !strings.Contains(got.Body, `"status":"cancelled"`) {
					t.Errorf("the answer is %s, want a response that was cancelled", got.Body)
				}
				if rest, err := io.ReadAll(answer.Body); err != nil || !strings.Contains(string(rest), "response.incomplete") {
					t.Errorf("the stream ends with %s (%v), want response.incomplete", rest, err)
				}
			}
			apptest.Eventually(t, "the run is cancelled", func() bool {
				return strings.Contains(client.Must(http.MethodGet, "/api/chat/runs/"+run, nil).Body, `"state":"cancelled"`)
			})
		})
	}
}
