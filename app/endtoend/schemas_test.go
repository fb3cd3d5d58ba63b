package endtoend

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chattray/chattray/agents/modeltest/upstream"
	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/payloads"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/services/pages"
	"github.com/chattray/chattray/services/prompt"
	"github.com/chattray/chattray/tools"
)

// hostileSchema is a schema that must not be run. Page is part of the error for
// a page file with the schema; client is the place at which a client tool with
// it is refused. "" means that the schema is accepted, and never run.
type hostileSchema struct{ name, schema, page, client string }

// repeated is n times each, with commas between.
func repeated(n int, each string) string { return strings.TrimSuffix(strings.Repeat(each+",", n), ",") }

// wrapped is inner inside n times open.
func wrapped(n int, open, inner, end string) string {
	return strings.Repeat(open, n) + inner + strings.Repeat(end, n)
}

func hostileSchemas() []hostileSchema {
	doubling := func(keyword string) string {
		defs := `"a45":{}`
		for i := range 45 {
			defs += fmt.Sprintf(`,"a%d":{%q:[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/a%d"}]}`, i, keyword, i+1, i+1)
		}
		return `{"type":"object","$ref":"#/$defs/a0","$defs":{` + defs + `}}`
	}
	return []hostileSchema{
		{"itself", `{"type":"object","$ref":"#"}`, "refers to itself", ""},
		{"itself in a property's place", `{"type":"object","properties":{"a":{"$ref":"#/properties/a"}}}`, "refers to itself", ""},
		{"itself in allOf", `{"type":"object","allOf":[{"$ref":"#"}]}`, "refers to itself", ""},
		{"itself in if", `{"type":"object","if":{"$ref":"#"}}`, "refers to itself", ""},
		{"itself by a dependency", `{"type":"object","dependentSchemas":{"a":{"$ref":"#"}}}`, "refers to itself", ""},
		{"dynamic", `{"type":"object","$dynamicAnchor":"d","allOf":[{"$dynamicRef":"#d"}]}`, "$dynamicRef", ""},
		{"recursive", `{"type":"object","$recursiveAnchor":true,"allOf":[{"$recursiveRef":"#"}]}`, "$recursiveRef", ""},
		{"doubling in allOf", doubling("allOf"), "multiply", ""},
		{"doubling in anyOf", doubling("anyOf"), "multiply", ""},
		{"doubling in oneOf", doubling("oneOf"), "multiply", ""},
		{"deep", `{"type":"object","not":` + wrapped(100, `{"not":`, "{}", "}") + `}`, "deep", strings.Repeat("/not", 64)},
		{"a bomb", `{"type":"object","enum":` + wrapped(9_000, "[", "", "]") + `}`, "deep", "/enum" + strings.Repeat("/0", 63)},
		{"many values", `{"type":"object","enum":[` + repeated(12_000, "1") + `]}`, "values", "/enum/999"},
		{"a name twice", `{"type":"object","properties":{"a":{},"a":{}}}`, "twice", "/properties/a"},
		{"elsewhere", `{"type":"object","properties":{"a":{"$ref":"http://127.0.0.1:1/x"}}}`, "outside", "/properties/a/$ref"},
		{"a heavy pattern", `{"type":"object","properties":{"a":{"pattern":"((ab|bc|cd|[xyz]e){0,30}){0,30}"}}}`, "regular expression", ""},
	}
}

// No schema of a request is run. It is refused with its place, or it is sent to
// the model and the page runs the call.
func TestHostileClientTools(t *testing.T) {
	t.Parallel()
	p := apptest.StartProcess(t, "DATABASE_URL="+apptest.SQLite.Fresh(t), "REQUESTS_PER_MINUTE=0", "MAX_RUNS_PER_USER=0")
	ask := func(t *testing.T, message, schema string) *http.Response {
		t.Helper()
		body := map[string]any{"message": message, "client_tools": []any{map[string]any{
			"name": "pick", "description": "d", "input_schema": json.RawMessage(schema),
		}}}
		req, err := apptest.NewRequest(t.Context(), http.MethodPost, p.URL+"/api/chat/stream", body)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = resp.Body.Close() })
		return resp
	}
	called := func(t *testing.T, resp *http.Response) {
		t.Helper()
		for r := apptest.NewStreamReader(resp.Body); ; {
			f, err := r.Next()
			if err != nil {
				t.Fatalf("reading the stream: %v, want a client_tool_call", err)
			}
			if f.Event.Type == schemas.TypeClientToolCall {
				return
			}
			if f.Event.Terminal() {
				t.Fatalf("the run ends with %s, want a client_tool_call before", f.Data)
			}
		}
	}
	for _, tt := range hostileSchemas() {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			resp := ask(t, "call pick {}", tt.schema)
			if tt.client == "" {
				called(t, resp)
				return
			}
			body, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			var problem schemas.Problem
			if err := json.Unmarshal(body, &problem); err != nil || len(problem.Errors) != 1 {
				t.Fatalf("the answer is %s, want a problem with one error", body)
			}
			if got, want := problem.Errors[0].Pointer, "/client_tools/0/input_schema"+tt.client; resp.StatusCode/100 != 4 || !strings.HasPrefix(got, want) {
				t.Errorf("got %d at %s, want a refusal at %s", resp.StatusCode, got, want)
			}
		})
	}
	t.Run("alternatives times items", func(t *testing.T) {
		schema := `{"type":"object","properties":{"a":{"items":{"anyOf":[` + repeated(700, `{"type":"string"}`) + `,{"type":"number"}]}}}}`
		called(t, ask(t, `call pick {"a": [`+repeated(300, "1")+`]}`, schema))
	})
}

// What the operator writes is refused at the start, with file and line.
func TestHostilePageFiles(t *testing.T) {
	t.Parallel()
	registry, err := tools.NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	types, err := payloads.NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	parts := pages.Parts{
		Tools: registry, Payloads: types, ContextBuilders: prompt.ContextBuilders(), MakePayloadType: payloads.NewType,
		MakeHTTPTool: func(def turn.HTTPTool) (turn.Tool, error) { return tools.NewHTTP(def, nil) },
	}
	for kind, text := range map[string]string{
		"tool": "http_tools:\n  - name: odd\n    description: d\n    url: http://127.0.0.1:1/\n    input_schema: %s\n",
		"type": "payload_types:\n  - name: odd\n    source: tool\n    description: d\n    schema: %s\n",
	} {
		for _, tt := range hostileSchemas() {
			t.Run(kind+" "+tt.name, func(t *testing.T) {
				dir := t.TempDir()
				if err := os.WriteFile(filepath.Join(dir, "odd.yaml"), fmt.Appendf(nil, text, tt.schema), 0o600); err != nil {
					t.Fatal(err)
				}
				_, err := pages.Load(pages.Sources{Dir: dir}, parts)
				if err == nil || !strings.Contains(err.Error(), tt.page) || !strings.Contains(err.Error(), "odd.yaml:") {
					t.Errorf("got %.300v, want %q with the place", err, tt.page)
				}
			})
		}
	}
}

// TestDeepArguments has a model that nests the arguments of a call as deep as a JSON reader
// allows. All that is stored of the call can be read.
func TestDeepArguments(t *testing.T) {
	t.Parallel()
	up := newServers(t)
	s, stop := serveWith(t, filepath.Join(t.TempDir(), "c.db"), up.settings(""))
	defer stop()
	for _, depth := range []int{31, 900, 9_990, 9_999} {
		up.large.Push(
			upstream.Stream(upstream.Call(0, "a", "fetch_webpage", `{"url":`+wrapped(depth-1, "[", "", "]")+`}`), upstream.Finish("tool_calls")),
			upstream.Text("It is too deep."),
		)
		answer := s.ask("root", `{"message":"look"}`)
		chat, run := fmt.Sprintf("/api/chats/%d", answer.ConversationID), "/api/chat/runs/"+answer.RunID
		for _, path := range []string{
			chat, chat + "/export?format=json", run + "/tools/0", run + "/diagnostics", run + "/stream", "/api/me/export",
			"/api/admin/runs/" + answer.RunID + "/timeline", "/api/admin/runs/" + answer.RunID + "/events",
		} {
			if got := s.send("root", "GET", path, ""); got.Status != http.StatusOK {
				t.Errorf("%d deep, GET %s: %d %.200s, want 200", depth, path, got.Status, got.Body)
			}
		}
	}
}

// TestDeepInputOfAnApproval approves a call of an MCP server, whose arguments the service
// does not check, with an input that is nested too deep, and then with one that is not.
func TestDeepInputOfAnApproval(t *testing.T) {
	t.Parallel()
	settings := fmt.Sprintf(`
openai: {base_url: %s, api_key: k}
mcp_servers: [{name: scales, url: %s, pages: [reports]}]
`, calling(t, "scales__weigh", `{"what":"a pill"}`).URL(), serveForeign(t, "Weighs things.").url)
	s, stop := serveWith(t, filepath.Join(t.TempDir(), "c.db"), settings)
	defer stop()
	resp := s.Open(http.MethodPost, "/api/chat/stream", map[string]any{"message": "Weigh it.", "context": map[string]any{"current_page": "reports"}})
	defer resp.Body.Close()
	run, asked := resp.Header.Get("X-Run-Id"), false
	for r := apptest.NewStreamReader(resp.Body); ; {
		f, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if f.Event.Terminal() {
			break
		}
		if f.Event.Type != schemas.TypeApprovalRequest {
			continue
		}
		asked = true
		var request schemas.ApprovalRequestEvent
		if err := json.Unmarshal([]byte(f.Data), &request); err != nil {
			t.Fatal(err)
		}
		path := "/api/chat/runs/" + run + "/approvals/" + request.ApprovalID
		deep := s.send("ann", "POST", path, `{"approved":true,"input":{"what":`+wrapped(9_990, "[", "", "]")+`}}`)
		if deep.Status != http.StatusUnprocessableEntity || !strings.Contains(deep.Body, "nested more than 31 deep") {
			t.Errorf("a deep input gets %d %.300s, want 422", deep.Status, deep.Body)
		}
		fetch[schemas.Run](s, "ann", "POST", path, `{"approved":true,"input":{"what":"a stone"}}`)
	}
	if got := s.send("ann", "GET", "/api/chat/runs/"+run+"/tools/0", ""); !asked || !strings.Contains(got.Body, "a stone") {
		t.Errorf("the call is %s, want the one that was approved", got.Body)
	}
}
