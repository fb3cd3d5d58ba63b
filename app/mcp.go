package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/chattray/chattray/app/settings"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
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
	var servers []mcp.Server
	for _, s := range enabledMCP(c) {
		env := c.ChildEnv
		for _, name := range slices.Sorted(maps.Keys(s.Env)) {
			env = append(slices.Clip(env), name+"="+s.Env[name])
		}
		if err := registry.Reserve(s.Name); err != nil {
			return nil, err
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

func (p *program) mcpCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "mcp", Short: "Manage the tools of MCP servers"}
	cmd.AddCommand(
		&cobra.Command{
			Use: "list", Short: "List their tools as first seen, which of them ask the user and why, and which have changed since",
			Args: cobra.NoArgs, RunE: p.with(listMCPTools),
		},
		&cobra.Command{
			Use: "accept SERVER [TOOL]", Short: "Accept changed tools, so that they are offered again",
			Args: cobra.RangeArgs(1, 2), RunE: p.with(acceptMCPTools),
		},
	)
	return cmd
}

// listMCPTools writes a line for each stored tool, both definitions of those
// that have changed, and a line for each server in the settings without tools.
func listMCPTools(ctx context.Context, c settings.Config, _ []string, stdout io.Writer) error {
	return withCurrent(ctx, c, func(data *store.Store) error {
		list, err := data.MCPTools(ctx)
		if err != nil {
			return err
		}
		for _, t := range list {
			state := "accepted"
			if t.Changed != "" {
				state = "changed, off"
			}
			_, err = fmt.Fprintf(stdout, "%-12s  %s  %.12s  %s  %s  %s\n", state, t.SeenAt.UTC().Format("2006-01-02 15:04"), t.Hash, t.Server, t.Tool, asking(c, t))
			if err == nil && t.Changed != "" {
				_, err = fmt.Fprintf(stdout, "  was %s\n  is  %s\n", definitionText(t.Definition), definitionText(t.ChangedDefinition))
			}
			if err != nil {
				return err
			}
		}
		return listUnseen(c, list, stdout)
	})
}

// listUnseen writes a line for each server in the settings that has no stored tool.
func listUnseen(c settings.Config, stored []record.MCPTool, stdout io.Writer) error {
	for _, s := range c.MCPServers {
		if hasTools(stored, s.Name) {
			continue
		}
		off := ""
		if s.Disabled {
			off = " (disabled)"
		}
		if _, err := fmt.Fprintf(stdout, "%s: no tools seen yet%s\n", s.Name, off); err != nil {
			return err
		}
	}
	return nil
}

func hasTools(stored []record.MCPTool, server string) bool {
	return slices.ContainsFunc(stored, func(t record.MCPTool) bool { return t.Server == server })
}

// asking describes whether a tool waits for the user's approval, and why.
func asking(c settings.Config, t record.MCPTool) string {
	i := slices.IndexFunc(c.MCPServers, func(s settings.MCPServer) bool { return s.Name == t.Server })
	var d mcp.Definition
	if i < 0 || json.Unmarshal(t.Definition, &d) != nil {
		return "not in the settings"
	}
	asks, why := mcpServer(c.MCPServers[i], nil).Asks(t.Tool, d)
	if asks {
		return "asks (" + why + ")"
	}
	return "does not ask (" + why + ")"
}

func acceptMCPTools(ctx context.Context, c settings.Config, args []string, stdout io.Writer) error {
	server, tool := args[0], strings.Join(args[1:], "")
	return withCurrent(ctx, c, func(data *store.Store) error {
		accepted, err := data.AcceptMCPTools(ctx, server, tool)
		if errors.Is(err, schemas.ErrNotFound) {
			return nothingChanged(ctx, c, data, server, tool)
		}
		if err != nil {
			return err
		}
		return writeAccepted(stdout, accepted)
	})
}

// nothingChanged returns the error of accepting what has not changed: the server
// is unknown, or it has no such tool.
func nothingChanged(ctx context.Context, c settings.Config, data *store.Store, server, tool string) error {
	stored, err := data.MCPTools(ctx)
	if err != nil {
		return err
	}
	known := slices.ContainsFunc(c.MCPServers, func(s settings.MCPServer) bool { return s.Name == server })
	if !known && !hasTools(stored, server) {
		return fmt.Errorf("there is no server %s in mcp_servers", server)
	}
	return fmt.Errorf("the server %s has no %s; see chattray mcp list", server, strings.TrimSpace("changed tool "+tool))
}

func writeAccepted(stdout io.Writer, accepted []record.MCPTool) error {
	for _, t := range accepted {
		if _, err := fmt.Fprintf(stdout, "accepted %s %s: %s\n", t.Server, t.Tool, definitionText(t.Definition)); err != nil {
			return err
		}
	}
	return nil
}

// definitionText returns a definition on one line, without terminal control characters.
func definitionText(raw json.RawMessage) string {
	var d mcp.Definition
	if err := json.Unmarshal(raw, &d); err != nil {
		return "?"
	}
	words := []string{fmt.Sprintf("%q with %q", d.Description, d.InputSchema)}
	for _, hint := range []struct {
		logged bool
		word   string
	}{{d.ReadOnly, "read-only"}, {d.Additive, "not destructive"}, {d.Idempotent, "idempotent"}, {d.ClosedWorld, "closed world"}} {
		if hint.logged {
			words = append(words, hint.word)
		}
	}
	return strings.Join(words, ", ")
}
