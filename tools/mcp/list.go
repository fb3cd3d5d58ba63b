package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chattray/chattray/schemas/text"
	"github.com/chattray/chattray/tools/mcp/transport"
)

// maxListed bounds the tools that are read from a list, maxPages its pages.
const (
	maxListed = 1_000
	maxPages  = 100
)

// errEndless is the error of a list that has still more pages after maxPages.
var errEndless = fmt.Errorf("after %d pages the list has not ended", maxPages)

// refresh asks for the list of tools and brings the registry up to date. An
// error means that the connection failed.
func (c *client) refresh(ctx context.Context, l *transport.Link) error {
	ctx, cancel := l.Within(ctx, c.opts.Connect)
	defer cancel()
	listed, err := c.list(ctx, l)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause // why the list was given up
	}
	if err != nil {
		return fmt.Errorf("list tools: %w", err)
	}
	trusted, err := c.trusted(ctx, listed)
	if c.compared = err == nil; !c.compared {
		c.ring() // the database may be away for a moment only
		c.log.ErrorContext(ctx, "the definitions of an MCP server's tools cannot be compared; its tools are off", "error", err)
	}
	if maps.EqualFunc(trusted, c.offered, func(a, b Definition) bool { return a.hash == b.hash }) {
		return nil
	}
	made, names := c.make(trusted)
	c.mu.Lock()
	c.offered, c.used = trusted, names // before any turn can use the tools
	c.mu.Unlock()
	if err := c.opts.Registry.Replace(c.Name, made); err != nil {
		c.log.ErrorContext(ctx, "the tools of an MCP server are refused", "error", err)
	}
	return nil
}

// list returns the server's tools by name. Of two tools with the same name the
// first one counts.
func (c *client) list(ctx context.Context, l *transport.Link) (map[string]Definition, error) {
	found := map[string]Definition{}
	n, cursor := 0, ""
	for range maxPages {
		page, err := readPage(ctx, l, cursor)
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

// readPage returns a page of the list. Of one that the library refuses because of a part of it the
// tools that can be read are returned.
func readPage(ctx context.Context, l *transport.Link, cursor string) (*sdk.ListToolsResult, error) {
	page, err := l.List(ctx, cursor)
	if undecoded, ok := errors.AsType[*transport.Undecoded](err); ok {
		if page, readable := partlyListed(undecoded.Result); readable {
			return page, nil
		}
	}
	return page, err
}

// partlyListed decodes a page of the list of tools that the library refuses because of a part
// of it, such as icons in the form of another version of the protocol. Of a tool that cannot
// be decoded only what is used here counts; a tool whose name or description is none is left
// out. False means that it is no such page.
func partlyListed(raw json.RawMessage) (*sdk.ListToolsResult, bool) {
	var page struct {
		Tools      []json.RawMessage `json:"tools"`
		NextCursor string            `json:"nextCursor"`
	}
	if json.Unmarshal(raw, &page) != nil {
		return nil, false
	}
	read := &sdk.ListToolsResult{NextCursor: page.NextCursor}
	for _, raw := range page.Tools {
		if t := toolOf(raw); t != nil {
			read.Tools = append(read.Tools, t)
		}
	}
	return read, true
}

// toolOf returns a tool, nil if it cannot be decoded. Hints that cannot be decoded are none.
func toolOf(raw json.RawMessage) *sdk.Tool {
	var whole *sdk.Tool
	if json.Unmarshal(raw, &whole) == nil {
		return whole
	}
	var used struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		InputSchema any             `json:"inputSchema"`
		Annotations json.RawMessage `json:"annotations"`
	}
	if json.Unmarshal(raw, &used) != nil {
		return nil
	}
	t := &sdk.Tool{Name: used.Name, Description: used.Description, InputSchema: used.InputSchema}
	var hints sdk.ToolAnnotations
	if len(used.Annotations) > 0 && json.Unmarshal(used.Annotations, &hints) == nil {
		t.Annotations = &hints
	}
	return t
}

// add adds a tool to those found, if it can be used.
func (c *client) add(ctx context.Context, found map[string]Definition, t *sdk.Tool) {
	d, err := define(t)
	if err != nil {
		c.report(ctx, t.Name, d.hash, "a tool of an MCP server is left out", "reason", err)
		return
	}
	if _, twice := found[d.name]; !twice {
		found[d.name] = d
	}
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
