package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/porttest"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/tools"
	"github.com/chattray/chattray/tools/mcp"
	"github.com/chattray/chattray/tools/mcp/logtest"
)

// memory remembers definitions as the store does.
type memory struct {
	mu    sync.Mutex
	tools map[string]record.MCPTool
	err   error
}

func (m *memory) SeeMCPTools(_ context.Context, server string, seen []record.MCPTool) ([]record.MCPTool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err != nil {
		return nil, m.err
	}
	var known []record.MCPTool
	for _, t := range seen {
		was, ok := m.tools[server+" "+t.Tool]
		if !ok {
			was = t
		}
		if was.Changed = ""; was.Hash != t.Hash {
			was.Changed, was.ChangedDefinition = t.Hash, t.Definition
		}
		m.tools[server+" "+t.Tool] = was
		known = append(known, was)
	}
	return known, nil
}

// accept accepts changed definitions.
func (m *memory) accept() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, t := range m.tools {
		if t.Changed != "" {
			t.Hash, t.Definition, t.Changed = t.Changed, t.ChangedDefinition, ""
			m.tools[key] = t
		}
	}
}

// testEnv has connected clients, with their registry, pins and log.
type testEnv struct {
	*testing.T
	registry *tools.Registry
	clients  *mcp.Clients
	memory   *memory
	log      *logtest.Book
	replaced chan struct{}
	stop     func() // ends Run and waits for it
}

// Replace implements the registry of mcp.Options; it signals that the tools changed.
func (w *testEnv) Replace(group string, list []turn.Tool) error {
	defer func() {
		select {
		case w.replaced <- struct{}{}:
		default:
		}
	}()
	return w.registry.Replace(group, list)
}

// newTestEnv connects to the servers, all named, and waits for them.
func newTestEnv(t *testing.T, change func(*mcp.Options), servers ...mcp.Server) *testEnv {
	t.Helper()
	w := &testEnv{
		T: t, memory: &memory{tools: map[string]record.MCPTool{}}, log: logtest.NewBook(), replaced: make(chan struct{}, 1),
	}
	var err error
	if w.registry, err = tools.NewRegistry(); err != nil {
		t.Fatal(err)
	}
	for _, s := range servers {
		if err := w.registry.Reserve(s.Name); err != nil {
			t.Fatal(err)
		}
	}
	o := mcp.Options{
		Servers: servers, Registry: w, Pins: w.memory, Logger: slog.New(w.log), FirstDelay: time.Millisecond, LastDelay: 10 * time.Millisecond,
	}
	if change != nil {
		change(&o)
	}
	clients, err := mcp.New(o)
	if w.clients = clients; err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan struct{})
	go func() {
		defer close(done)
		clients.Run(ctx)
	}()
	w.stop = sync.OnceFunc(func() {
		cancel()
		select {
		case <-done:
		case <-time.After(logtest.Patience):
			t.Error("Run does not return, want it to end with its context")
		}
	})
	t.Cleanup(w.stop)
	ready, cancelReady := context.WithTimeout(t.Context(), logtest.Patience)
	defer cancelReady()
	clients.Ready(ready)
	return w
}

// await reads the log until a line has all the parts.
func (w *testEnv) await(parts ...string) string {
	w.Helper()
	return w.log.Await(w.T, parts...)
}

// names returns the names of the registry's tools.
func (w *testEnv) names() string { return strings.Join(w.registry.Names(), " ") }

// until waits for the registry to be in a state.
func (w *testEnv) until(what string, holds func() bool) {
	w.Helper()
	late := time.After(logtest.Patience)
	for !holds() {
		select {
		case <-w.replaced:
		case <-late:
			w.Fatalf("%s: did not happen; the tools are %s", what, w.names())
		}
	}
}

func (w *testEnv) tool(name string) turn.Tool {
	w.Helper()
	found, err := w.registry.Resolve([]string{name}, schemas.User{})
	i := slices.IndexFunc(found, func(t turn.Tool) bool { return t.Name == name })
	if err != nil || i < 0 {
		w.Fatalf("no tool %s among %s: %v", name, w.names(), err)
	}
	return found[i]
}

// call calls a tool; args is JSON.
func (w *testEnv) call(name, args string) (tools.Result, error) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), logtest.Patience)
	defer cancel()
	return w.tool(name).Run(ctx, &tools.Call{Name: name, Input: json.RawMessage(args)})
}

// text calls a tool, which must succeed, and returns the result's text.
func (w *testEnv) text(name, args string) string {
	w.Helper()
	result, err := w.call(name, args)
	if err != nil || result.IsError {
		w.Fatalf("%s: got %+v, %v", name, result, err)
	}
	return result.Text
}

// visible returns what a model reads of an error.
func visible(err error) string {
	if seen, ok := errors.AsType[*schemas.Error](err); ok {
		return seen.Message
	}
	return fmt.Sprint(err)
}

// noWait spares the second that a program with the race detector takes to end.
const noWait = "GORACE=atexit_sleep_ms=0"

// local returns this test program as a local server.
func local(t *testing.T, name string) mcp.Server {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return mcp.Server{Name: name, Command: self, Env: []string{asServer + "=1", noWait}}
}

// remoteServer is a server over HTTP that can be stopped and started again.
type remoteServer struct {
	t       *testing.T
	addr    string
	handler http.Handler
	server  *httptest.Server
	mu      sync.Mutex
	headers []http.Header
}

func serveRemote(t *testing.T, o *sdk.StreamableHTTPOptions) *remoteServer {
	t.Helper()
	server := newServer()
	r := &remoteServer{t: t, addr: porttest.Address(t), handler: sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, o)}
	r.start()
	t.Cleanup(r.close)
	return r
}

func (r *remoteServer) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	r.headers = append(r.headers, req.Header.Clone())
	r.mu.Unlock()
	r.handler.ServeHTTP(w, req)
}

func (r *remoteServer) start() {
	r.t.Helper()
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", r.addr)
	if err != nil {
		r.t.Fatal(err)
	}
	r.server = httptest.NewUnstartedServer(r)
	_ = r.server.Listener.Close()
	r.server.Listener = listener
	r.server.Start()
}

func (r *remoteServer) close() {
	r.server.CloseClientConnections()
	r.server.Close()
}

func (r *remoteServer) named(name string) mcp.Server {
	return mcp.Server{Name: name, URL: "http://" + r.addr + "/mcp", Headers: map[string]string{"Authorization": "Bearer of-the-operator", "X-Team": "a"}}
}
