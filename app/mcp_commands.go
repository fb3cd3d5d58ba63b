package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chattray/chattray/app/settings"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/store"
	"github.com/chattray/chattray/tools/mcp"
)

func (p *program) mcpCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "mcp", Short: "Manage the tools of MCP servers"}
	var digest string
	accept := &cobra.Command{
		Use: "accept SERVER [TOOL]", Short: "Accept changed tools, so that they are offered again", Args: cobra.RangeArgs(1, 2),
		RunE: p.with(func(ctx context.Context, c settings.Config, args []string, stdout io.Writer) error {
			return acceptMCPTools(ctx, c, args, digest, stdout)
		}),
	}
	accept.Flags().StringVar(&digest, "digest", "", "accept only the definition to which mcp list gives this digest")
	cmd.AddCommand(
		&cobra.Command{
			Use: "list", Short: "List their tools as first seen, which of them ask the user and why, and which have changed since",
			Args: cobra.NoArgs, RunE: p.with(listMCPTools),
		},
		accept,
	)
	return cmd
}

// listMCPTools writes a line for each stored tool, both definitions of those
// that have changed, and a line for each server in the settings without tools. It says
// so if there is neither.
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
			_, err = fmt.Fprintf(stdout, "%-12s  %s  %.12s  %s  %s  %s\n", state, t.SeenAt.UTC().Format("2006-01-02 15:04 UTC"), t.Hash, t.Server, t.Tool, asking(c, t))
			if err == nil && t.Changed != "" {
				_, err = fmt.Fprintf(stdout, "  was %s\n  is  %s\n  digest %s\n", definitionText(t.Definition), definitionText(t.ChangedDefinition), t.Changed)
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
	if len(stored) == 0 && len(c.MCPServers) == 0 {
		_, err := fmt.Fprintln(stdout, "there are no MCP servers: the setting mcp_servers is empty")
		return err
	}
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

func acceptMCPTools(ctx context.Context, c settings.Config, args []string, digest string, stdout io.Writer) error {
	server, tool := args[0], strings.Join(args[1:], "")
	return withCurrent(ctx, c, func(data *store.Store) error {
		accepted, err := data.AcceptMCPTools(ctx, server, tool, digest)
		if errors.Is(err, schemas.ErrNotFound) {
			return nothingChanged(ctx, c, data, server, tool, digest)
		}
		if err != nil {
			return err
		}
		return writeAccepted(stdout, accepted)
	})
}

// nothingChanged returns the error of accepting what has not changed: the server
// is unknown, or it has no such tool, or not with that digest.
func nothingChanged(ctx context.Context, c settings.Config, data *store.Store, server, tool, digest string) error {
	stored, err := data.MCPTools(ctx)
	if err != nil {
		return err
	}
	known := slices.ContainsFunc(c.MCPServers, func(s settings.MCPServer) bool { return s.Name == server })
	if !known && !hasTools(stored, server) {
		return fmt.Errorf("there is no server %s in mcp_servers", server)
	}
	what := strings.TrimSpace("changed tool " + tool)
	if digest != "" {
		what += " with that digest"
	}
	return fmt.Errorf("the server %s has no %s; see chattray mcp list", server, what)
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
