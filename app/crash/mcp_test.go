package crash

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chattray/chattray/app/apptest"
)

// brokenOff is an MCP server whose tools hang when they are called for the first
// time. Its hints are all that a client knows about each tool.
type brokenOff struct {
	url   string
	calls map[string]*atomic.Int64 // by tool
}

func serveBrokenOff(t *testing.T) *brokenOff {
	t.Helper()
	b := &brokenOff{calls: map[string]*atomic.Int64{}}
	server := sdk.NewServer(&sdk.Implementation{Name: "broken", Version: "1"}, nil)
	for name, hints := range map[string]*sdk.ToolAnnotations{
		"read": {ReadOnlyHint: true}, "put": {IdempotentHint: true}, "add": {DestructiveHint: new(false)}, "plain": nil,
	} {
		calls := new(atomic.Int64)
		b.calls[name] = calls
		server.AddTool(&sdk.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`), Annotations: hints},
			func(ctx context.Context, _ *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				if calls.Add(1) == 1 {
					<-ctx.Done()
					return nil, ctx.Err()
				}
				return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: name + " is done"}}}, nil
			})
	}
	listener := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{
		Stateless: true, PropagateRequestCancellation: true,
	}))
	t.Cleanup(listener.Close)
	t.Cleanup(listener.CloseClientConnections)
	b.url = listener.URL
	return b
}

// A call of an MCP server's tool that was under way when the program was killed
// is made again only if a server that is trusted says that this does no harm;
// otherwise the model is told that the outcome is not known.
func TestKilledWhileAnMCPToolRuns(t *testing.T) {
	t.Parallel()
	t.Run("hints trusted", func(t *testing.T) {
		t.Parallel()
		killMCPTools(t, true, map[string]bool{"read": true, "put": true, "add": false, "plain": false})
	})
	t.Run("hints not trusted", func(t *testing.T) {
		t.Parallel()
		killMCPTools(t, false, map[string]bool{"read": false, "put": false, "add": false, "plain": false})
	})
}

// killMCPTools kills the program while each of the tools runs, and checks which
// are called again.
func killMCPTools(t *testing.T, trust bool, repeated map[string]bool) {
	t.Helper()
	foreign := serveBrokenOff(t)
	system := apptest.NewSystem(t, apptest.SQLite.Fresh(t))
	system.Settings = append(system.Settings, "MCP_SERVERS="+apptest.JSON([]any{map[string]any{"name": "srv", "url": foreign.url, "global": true, "confirm": false, "trust_hints": trust}}))
	system.Start()
	runs := map[string]*waitingRun{}
	for tool := range foreign.calls {
		r := &waitingRun{system: system, question: "question " + tool, key: tool}
		system.Script(r.question, []apptest.Turn{{Text: "I call.", Calls: []apptest.ToolCall{{Tool: "srv__" + tool, Key: tool}}}, {Text: "That is all."}}, nil)
		resp := system.Send(t, http.MethodPost, "/api/chat/stream", map[string]any{"message": r.question})
		r.id = resp.Header.Get("X-Run-Id")
		_ = resp.Body.Close()
		runs[tool] = r
	}
	for tool, calls := range foreign.calls {
		apptest.Eventually(t, tool+" is called", func() bool { return calls.Load() == 1 })
	}
	system.Restart()
	for tool, again := range repeated {
		told, calls := runs[tool].end(), foreign.calls[tool].Load()
		switch {
		case again && (calls != 2 || told != tool+" is done"):
			t.Errorf("%s was called %d times, and the model was told %q; want a second call", tool, calls, told)
		case !again && (calls != 1 || !strings.Contains(told, "not known whether it took effect")):
			t.Errorf("%s was called %d times, and the model was told %q; want no second call", tool, calls, told)
		}
	}
}
