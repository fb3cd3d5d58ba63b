package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// asServer is the variable that makes the test's own program a server.
const asServer = "CHATTRAY_TEST_MCP_SERVER"

// asMangler is the variable with the result that the server's tool mangle returns, unchecked.
const asMangler = "CHATTRAY_TEST_MCP_MANGLER"

func TestMain(m *testing.M) {
	if os.Getenv(asServer) == "" {
		os.Exit(m.Run())
	}
	fmt.Fprintln(os.Stderr, "the server is\x1b[31m up")
	switch os.Getenv(asNoise) {
	case "":
	case "endless":
		for { // until the output is closed
			fmt.Fprint(os.Stdout, `{"jsonrpc":"2.0","a":"`, strings.Repeat("x", 1<<20))
		}
	default:
		makeNoise()
	}
	if err := newServer().Run(context.Background(), &sdk.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, "server:", err)
		os.Exit(1)
	}
}

const anyObject = `{"type":"object"}`

// newServer returns a server written with the SDK, whose tools do what a server
// may do.
func newServer() *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	var cancelled atomic.Int64
	add := func(name string, answer func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error)) {
		s.AddTool(&sdk.Tool{Name: name, Description: "Does " + name + ".", InputSchema: json.RawMessage(anyObject)}, answer)
	}
	textResult := func(text string) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}, nil
	}
	s.AddTool(&sdk.Tool{
		Name: "greet", Description: "Greets.", Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true},
		InputSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`),
	}, func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return textResult("Hello " + argument(r, "name"))
	})
	for name, hints := range map[string]*sdk.ToolAnnotations{
		"erase": {DestructiveHint: new(true)}, "erase_not": {DestructiveHint: new(true), ReadOnlyHint: true}, "store": {DestructiveHint: new(false), IdempotentHint: true, OpenWorldHint: new(false)},
	} {
		s.AddTool(&sdk.Tool{Name: name, InputSchema: json.RawMessage(anyObject), Annotations: hints},
			func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) { return textResult("done") })
	}
	add("steps", func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		for i := range 3 {
			if err := r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{
				ProgressToken: r.Params.GetProgressToken(), Message: fmt.Sprint("step ", i), Progress: float64(i), Total: 4,
			}); err != nil {
				return nil, err
			}
		}
		return textResult("stepped")
	})
	add("table", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{StructuredContent: map[string]any{"rows": []int{1, 2}}}, nil
	})
	add("picture", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{
			&sdk.TextContent{Text: "Look:"},
			&sdk.ImageContent{MIMEType: "image/png", Data: []byte("png")},
			&sdk.ResourceLink{URI: "file:///a", Name: "a", Description: "first"},
			&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "demo://b", MIMEType: "text/plain", Text: "inside b"}},
		}}, nil
	})
	add("fail", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: "no luck"}}, StructuredContent: map[string]any{}}, nil
	})
	add("refuse", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return nil, fmt.Errorf("not\x00 today")
	})
	add("slow", func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		_ = r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Message: "begun"})
		<-ctx.Done()
		cancelled.Add(1)
		return nil, ctx.Err()
	})
	add("cancelled", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return textResult(strconv.FormatInt(cancelled.Load(), 10))
	})
	add("huge", func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		n, err := strconv.Atoi(argument(r, "size"))
		if err != nil {
			return nil, err
		}
		return textResult(strings.Repeat("é", n/2))
	})
	add("environment", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return textResult(strings.Join(os.Environ(), " "))
	})
	add("child", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		child := exec.Command("/bin/sleep", "1000")
		if err := child.Start(); err != nil {
			return nil, err
		}
		return textResult(fmt.Sprint(os.Getpid(), " ", child.Process.Pid))
	})
	if os.Getenv(asNoise) != "" {
		add("print", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			makeNoise()
			return textResult("printed")
		})
		add("break", func(ctx context.Context, _ *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			fmt.Fprintln(os.Stdout, `{"jsonrpc":"2.0","id":[],"result":{}}`)
			<-ctx.Done()
			return nil, ctx.Err()
		})
	}
	if result := os.Getenv(asMangler); result != "" {
		add("mangle", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			for id := range 100 { // one is the call's
				fmt.Fprintf(os.Stdout, `{"jsonrpc":"2.0","id":%d,"result":%s}`+"\n", id, result)
			}
			return textResult("mangled")
		})
	}
	add("die", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		os.Exit(3)
		return nil, nil
	})
	add("describe", func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		s.AddTool(&sdk.Tool{
			Name: argument(r, "tool"), Description: argument(r, "description"), InputSchema: json.RawMessage(argument(r, "schema")),
		}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return textResult("described")
		})
		return textResult("done")
	})
	add("remove", func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		s.RemoveTools(argument(r, "tool"))
		return textResult("done")
	})
	return s
}

func argument(r *sdk.CallToolRequest, name string) string {
	var args map[string]any
	if err := json.Unmarshal(r.Params.Arguments, &args); err != nil {
		return err.Error()
	}
	text, _ := args[name].(string)
	return text
}
