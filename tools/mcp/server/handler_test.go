package server_test

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
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/concurrent"
	"github.com/chattray/chattray/tools"
	"github.com/chattray/chattray/tools/mcp/logtest"
	"github.com/chattray/chattray/tools/mcp/server"
)

type question struct {
	Q string `json:"q,omitempty" jsonschema:"the question"`
}

// asked is the input of the served tools.
type asked struct {
	mu    sync.Mutex
	users []string
	ended chan struct{}
	stuck chan struct{} // when it is closed, the calls of stubborn end
}

// served has the tools that the handler's tests call.
func served(t *testing.T) (*tools.Registry, *asked) {
	t.Helper()
	a := &asked{ended: make(chan struct{}, 1), stuck: make(chan struct{})}
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
		tools.New("stubborn", "Ignores its context.", fn(func(context.Context, *tools.Call, question) (result, error) {
			<-a.stuck
			return tools.Text("It ended"), nil
		}), tools.Global(), tools.Timeout(20*time.Millisecond)),
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
	host := httptest.NewServer(h)
	t.Cleanup(host.Close)
	session, err := sdk.NewClient(&sdk.Implementation{Name: "visitor", Version: "1"}, o).Connect(t.Context(),
		&sdk.StreamableClientTransport{Endpoint: host.URL}, &sdk.ClientSessionOptions{ProtocolVersion: version})
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
	h := server.New(server.Options{Tools: registry, Version: "1"})
	for name, version := range protocols {
		for role, want := range map[string]string{"user": "echo known late mangled panic secret stubborn wait", "admin": "boss echo known late mangled panic secret stubborn wait"} {
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
		{"late", nil, "the tool did not finish within 20ms; whether it had an effect is unknown", true},
		{"panic", nil, "the tool failed unexpectedly", true},
		{"secret", nil, "the tool failed; the reason has been logged and is not known here", true},
		{"known", nil, "there is none", true},
		{"mangled", nil, "It is mangled", false},
	}
	for name, version := range protocols {
		t.Run(name, func(t *testing.T) {
			registry, a := served(t)
			h := server.New(server.Options{Tools: registry, Logger: slog.New(slog.DiscardHandler)})
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

// A tool that ignores its context does not keep its caller waiting, and its calls do not pile up.
func TestHandlerAbandonsCalls(t *testing.T) {
	registry, a := served(t)
	defer close(a.stuck)
	book := logtest.NewBook()
	session := visit(t, server.New(server.Options{Tools: registry, Logger: slog.New(book)}).For(schemas.User{}), "", nil)
	ctx, cancel := context.WithTimeout(t.Context(), logtest.Patience)
	defer cancel()
	call := func(name string) string {
		got, err := session.CallTool(ctx, &sdk.CallToolParams{Name: name})
		if err != nil {
			return err.Error()
		}
		return got.Content[0].(*sdk.TextContent).Text
	}
	var all sync.WaitGroup
	for range concurrent.MaxAbandoned {
		all.Go(func() {
			if got, want := call("stubborn"), "the tool did not finish within 20ms; whether it had an effect is unknown"; got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
	all.Wait()
	book.Await(t, "tool ignores its context and is abandoned", "tool=stubborn")
	const refusal = "the tool was not run: earlier calls of it have not ended"
	for ctx.Err() == nil && !strings.HasPrefix(call("stubborn"), refusal) { // a call whose time was over too soon has not begun
	}
	a.mu.Lock()
	if got := len(a.users); got > concurrent.MaxAbandoned {
		t.Errorf("%d calls have begun, want at most %d", got, concurrent.MaxAbandoned)
	}
	a.mu.Unlock()
	if got := call("echo"); got != "You said " {
		t.Errorf("another tool: got %q", got)
	}
	a.stuck <- struct{}{}
	for ctx.Err() == nil && strings.HasPrefix(call("stubborn"), refusal) {
	}
	if ctx.Err() != nil {
		t.Error("after an abandoned call has ended the tool is still refused")
	}
}

// The log says why a call failed, also if the caller reads it.
func TestHandlerLogsFailures(t *testing.T) {
	registry, _ := served(t)
	for tool, want := range map[string][]string{
		"secret": {"tool failed", "error=the key is hunter2"},
		"known":  {"tool failed", "error=not_found: there is none (hunter2)"},
		"late":   {"tool failed", "error=context deadline exceeded"},
		"panic":  {"tool panicked", "panic=oh", "at=handler_test.go:"},
	} {
		t.Run(tool, func(t *testing.T) {
			book := logtest.NewBook()
			session := visit(t, server.New(server.Options{Tools: registry, Logger: slog.New(book)}).For(schemas.User{}), "", nil)
			if _, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: tool}); err != nil {
				t.Fatal(err)
			}
			book.Await(t, append(want, "tool="+tool)...)
		})
	}
}

func TestHandlerProgressAndCancel(t *testing.T) {
	for name, version := range protocols {
		t.Run(name, func(t *testing.T) {
			registry, a := served(t)
			h := server.New(server.Options{Tools: registry})
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
			case <-time.After(logtest.Patience):
				t.Error("the tool still runs after its caller has disconnected, want it cancelled")
			}
		})
	}
}

func TestHandlerRefuses(t *testing.T) {
	registry, _ := served(t)
	host := httptest.NewServer(server.New(server.Options{Tools: registry, Body: 1000}).For(schemas.User{}))
	t.Cleanup(host.Close)
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
			r, err := http.NewRequestWithContext(t.Context(), tt.method, host.URL, strings.NewReader(tt.body))
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

// TestHandlerAnswersCutCalls has a tool that may take longer than a request. The caller's own
// end, such as that of its token, is left to the caller.
func TestHandlerAnswersCutCalls(t *testing.T) {
	for name, tt := range map[string]struct {
		ends time.Duration
		want string
	}{
		"the handler's limit": {time.Hour, `"id":7,"error":{"code":-32603`},
		"the request's end":   {time.Minute, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				registry, _ := served(t)
				h := server.New(server.Options{Tools: registry, Timeout: time.Hour}).For(schemas.User{ID: "u"})
				ctx, stop := context.WithTimeout(t.Context(), tt.ends)
				defer stop()
				r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"wait","arguments":{}}}`))
				r.Header.Set("Content-Type", "application/json")
				r.Header.Set("Accept", "application/json, text/event-stream")
				w := httptest.NewRecorder()
				h.ServeHTTP(w, r)
				if got := w.Body.String(); !strings.Contains(got, tt.want) || (tt.want == "") != (got == "") {
					t.Errorf("got %d %q, want %q", w.Code, got, tt.want)
				}
				synctest.Wait()
			})
		})
	}
}

// TestHandlerAnswersAsAccepted has callers that name both forms, one or none.
func TestHandlerAnswersAsAccepted(t *testing.T) {
	registry, _ := served(t)
	h := server.New(server.Options{Tools: registry}).For(schemas.User{})
	for accept, want := range map[string]string{
		"application/json, text/event-stream": "text/event-stream", "application/json,*/*;q=0.1": "text/event-stream", "*/*": "text/event-stream", "": "text/event-stream",
		"text/event-stream": "text/event-stream", "application/json": "application/json", "Application/JSON; q=1": "application/json",
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/mcp", strings.NewReader(
			`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{},"_meta":{"progressToken":1}}}`))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", accept)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if got := w.Header().Get("Content-Type"); w.Code != http.StatusOK || got != want || !strings.Contains(w.Body.String(), `"id":7,"result":{"content":[`) {
			t.Errorf("to %q it answers %d %s %q, want %s", accept, w.Code, got, w.Body, want)
		}
		if want == "application/json" && !json.Valid(w.Body.Bytes()) {
			t.Errorf("the body is %q, want JSON", w.Body)
		}
	}
}
