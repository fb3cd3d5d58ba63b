package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chattray/chattray/tools/mcp"
	"github.com/chattray/chattray/tools/mcp/result"
)

// offering is a server with tools of any kind, over HTTP.
func offering(t *testing.T, list ...*sdk.Tool) mcp.Server {
	t.Helper()
	r := serveRemote(t, nil)
	server := sdk.NewServer(&sdk.Implementation{Name: "hostile", Version: "1"}, &sdk.ServerOptions{PageSize: 50})
	for _, tool := range list {
		server.AddTool(tool, func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "called " + r.Params.Name}}}, nil
		})
	}
	r.handler = sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil)
	return r.named("srv")
}

func foreign(name, description, schema string) *sdk.Tool {
	return &sdk.Tool{Name: name, Description: description, InputSchema: json.RawMessage(schema)}
}

func TestHostileNames(t *testing.T) {
	names := []string{
		"plain", "a.b", "a b", "a/b", "größe", "__proto__", "*", strings.Repeat("n", 59), strings.Repeat("n", 60), strings.Repeat("n", 128),
		strings.Repeat("n", 129), "line\nbreak", "hid\u202eden",
	}
	var list []*sdk.Tool
	for _, name := range names {
		list = append(list, foreign(name, "x", anyObject))
	}
	w := newTestEnv(t, nil, offering(t, list...))
	legal := regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	called := map[string]string{}
	for _, name := range w.registry.Names() {
		if !legal.MatchString(name) {
			t.Errorf("%q is not a valid function name", name)
		}
		called[strings.TrimPrefix(w.text(name, ""), "called ")] = name
	}
	for _, name := range names[:10] {
		if called[name] == "" {
			t.Errorf("%q is not offered", name)
		}
	}
	if len(called) != 10 {
		t.Errorf("%d tools are offered, want 10: %v", len(called), called)
	}
	for original, want := range map[string]string{
		"plain": "srv__plain", "a.b": "srv__a_b_2e7336dc", "a b": "srv__a_b_c8687a08", "__proto__": "srv____proto__", "*": "srv____684888c0",
		strings.Repeat("n", 59): "srv__" + strings.Repeat("n", 59),
	} {
		if called[original] != want {
			t.Errorf("%q is named %q, want %q", original, called[original], want)
		}
	}
}

func TestNamesThatCollide(t *testing.T) {
	// The first tool is offered under the second one's name.
	w := newTestEnv(t, nil, offering(t, foreign("a.b", "dotted", anyObject), foreign("a_b_2e7336dc", "plain", anyObject)))
	if got := w.names(); got != "srv__a_b_2e7336dc" {
		t.Fatalf("the tools are %s", got)
	}
	if got := w.tool("srv__a_b_2e7336dc").Description; got != "dotted" {
		t.Errorf("the tool of that name is %q", got)
	}
	w.await("is left out", "another tool has the name")
	if got := w.clients.State()[0].Tools; !slices.Equal(got, []string{"a.b"}) {
		t.Errorf("operators read of the tools %q, want only the one that is offered", got)
	}
}

func TestHostileDescriptions(t *testing.T) {
	w := newTestEnv(t, nil, offering(t,
		foreign("long", strings.Repeat("ä", 5000), anyObject),
		foreign("control", "one\x1b[2J\u200btwo\u202e\nthree\x00", anyObject),
		foreign("none", " \t ", anyObject)))
	for name, want := range map[string]string{
		"long": strings.Repeat("ä", mcp.MaxDescription), "control": "one[2Jtwo\nthree", "none": "The tool none of the server srv.",
	} {
		if got := w.tool("srv__" + name).Description; got != want {
			t.Errorf("%s is described as %q, want %q", name, got, want)
		}
	}
}

// The server checks the arguments of its tools: a schema within the limits is
// sent to the model unchanged and never run, whatever it contains.
func TestHostileSchemas(t *testing.T) {
	alternatives := strings.TrimSuffix(strings.Repeat(`{"type":"string"},`, 700), ",")
	doubling := `{"type":"object","$ref":"#/$defs/a0","$defs":{`
	for i := range 45 {
		doubling += fmt.Sprintf(`"a%d":{"allOf":[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/a%d"}]},`, i, i+1, i+1)
	}
	doubling += `"a45":{}}}`
	w := newTestEnv(t, nil, offering(t,
		foreign("big", "x", `{"type":"object","description":"`+strings.Repeat("x", mcp.MaxSchema)+`"}`),
		foreign("deep", "x", `{"type":"object","not":`+strings.Repeat(`{"not":`, 100)+"{}"+strings.Repeat("}", 101)),
		foreign("many", "x", `{"type":"object","enum":[`+strings.Repeat("1,", 12_000)+`1]}`),
		foreign("wrong", "x", `{"type":"object","properties":{"a":{"minimum":"low"}}}`),
		foreign("elsewhere", "x", `{"type":"object","properties":{"a":{"$ref":"http://127.0.0.1:1/schema"}}}`),
		foreign("itself", "x", `{"type":"object","$ref":"#"}`),
		foreign("circle", "x", `{"type":"object","allOf":[{"$ref":"#"}]}`),
		foreign("dynamic", "x", `{"type":"object","$dynamicAnchor":"d","allOf":[{"$dynamicRef":"#d"}]}`),
		foreign("doubling", "x", doubling),
		foreign("alternatives", "x", `{"type":"object","properties":{"a":{"items":{"anyOf":[`+alternatives+`]}}}}`),
		foreign("pattern", "x", `{"type":"object","properties":{"a":{"type":"string","pattern":"(?=x)"}}}`),
		foreign("old", "x", `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"a":{"type":"string"}}}`),
	))
	if got, want := w.names(), "srv__alternatives srv__circle srv__doubling srv__dynamic srv__itself srv__old srv__pattern"; got != want {
		t.Errorf("the tools are %s, want %s", got, want)
	}
	numbers := `{"a":[` + strings.TrimSuffix(strings.Repeat("1,", 10_000), ",") + `]}`
	for name := range strings.FieldsSeq(w.names()) {
		check := w.tool(name).Check
		if err := check(json.RawMessage(numbers)); err != nil {
			t.Errorf("%s refuses an object: %.100v", name, err)
		}
		if err := check(json.RawMessage(`[1]`)); err == nil {
			t.Errorf("%s accepts arguments that are not an object", name)
		}
	}
}

func TestResultsThatAreTooLarge(t *testing.T) {
	var content []sdk.Content
	add := func(n int, c sdk.Content) {
		for range n {
			content = append(content, c)
		}
	}
	add(1, &sdk.ImageContent{MIMEType: "image/png", Data: make([]byte, 600<<10)})
	add(3, &sdk.ImageContent{MIMEType: "IMAGE/PNG", Data: make([]byte, 400<<10)})
	add(1, &sdk.ImageContent{MIMEType: "text/html", Data: []byte("<script>")})
	add(25, &sdk.ImageContent{MIMEType: "image/gif", Data: []byte("gif")})
	add(60, &sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "x:" + strings.Repeat("u", 3000), Text: strings.Repeat("ä", 40<<10)}})
	add(1, &sdk.AudioContent{MIMEType: "audio/wav", Data: []byte("wav")})
	r := serveRemote(t, nil)
	server := sdk.NewServer(&sdk.Implementation{Name: "large", Version: "1"}, nil)
	server.AddTool(foreign("flood", "x", anyObject), func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: content, StructuredContent: map[string]any{"a": strings.Repeat("s", 600<<10)}}, nil
	})
	r.handler = sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil)
	w := newTestEnv(t, nil, r.named("srv"))
	got, err := w.call("srv__flood", "{}")
	if err != nil || got.Payload == nil || len(got.Text) > result.MaxText {
		t.Fatalf("got %d bytes, payload %t, %v", len(got.Text), got.Payload != nil, err)
	}
	var data struct {
		Structured json.RawMessage
		Images     []struct{ MIME, Data string }
		Resources  []struct{ URI, Text string }
	}
	if err := json.Unmarshal(got.Payload.Data, &data); err != nil {
		t.Fatal(err)
	}
	texts := 0
	for _, r := range data.Resources {
		texts += len(r.Text)
	}
	if len(data.Structured) > 0 || len(data.Images) != 20 || len(data.Resources) != 50 || texts > 256<<10 || len(data.Resources[0].URI) != 2000 {
		t.Errorf("structured %d bytes, %d images, %d resources, texts of %d bytes", len(data.Structured), len(data.Images), len(data.Resources), texts)
	}
	for _, want := range []string{"of type image/png and 614400 bytes was left out", "an image of an unknown type", "[the rest of the result is left out"} {
		if !strings.Contains(got.Text, want) {
			t.Errorf("the text does not say %q", want)
		}
	}
	if len(got.Payload.Data) > 3<<20 {
		t.Errorf("the payload has %d bytes", len(got.Payload.Data))
	}
}

func TestManyTools(t *testing.T) {
	list := make([]*sdk.Tool, 1200)
	for i := range list {
		list[i] = foreign(fmt.Sprintf("t%04d", i), "x", anyObject)
	}
	w := newTestEnv(t, nil, offering(t, list...))
	if got := w.registry.Names(); len(got) != mcp.MaxTools || !slices.IsSorted(got) || got[0] != "srv__t0000" {
		t.Errorf("%d tools: %v", len(got), got)
	}
	w.await("lists too many tools")
	w.await("has too many tools")
}

// A server whose list has no end is not connected, as one that is down: it is read up to a limit, then there is a wait.
func TestListWithoutEnd(t *testing.T) {
	r := serveRemote(t, nil)
	server := sdk.NewServer(&sdk.Implementation{Name: "endless", Version: "1"}, nil)
	server.AddTool(foreign("first", "x", anyObject), nil)
	var pages atomic.Int64
	server.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
			if method != "tools/list" {
				return next(ctx, method, r)
			}
			return &sdk.ListToolsResult{Tools: []*sdk.Tool{}, NextCursor: strconv.FormatInt(pages.Add(1), 10)}, nil
		}
	})
	r.handler = sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil)
	w := newTestEnv(t, func(o *mcp.Options) { o.FirstDelay, o.LastDelay = time.Hour, time.Hour }, r.named("srv"))
	w.await("MCP server is not connected", "list tools: after 100 pages the list has not ended", "retry_in")
	if got := pages.Load(); got != mcp.MaxPages {
		t.Errorf("%d pages were read, want %d", got, mcp.MaxPages)
	}
	if got := w.clients.State()[0]; got.Connected || got.Error != "list tools: after 100 pages the list has not ended" {
		t.Errorf("the state is %+v", got)
	}
}

func TestInvalidServers(t *testing.T) {
	w := newTestEnv(t, nil)
	for _, s := range []mcp.Server{
		{Name: "Bad", Command: "x"}, {Name: "neither"}, {Name: "both", Command: "x", URL: "http://h"}, {Name: "unreserved", Command: "x"},
	} {
		if _, err := mcp.New(mcp.Options{Servers: []mcp.Server{s}, Registry: w, Pins: w.memory}); err == nil {
			t.Errorf("%+v was accepted", s)
		}
	}
}
