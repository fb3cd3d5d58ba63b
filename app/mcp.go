package app

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/chattray/chattray/app/settings"
	"github.com/chattray/chattray/store"
	"github.com/chattray/chattray/tools"
	"github.com/chattray/chattray/tools/mcp"
	"github.com/chattray/chattray/tools/mcp/server"
)

// mcpStart is how long the start of the service waits for the MCP servers.
// Tools of servers that take longer are offered once they are connected.
const mcpStart = 5 * time.Second

// mcpParts are the parts that speak MCP: the clients of the configured servers,
// and the handler of /mcp.
type mcpParts struct {
	clients *mcp.Clients
	handler *server.Handler
	cancel  context.CancelFunc
	done    chan struct{}
}

// newMCP makes the parts without starting anything. From then on pages may name
// tools of the servers.
func newMCP(c settings.Config, registry *tools.Registry, data *store.Store, log *slog.Logger) (*mcpParts, error) {
	for _, s := range c.MCPServers { // pages may also name tools of a disabled one
		if err := registry.Reserve(s.Name); err != nil {
			return nil, err
		}
	}
	var servers []mcp.Server
	for _, s := range enabledMCP(c) {
		env := c.ChildEnv
		for _, name := range slices.Sorted(maps.Keys(s.Env)) {
			env = append(slices.Clip(env), name+"="+s.Env[name])
		}
		servers = append(servers, mcpServer(s, env))
	}
	clients, err := mcp.New(mcp.Options{Servers: servers, Registry: registry, Pins: data, Version: release, Logger: log})
	if err != nil {
		return nil, err
	}
	return &mcpParts{clients: clients, handler: server.New(server.Options{
		Tools: registry, Timeout: c.Timeouts.Tool, Body: c.Limits.Body, Version: release, Logger: log,
	})}, nil
}

// mcpServer returns a server's configuration for the client, with the whole
// environment of its process.
func mcpServer(s settings.MCPServer, env []string) mcp.Server {
	return mcp.Server{
		Name: s.Name, Command: s.Command, Args: s.Args, Env: env, URL: s.URL, Headers: s.Headers,
		Global: s.Global, Confirm: s.Confirm, TrustHints: s.TrustHints, Timeout: s.Timeout,
	}
}

// start connects to the servers until stop is called. It waits up to mcpStart
// for them; a server that fails is not an error.
func (m *mcpParts) start(ctx context.Context) {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx)) // runs may continue after ctx ends
	m.cancel, m.done = cancel, make(chan struct{})
	go func() {
		defer close(m.done)
		m.clients.Run(work)
	}()
	ready, cancelReady := context.WithTimeout(ctx, mcpStart)
	defer cancelReady()
	m.clients.Ready(ready)
}

// stop ends all connections and processes.
func (m *mcpParts) stop() {
	if m == nil || m.cancel == nil {
		return
	}
	m.cancel()
	<-m.done
}

func enabledMCP(c settings.Config) []settings.MCPServer {
	var list []settings.MCPServer
	for _, s := range c.MCPServers {
		if !s.Disabled {
			list = append(list, s)
		}
	}
	return list
}

// mcpPageTools returns, by page, the tools of the servers that name it.
func mcpPageTools(c settings.Config) map[string][]string {
	pages := map[string][]string{}
	for _, s := range enabledMCP(c) {
		for _, page := range s.Pages {
			pages[page] = append(pages[page], s.Name+tools.GroupSeparator+tools.GroupAll)
		}
	}
	return pages
}
