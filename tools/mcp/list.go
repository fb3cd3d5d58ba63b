package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/text"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/schemas/weburl"
	"github.com/chattray/chattray/tools"
	"github.com/chattray/chattray/tools/mcp/result"
	"github.com/chattray/chattray/tools/mcp/transport"
)

// maxListed bounds the tools that are read from a list, maxPages its pages and
// maxToolName the length of a name in bytes.
const (
	maxListed   = 1_000
	maxPages    = 100
	maxToolName = 128
)

// errEndless is the error of a list that has still more pages after maxPages.
var errEndless = fmt.Errorf("after %d pages the list has not ended", maxPages)

// definition is a server's description of a tool.
type definition struct {
	name        string
	description string // bounded
	schema      json.RawMessage
	hash        string
	hints
}

// Definition is a definition in the form that is stored and shown to the
// operator.
type Definition struct {
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"input_schema"`
	hints
}

// refresh asks for the list of tools and brings the registry up to date. An
// error means that the connection failed.
func (c *client) refresh(ctx context.Context, l *transport.Link) error {
	ctx, cancel := context.WithTimeout(ctx, c.opts.Connect)
	defer cancel()
	listed, err := c.list(ctx, l)
	if err != nil {
		return fmt.Errorf("list tools: %w", err)
	}
	trusted, err := c.trusted(ctx, listed)
	if err != nil {
		c.log.ErrorContext(ctx, "the definitions of an MCP server's tools cannot be compared; its tools are off", "error", err)
	}
	if maps.EqualFunc(trusted, c.offered, func(a, b definition) bool { return a.hash == b.hash }) {
		return nil
	}
	c.mu.Lock()
	c.offered = trusted // before any turn can use the tools
	c.mu.Unlock()
	if err := c.opts.Registry.Replace(c.Name, c.make(trusted)); err != nil {
		c.log.ErrorContext(ctx, "the tools of an MCP server are refused", "error", err)
	}
	return nil
}

// list returns the server's tools by name. Of two tools with the same name the
// first one counts.
func (c *client) list(ctx context.Context, l *transport.Link) (map[string]definition, error) {
	found := map[string]definition{}
	n, cursor := 0, ""
	for range maxPages {
		page, err := listed(ctx, l, cursor)
		if err != nil {
			return nil, err
		}
		for _, t := range page.Tools {
			if n++; n > maxListed {
				c.report(ctx, "", "listed", "an MCP server lists too many tools; the rest is left out", "limit", maxListed)
				return found, nil
			}
			c.add(ctx, found, t)
		}
		if cursor = page.NextCursor; cursor == "" {
			return found, nil
		}
	}
	return nil, errEndless
}

// listed returns a page of the list. Of one that the library refuses because of a part of it the
// tools that can be read are returned.
func listed(ctx context.Context, l *transport.Link, cursor string) (*sdk.ListToolsResult, error) {
	page, err := l.List(ctx, cursor)
	if undecoded, ok := errors.AsType[*transport.Undecoded](err); ok {
		if page, readable := partlyListed(undecoded.Result); readable {
			return page, nil
		}
	}
	return page, err
}

// add adds a tool to those found, if it can be used.
func (c *client) add(ctx context.Context, found map[string]definition, t *sdk.Tool) {
	d, err := define(t)
	if err != nil {
		c.report(ctx, t.Name, d.hash, "a tool of an MCP server is left out", "reason", err)
		return
	}
	if _, twice := found[d.name]; !twice {
		found[d.name] = d
	}
}

// define makes a definition from a server's description of a tool. The hash
// covers all of it, including text that is cut off and hints that differ from
// the protocol's defaults.
func define(t *sdk.Tool) (definition, error) {
	if schema, ok := t.InputSchema.(map[string]any); ok {
		if list, ok := schema["properties"].([]any); ok && len(list) == 0 {
			schema["properties"] = map[string]any{} // some languages write it as a list
		}
	}
	schema, err := json.Marshal(t.InputSchema) // keys are sorted, because it is a map
	if err != nil {
		return definition{}, err
	}
	h := hintsOf(t.Annotations)
	parts := []any{t.Name, t.Description, json.RawMessage(schema)}
	if h != (hints{}) {
		parts = append(parts, h)
	}
	whole, err := json.Marshal(parts)
	if err != nil {
		return definition{}, err
	}
	sum := sha256.Sum256(whole)
	d := definition{
		name: t.Name, description: text.Printable(t.Description, maxDescription), schema: schema, hash: hex.EncodeToString(sum[:]), hints: h,
	}
	switch {
	case t.Name == "" || len(t.Name) > maxToolName || text.Printable(t.Name, maxToolName) != t.Name || strings.ContainsAny(t.Name, "\n\t"):
		return d, errors.New("its name is empty, too long or not plain text")
	case len(schema) > maxSchema:
		return d, fmt.Errorf("its input schema has %d bytes, at most %d are allowed", len(schema), maxSchema)
	}
	return d, nil
}

// trusted returns the definitions that may be used: the first ones seen, or
// those that the operator accepted.
func (c *client) trusted(ctx context.Context, listed map[string]definition) (map[string]definition, error) {
	seen := make([]record.MCPTool, 0, len(listed))
	for _, name := range slices.Sorted(maps.Keys(listed)) {
		d := listed[name]
		stored, err := json.Marshal(Definition{d.description, d.schema, d.hints})
		if err != nil {
			return nil, err
		}
		seen = append(seen, record.MCPTool{Server: c.Name, Tool: name, Hash: d.hash, Definition: stored})
	}
	known, err := c.opts.Pins.SeeMCPTools(ctx, c.Name, seen)
	if err != nil {
		return nil, err
	}
	trusted := map[string]definition{}
	for _, k := range known {
		d, ok := listed[k.Tool]
		switch {
		case !ok:
		case d.hash == k.Hash:
			trusted[k.Tool] = d
		default:
			c.report(ctx, k.Tool, d.hash, "a tool of an MCP server has changed and is off until it is accepted",
				"command", "chattray mcp accept "+c.Name+" "+k.Tool)
		}
	}
	return trusted, nil
}

// make makes tools from definitions, in the order of the server's names. It
// leaves out tools that cannot be made.
func (c *client) make(trusted map[string]definition) []turn.Tool {
	for _, name := range c.Confirm {
		if _, known := trusted[name]; !known && name != tools.GroupAll {
			c.report(context.Background(), name, "confirm", "the settings want approval of a tool that the MCP server does not offer")
		}
	}
	var made []turn.Tool
	taken := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(trusted)) {
		d := trusted[name]
		t := c.tool(d)
		switch {
		case t.Run == nil:
			c.report(context.Background(), name, d.hash, "a tool of an MCP server is left out", "reason", t.Check(nil))
		case taken[t.Name]:
			c.report(context.Background(), name, d.hash, "a tool of an MCP server is left out", "reason", "another tool has the name "+t.Name)
		case len(made) >= maxTools:
			c.report(context.Background(), "", "made", "an MCP server has too many tools; the rest is left out", "limit", maxTools)
		default:
			taken[t.Name] = true
			made = append(made, t)
		}
	}
	return made
}

// tool makes one tool. The server checks the arguments: its schema is for the
// model, and is never run here.
func (c *client) tool(d definition) turn.Tool {
	description := d.description
	if description == "" {
		description = "The tool " + d.name + " of the server " + c.Name + "."
	}
	t := tools.NewForeign(modelName(c.Name, d.name), description, d.schema,
		func(ctx context.Context, call *tools.Call) (tools.Result, error) { return c.call(ctx, d, call) },
		tools.PayloadType(result.PayloadType), tools.Timeout(c.Timeout))
	h := c.counting(d.hints)
	t.Global, t.ReadOnly, t.Idempotent, t.Effects, t.Untrusted = c.Global, h.ReadOnly, h.ReadOnly || h.Idempotent, !h.ReadOnly, !h.ClosedWorld
	t.Confirm, _ = c.Asks(d.name, Definition{hints: d.hints})
	t.Addresses = weburl.SentIn
	return t
}

// report logs a message about a definition, once.
func (c *client) report(ctx context.Context, tool, hash, message string, args ...any) {
	if c.reported[tool] == hash {
		return
	}
	if len(c.reported) > 2*maxListed {
		clear(c.reported) // the server keeps changing its names
	}
	c.reported[tool] = hash
	c.log.WarnContext(ctx, message, append([]any{"tool", text.Printable(tool, maxToolName)}, args...)...)
}
