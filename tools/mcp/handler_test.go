package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/tools"
	"github.com/chattray/chattray/tools/mcp"
)

type question struct {
	Q string `json:"q,omitempty" jsonschema:"the question"`
}

// asked is the input of the served tools.
type asked struct {
	mu    sync.Mutex
	users []string
	ended chan struct{}
}

// served has the tools that the handler's tests call.
func served(t *testing.T) (*tools.Registry, *asked) {
	t.Helper()
	a := &asked{ended: make(chan struct{}, 1)}
	type result = tools.Result
	fn := func(do func(context.Context, *tools.Call, question) (result, error)) func(context.Context, *tools.Call, question) (result, error) {
		return func(ctx context.Context, call *tools.Call, in question) (result, error) {
			a.mu.Lock()
			a.users = append(a.users, call.User.ID)
			a.mu.Unlock()
			return do(ctx, call, in)
		}
	}
	echo := fn(func(_ context.Context, call *tools.Call, in question) (result, error) {
		call.Progress("one", "first", 0.5, nil)
		call.Progress("two", "second", 0.5, nil)
		return tools.WithPayload("You said "+in.Q, "webpage_content", map[string]any{"said": in.Q})
	})
	wait := fn(func(ctx context.Context, call *tools.Call, _ question) (result, error) {
		call.Progress("", "waiting", 0, nil)
		<-ctx.Done()
		a.ended <- struct{}{}
		return result{}, ctx.Err()
	})
	r, err := tools.NewRegistry(
		tools.New("echo", "Echoes.", echo, tools.Global(), tools.Idempotent()),
		tools.New("wait", "Waits.", wait, tools.Global()),
		tools.New("late", "Waits a little.", wait, tools.Global(), tools.Timeout(20*time.Millisecond)),
		tools.New("panic", "Panics.", fn(func(context.Context, *tools.Call, question) (result, error) { panic("oh") }), tools.Global()),
		tools.New("secret", "Fails.", fn(func(context.Context, *tools.Call, question) (result, error) {
			return result{}, errors.New("the key is hunter2")
		}), tools.Global()),
		tools.New("known", "Fails.", fn(func(context.Context, *tools.Call, question) (result, error) {
			return result{}, schemas.NewError(schemas.CodeNotFound, "there is none").Because(errors.New("hunter2"))
		}), tools.Global()),
		tools.New("mangled", "Has a payload that is not JSON.", fn(func(context.Context, *tools.Call, question) (result, error) {
			made, err := tools.WithPayload("It is mangled", "webpage_content", map[string]any{})
			made.Payload.Data = json.RawMessage("{bad")
			return made, err
		}), tools.Global()),
		tools.New("boss", "For some.", echo, tools.Global(), tools.Roles("admin")),
		tools.New("page", "On pages.", echo),
		tools.New("ask", "Asks first.", echo, tools.Global(), tools.Confirm()),
		tools.New("change", "Changes something.", echo, tools.Global(), tools.Effects()),
		tools.New("chat", "In chats.", echo, tools.Global(), tools.InChat()),
	)
	if err != nil {
		t.Fatal(err)
	}
	return r, a
}

// visit connects the SDK's client to a handler, as a user.
func visit(t *testing.T, h http.Handler, version string, o *sdk.ClientOptions) *sdk.ClientSession {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	session, err := sdk.NewClient(&sdk.Implementation{Name: "visitor", Version: "1"}, o).Connect(t.Context(),
		&sdk.StreamableClientTransport{Endpoint: server.URL}, &sdk.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session
}

// protocols are an older version and the newest.
var protocols = map[string]string{"2025-11-25": "2025-11-25", "newest": ""}

func TestHandlerLists(t *testing.T) {
	registry, _ := served(t)
	h := mcp.NewHandler(mcp.HandlerOptions{Tools: registry, Version: "1"})
	for name, version := range protocols {
		for role, want := range map[string]string{"user": "echo known late mangled panic secret wait", "admin": "boss echo known late mangled panic secret wait"} {
			t.Run(name+" "+role, func(t *testing.T) {
				session := visit(t, h.For(schemas.User{ID: "u", Roles: []string{role}}), version, nil)
				list, err := session.ListTools(t.Context(), nil)
				if err != nil {
					t.Fatal(err)
				}
				var names []string
				for _, tool := range list.Tools {
					names = append(names, tool.Name)
				}
				if got := strings.Join(names, " "); got != want {
					t.Errorf("got %s, want %s", got, want)
				}
				schema, _ := list.Tools[len(list.Tools)-1].InputSchema.(map[string]any)
				if d := cmp.Diff(map[string]any{"type": "string", "description": "the question"}, schema["properties"].(map[string]any)["q"]); d != "" {
					t.Errorf("schema (-want +got):\n%s", d)
				}
				if _, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "page"}); err == nil {
					t.Error("a tool that is not offered was called, want it refused")
				}
			})
		}
	}
}

func TestHandlerCalls(t *testing.T) {
	tests := []struct {
		tool    string
		args    any
		want    string
		isError bool
	}{
		{"echo", map[string]any{"q": "hi"}, "You said hi", false},
		{"echo", nil, "You said ", false},
		{"echo", map[string]any{"q": 5}, "the tool was not run: its arguments do not fit its schema", true},
		{"echo", json.RawMessage(`{"q":"hi","q":"ho"}`), `the tool was not run: its arguments give the field "q" more than once`, true},
		{"late", nil, "the tool did not finish in time", true},
		{"panic", nil, "the tool failed unexpectedly", true},
		{"secret", nil, "the tool failed; the reason has been logged", true},
		{"known", nil, "there is none", true},
		{"mangled", nil, "It is mangled", false},
	}
	for name, version := range protocols {
		t.Run(name, func(t *testing.T) {
			registry, a := served(t)
			h := mcp.NewHandler(mcp.HandlerOptions{Tools: registry, Logger: slog.New(slog.DiscardHandler)})
			session := visit(t, h.For(schemas.User{ID: "una"}), version, nil)
			for _, tt := range tests {
				got, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: tt.tool, Arguments: tt.args})
				if err != nil {
					t.Errorf("%s: %v", tt.tool, err)
					continue
				}
				text := got.Content[0].(*sdk.TextContent).Text
				if !strings.HasPrefix(text, tt.want) || got.IsError != tt.isError || strings.Contains(text, "hunter2") {
					t.Errorf("%s: got %q, error %t; want %q", tt.tool, text, got.IsError, tt.want)
				}
				if tt.want == "You said hi" {
					if d := cmp.Diff(map[string]any{"said": "hi"}, got.StructuredContent); d != "" {
						t.Errorf("structured content (-want +got):\n%s", d)
					}
				}
			}
			a.mu.Lock()
			defer a.mu.Unlock()
			for _, user := range a.users {
				if user != "una" {
					t.Errorf("a tool was called by %q", user)
				}
			}
		})
	}
}

func TestHandlerProgressAndCancel(t *testing.T) {
	for name, version := range protocols {
		t.Run(name, func(t *testing.T) {
			registry, a := served(t)
			h := mcp.NewHandler(mcp.HandlerOptions{Tools: registry})
			steps := make(chan *sdk.ProgressNotificationParams, 10)
			session := visit(t, h.For(schemas.User{}), version, &sdk.ClientOptions{
				ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) { steps <- r.Params },
			})
			params := &sdk.CallToolParams{Name: "echo"}
			params.SetProgressToken("p")
			if _, err := session.CallTool(t.Context(), params); err != nil {
				t.Fatal(err)
			}
			first, second := <-steps, <-steps
			if first.Message != "first" || second.Message != "second" || first.Progress != 0.5 || second.Progress <= first.Progress || second.Total != 1 {
				t.Errorf("got %+v and %+v", first, second)
			}

			ctx, cancel := context.WithCancel(t.Context())
			params = &sdk.CallToolParams{Name: "wait"}
			params.SetProgressToken("w")
			go func() {
				<-steps
				cancel()
			}()
			if _, err := session.CallTool(ctx, params); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
			select {
			case <-a.ended:
			case <-time.After(patience):
				t.Error("the tool still runs after its caller has disconnected, want it cancelled")
			}
		})
	}
}

func TestHandlerRefuses(t *testing.T) {
	registry, _ := served(t)
	server := httptest.NewServer(mcp.NewHandler(mcp.HandlerOptions{Tools: registry, Body: 1000}).For(schemas.User{}))
	t.Cleanup(server.Close)
	list := `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	tests := []struct {
		name, method, host, body string
		want                     int
	}{
		{"a list", http.MethodPost, "", list, http.StatusOK},
		{"a stream of its own", http.MethodGet, "", "", http.StatusMethodNotAllowed},
		{"a large body", http.MethodPost, "", list + strings.Repeat(" ", 1000), http.StatusRequestEntityTooLarge},
		{"no JSON", http.MethodPost, "", "{", http.StatusBadRequest},
		{"another name of this address", http.MethodPost, "tray.example", list, http.StatusOK}, // the API checks the host before
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := http.NewRequestWithContext(t.Context(), tt.method, server.URL, strings.NewReader(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			r.Host = tt.host
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Accept", "application/json, text/event-stream")
			answer, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer answer.Body.Close()
			if answer.StatusCode != tt.want {
				t.Errorf("status %d, want %d", answer.StatusCode, tt.want)
			}
		})
	}
}
