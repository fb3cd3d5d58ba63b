package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"

	"github.com/chattray/chattray/api"
	"github.com/chattray/chattray/api/apitest"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

// documented is a request as the contract shows it.
type documented struct {
	name, method, path, body string
	header                   []string
	op                       *openapi3.Operation
}

// documentedRequests returns every example request of the contract.
func documentedRequests(t *testing.T, w *testEnv) []documented {
	t.Helper()
	var all []documented
	for pattern, item := range w.Paths.Map() {
		for method, op := range item.Operations() {
			if op.OperationID == "getSocket" {
				continue // no request and answer, but a conversation: see TestSocket
			}
			d := documented{name: op.OperationID, method: method, op: op}
			query := url.Values{}
			d.path = pattern
			for _, p := range append(append(openapi3.Parameters{}, item.Parameters...), op.Parameters...) {
				value := fmt.Sprint(p.Value.Example)
				if p.Value.Name == "ticket" || p.Value.In == "query" && p.Value.Example == nil {
					continue // instead of the token that is sent, or of the rest of the query
				}
				switch p.Value.In {
				case "path":
					d.path = strings.ReplaceAll(d.path, "{"+p.Value.Name+"}", value)
				case "query":
					query.Set(p.Value.Name, value)
				case "header":
					d.header = append(d.header, p.Value.Name, value)
				}
			}
			if len(query) > 0 {
				d.path += "?" + query.Encode()
			}
			all = append(all, bodies(t, d)...)
		}
	}
	return all
}

// bodies returns the request once for each example of its body.
func bodies(t *testing.T, d documented) []documented {
	t.Helper()
	if d.op.RequestBody == nil {
		return []documented{d}
	}
	var all []documented
	for name, ex := range d.op.RequestBody.Value.Content.Get("application/json").Examples {
		raw, err := json.Marshal(ex.Value.Value)
		if err != nil {
			t.Fatal(err)
		}
		with := d
		with.name, with.body = d.name+"/"+name, string(raw)
		all = append(all, with)
	}
	return all
}

func TestDocumentedExamples(t *testing.T) {
	w, ts := newTestEnv(t, func(_ *testEnv, o *api.Options) { o.Issuer = "https://id.example" })
	requests := documentedRequests(t, w)
	if len(requests) < 20 {
		t.Fatalf("found %d documented requests only", len(requests))
	}
	for _, d := range requests {
		t.Run(d.name, func(t *testing.T) {
			w.trusted = d.op.OperationID == "getDiagnostics" || slices.Contains(d.op.Tags, "admin")
			if slices.Contains(d.op.Tags, "admin") {
				d.header = append(slices.Clone(d.header), "Authorization", "Bearer root")
			}
			got, req := send(t, ts.URL, d.method, d.path, d.body, d.header...)
			w.CheckRequest(t, req, []byte(d.body))
			w.CheckResponse(t, req, got.status, got.header, got.body)
			if len(d.op.Responses.Map()) == 2 && d.op.Responses.Value("4XX") != nil && got.status == http.StatusMethodNotAllowed {
				return // the operation promises nothing else
			}
			if got.status >= http.StatusMultipleChoices {
				t.Fatalf("answer %d: %s", got.status, got.body)
			}
			promised := d.op.Responses.Status(got.status).Value.Content
			if slices.Contains(d.op.Tags, "wires") {
				return // they show what the log and the chat have: see the transcripts of the wire
			}
			if promised.Get("text/event-stream") != nil && d.op.OperationID != "mcp" {
				want := documentedStream(w, "tool")
				if d.op.OperationID == "getStream" {
					want = want[strings.Index(want, "id: 7\n"):] // the documented cursor is 6
				}
				if diff := cmp.Diff(want, string(got.body)); diff != "" {
					t.Errorf("the documented stream (-) and the stream (+) differ:\n%s", diff)
				}
			}
			content := promised.Get("application/json")
			if content == nil {
				return
			}
			for _, ex := range content.Examples {
				var body any
				if err := json.Unmarshal(got.body, &body); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(ex.Value.Value, body); diff != "" {
					t.Errorf("the documented answer (-) and the answer (+) differ:\n%s", diff)
				}
			}
		})
	}
}

// TestNullIsAbsent sends every example request with null for each of its optional members,
// and without it: the answers are the same, and so is what the services are asked.
func TestNullIsAbsent(t *testing.T) {
	w, ts := newTestEnv(t, nil)
	members := 0
	for _, d := range documentedRequests(t, w) {
		if d.body == "" || d.op.OperationID == "mcp" || slices.Contains(d.op.Tags, "wires") {
			continue
		}
		var body any
		if err := json.Unmarshal([]byte(d.body), &body); err != nil {
			t.Fatal(err)
		}
		does := func() (answer string) {
			w.calls = nil
			got, _ := send(t, ts.URL, d.method, d.path, string(schemas.Encode(body)), d.header...)
			return fmt.Sprint(got.status, " ", string(got.body), w.calls)
		}
		eachOptional(d.op.RequestBody.Value.Content.Get("application/json").Schema, body, func(in map[string]any, name string) {
			members++
			delete(in, name)
			want := does()
			in[name] = nil
			if diff := cmp.Diff(want, does()); diff != "" {
				t.Errorf("%s: %s is null (-absent +null):\n%s", d.name, name, diff)
			}
		})
	}
	if members < 100 {
		t.Errorf("%d optional members were sent as null, want 100 or more", members)
	}
}

// eachOptional calls do for each optional member of a schema that the value has or may
// have, with the object that it is in. What do changes is undone.
func eachOptional(schema *openapi3.SchemaRef, value any, do func(in map[string]any, name string)) {
	switch value := value.(type) {
	case []any:
		for _, item := range value {
			eachOptional(schema.Value.Items, item, do)
		}
	case map[string]any:
		for name, member := range schema.Value.Properties {
			was, there := value[name]
			if there {
				eachOptional(member, was, do)
			}
			if slices.Contains(schema.Value.Required, name) {
				continue
			}
			do(value, name)
			if delete(value, name); there {
				value[name] = was
			}
		}
	}
}

// TestDocumentedStreams checks the frames of every documented stream as the
// contract has them.
func TestDocumentedStreams(t *testing.T) {
	w, _ := newTestEnv(t, nil)
	for name, ex := range w.Components.Responses["Events"].Value.Content.Get("text/event-stream").Examples {
		body, _ := ex.Value.Value.(string)
		frames := w.CheckFrames(t, []byte(body))
		if len(frames) == 0 {
			t.Errorf("the documented stream %s has no frames", name)
		}
		if name == "tool" {
			apitest.CheckRun(t, frames)
		}
	}
}

// TestDialectMessages checks each frame of the other dialect.
func TestDialectMessages(t *testing.T) {
	for _, stream := range []string{"tool", "failed", "cancelled"} {
		w, ts := newTestEnv(t, func(w *testEnv, _ *api.Options) { w.stream = stream })
		got, req := send(t, ts.URL, "GET", "/api/chat/runs/"+aRun+"/stream?dialect=messages", "")
		w.CheckResponse(t, req, got.status, got.header, got.body)
		frames := w.CheckFrames(t, got.body)
		if n := len(frames); n == 0 || frames[n-1].Type != "stream_end" {
			t.Errorf("%s does not end with stream_end: %s", stream, got.body)
		}
	}
}

// TestEndsOfRuns shows what POST /api/chat answers for each terminal event.
func TestEndsOfRuns(t *testing.T) {
	for _, tt := range []struct {
		stream string
		status int
		code   schemas.Code
		detail string
	}{
		{"failed", 502, schemas.CodeUpstreamUnavailable, "the model's service cannot be reached"},
		{"cancelled", 409, schemas.CodeCancelled, "the run was cancelled"},
	} {
		t.Run(tt.stream, func(t *testing.T) {
			w, ts := newTestEnv(t, func(w *testEnv, _ *api.Options) { w.stream = tt.stream })
			got, req := send(t, ts.URL, "POST", "/api/chat", `{"message":"hi"}`)
			w.CheckResponse(t, req, got.status, got.header, got.body)
			if p := got.problem(t); p.Status != tt.status || p.Code != tt.code || p.Detail != tt.detail || p.RunID != aRun {
				t.Errorf("got %s", got.body)
			}
		})
	}
}

// TestStreamAfterItsEnd shows that a stream that has ended is 204, so that an
// EventSource stops.
func TestStreamAfterItsEnd(t *testing.T) {
	w, ts := newTestEnv(t, nil)
	for _, cursor := range []string{"11", "12", "9999999", "9223372036854775808"} {
		got, req := send(t, ts.URL, "GET", "/api/chat/runs/"+aRun+"/stream?after=1", "", "Last-Event-ID", cursor)
		w.CheckResponse(t, req, got.status, got.header, got.body)
		if got.status != http.StatusNoContent || len(got.body) > 0 {
			t.Errorf("cursor %s gives %d %q, want 204 and nothing", cursor, got.status, got.body)
		}
	}
}

func TestWhatServicesAreAsked(t *testing.T) {
	for _, tt := range []struct{ name, method, path, body, want string }{
		{"run", "GET", "/api/chat/runs/" + aRun, "", "Run alice " + aRun},
		{"cancel with a body nobody wants", "POST", "/api/chat/runs/" + aRun + "/cancel", "{}", "Cancel alice " + aRun},
		{"tool call", "GET", "/api/chat/runs/" + aRun + "/tools/12", "", "ToolCall alice " + aRun + " 12"},
		{
			"first page of chats", "GET", "/api/chats", "",
			fmt.Sprintf("List alice %+v", record.ChatQuery{Limit: 50}),
		},
		{
			"search", "GET", "/api/chats?limit=2&cursor=abc&q=two+words", "",
			fmt.Sprintf("List alice %+v", record.ChatQuery{Limit: 2, Cursor: "abc", Text: "two words"}),
		},
		{
			"messages", "GET", "/api/chats/789?cursor=x&superseded=true", "",
			fmt.Sprintf("Get alice 789 %+v", record.MessageQuery{Limit: 50, Cursor: "x", Superseded: true}),
		},
		{"rename", "PATCH", "/api/chats/789", `{"title":"Über \u00e4"}`, `Patch alice 789 {"title":"Über ä"}`},
		{"pin", "PATCH", "/api/chats/789", `{"pinned":true,"archived":false}`, `Patch alice 789 {"pinned":true,"archived":false}`},
		{"versions", "GET", "/api/chats/789/messages/" + aMessage + "/versions", "", "Versions alice 789 " + aMessage},
		{"go back", "POST", "/api/chats/789/messages/" + aMessage + "/select", "", "SelectVersion alice 789 " + aMessage},
		{"export", "GET", "/api/chats/789/export", "", "Export alice 789 markdown"},
		{
			"archived chats", "GET", "/api/chats?archived=true", "",
			fmt.Sprintf("List alice %+v", record.ChatQuery{Limit: 50, Archived: true}),
		},
		{"delete", "DELETE", "/api/chats/789", "", "Delete alice 789"},
		{"all data", "GET", "/api/me/export", "", "ExportData alice"},
		{"delete all data", "DELETE", "/api/me/data?confirm=12-340-3", "", "DeleteData alice 12-340-3"},
		{"payload", "GET", "/api/chats/789/payloads/abc12345", "", "Payload alice 789 abc12345"},
		{
			"resolve", "POST", "/api/chats/789/payloads/abc12345/resolve", `{"outcome":"rejected"}`,
			"Resolve alice 789 abc12345 rejected",
		},
		{
			"feedback", "POST", "/api/chats/789/messages/" + aMessage + "/feedback", `{"rating":"down","reasons":["sources"],"comment":"no"}`,
			fmt.Sprintf("SetFeedback alice 789 %s %+v", aMessage, schemas.Feedback{Rating: "down", Reasons: []string{"sources"}, Comment: "no"}),
		},
		{
			"take feedback back", "DELETE", "/api/chats/789/messages/" + aMessage + "/feedback", "",
			fmt.Sprintf("SetFeedback alice 789 %s %+v", aMessage, schemas.Feedback{}),
		},
		{"tools", "GET", "/api/tools?page=reports&tab=articles", "", "Tools reports/articles/ alice"},
		{"update", "PUT", "/api/streams/1", `{"schema":{"a":1}}`, `UpdateStream alice 1 {"a":1}`},
		{"reports", "GET", "/api/reports?stream_id=3", "", "Reports 3"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w, ts := newTestEnv(t, nil)
			send(t, ts.URL, tt.method, tt.path, tt.body)
			if diff := cmp.Diff([]string{tt.want}, w.calls); diff != "" {
				t.Errorf("calls differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEmptyListsAreArrays(t *testing.T) {
	_, ts := newTestEnv(t, nil)
	for _, tt := range []struct{ path, want string }{
		{"/api/chats", `{"items":[]}`},
		{"/api/me", `{"user_id":"test|bob","name":"bob","roles":[],"may":{"diagnostics":false,"all_usage":false,"all_streams":false}}`},
	} {
		got, _ := send(t, ts.URL, "GET", tt.path, "", "Authorization", "Bearer bob")
		if strings.TrimSpace(string(got.body)) != tt.want {
			t.Errorf("GET %s gives %s, want %s", tt.path, got.body, tt.want)
		}
	}
}

func TestHeaders(t *testing.T) {
	_, ts := newTestEnv(t, nil)
	for _, tt := range []struct {
		name, path string
		want       map[string]string
	}{
		{"private", "/api/me", map[string]string{"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "X-Request-Id": "test-1"}},
		{"problem", "/api/nothing", map[string]string{"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}},
		{"contract", "/openapi.yaml", map[string]string{"Content-Type": "application/yaml", "X-Content-Type-Options": "nosniff"}},
		{"page", "/", map[string]string{
			"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; " +
				"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
			"Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff",
		}},
		{"file of the page", "/assets/app.js", map[string]string{"X-Content-Type-Options": "nosniff"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, _ := send(t, ts.URL, "GET", tt.path, "")
			for name, want := range tt.want {
				if got.header.Get(name) != want {
					t.Errorf("%s is %q, want %q", name, got.header.Get(name), want)
				}
			}
		})
	}
}

func TestHead(t *testing.T) {
	_, ts := newTestEnv(t, nil)
	got, _ := send(t, ts.URL, "HEAD", "/healthz", "")
	if got.status != http.StatusOK || len(got.body) != 0 {
		t.Errorf("HEAD /healthz gives %d %q, want 200 and nothing", got.status, got.body)
	}
}

func TestRequestIDs(t *testing.T) {
	_, ts := newTestEnv(t, nil)
	for _, tt := range []struct {
		name, sent string
		taken      bool
	}{
		{"sane", "web-42_A", true},
		{"none", "-", false},
		{"too long", strings.Repeat("a", 65), false},
		{"not plain", `a" b`, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, _ := send(t, ts.URL, "GET", "/api/nothing", "", "X-Request-Id", tt.sent)
			id := got.problem(t).RequestID
			if (id == tt.sent) != tt.taken || id == "" {
				t.Errorf("sent %q, got %q", tt.sent, id)
			}
		})
	}
}
