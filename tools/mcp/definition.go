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
	"unicode"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/text"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/schemas/weburl"
	"github.com/chattray/chattray/tools"
	"github.com/chattray/chattray/tools/mcp/result"
)

// maxToolName is the longest name that a server may give to a tool, in bytes.
const maxToolName = 128

// Definition is a server's description of a tool. Its JSON is what is stored and shown to
// the operator.
type Definition struct {
	Description string          `json:"description"` // at most maxDescription characters
	InputSchema json.RawMessage `json:"input_schema"`
	hints

	name string // the server's
	hash string // of all that the server says of the tool
}

// define makes a definition from a server's description of a tool. The hash
// covers all of it, including text that is cut off and hints that differ from
// the protocol's defaults.
func define(t *sdk.Tool) (Definition, error) {
	if schema, ok := t.InputSchema.(map[string]any); ok {
		if list, ok := schema["properties"].([]any); ok && len(list) == 0 {
			schema["properties"] = map[string]any{} // some languages write it as a list
		}
	}
	schema, err := json.Marshal(t.InputSchema) // keys are sorted, because it is a map
	if err != nil {
		return Definition{}, err
	}
	h := hintsOf(t.Annotations)
	parts := []any{t.Name, t.Description, json.RawMessage(schema)}
	if h != (hints{}) {
		parts = append(parts, h)
	}
	whole, err := json.Marshal(parts)
	if err != nil {
		return Definition{}, err
	}
	sum := sha256.Sum256(whole)
	d := Definition{
		name: t.Name, Description: text.Printable(t.Description, maxDescription), InputSchema: schema, hash: hex.EncodeToString(sum[:]), hints: h,
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
func (c *client) trusted(ctx context.Context, listed map[string]Definition) (map[string]Definition, error) {
	seen := make([]record.MCPTool, 0, len(listed))
	for _, name := range slices.Sorted(maps.Keys(listed)) {
		d := listed[name]
		stored, err := json.Marshal(d)
		if err != nil {
			return nil, err
		}
		seen = append(seen, record.MCPTool{Server: c.Name, Tool: name, Hash: d.hash, Definition: stored})
	}
	known, err := c.opts.Pins.SeeMCPTools(ctx, c.Name, seen)
	if err != nil {
		return nil, err
	}
	trusted := map[string]Definition{}
	for _, k := range known {
		d, ok := listed[k.Tool]
		switch {
		case !ok:
		case d.hash == k.Hash:
			trusted[k.Tool] = d
		default:
			c.report(ctx, k.Tool, d.hash, "a tool of an MCP server has changed and is off until it is accepted",
				"command", "chattray mcp accept "+c.Name+" "+shellWord(k.Tool)+" --digest "+d.hash)
		}
	}
	return trusted, nil
}

// shellWord returns a server's word as one of a command that an operator may copy into a
// shell.
func shellWord(s string) string {
	plain := func(r rune) bool {
		return r == '_' || r == '-' || r == '.' || r < 0x80 && (unicode.IsLetter(r) || unicode.IsDigit(r))
	}
	if strings.TrimFunc(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// make makes tools from definitions, in the order of the server's names, which it returns
// too. It leaves out tools that cannot be made.
func (c *client) make(trusted map[string]Definition) (made []turn.Tool, names []string) {
	for _, name := range c.Confirm {
		if _, known := trusted[name]; !known && name != tools.GroupAll {
			c.report(context.Background(), name, "confirm", "the settings want approval of a tool that the MCP server does not offer")
		}
	}
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
			made, names = append(made, t), append(names, name)
		}
	}
	return made, names
}

// tool makes one tool. The server checks the arguments: its schema is for the
// model, and is never run here. The model reads no secrets, even if the server repeats them.
func (c *client) tool(d Definition) turn.Tool {
	description := c.secrets.Replace(d.Description)
	if description == "" {
		description = "The tool " + d.name + " of the server " + c.Name + "."
	}
	t := tools.NewForeign(modelName(c.Name, d.name), description, json.RawMessage(c.secrets.Replace(string(d.InputSchema))),
		func(ctx context.Context, call *tools.Call) (tools.Result, error) { return c.call(ctx, d, call) },
		tools.PayloadType(result.PayloadType), tools.Timeout(c.Timeout))
	h := c.counting(d.hints)
	t.Global, t.ReadOnly, t.Idempotent, t.Effects, t.Untrusted = c.Global, h.ReadOnly, h.ReadOnly || h.Idempotent, !h.ReadOnly, !h.ClosedWorld
	t.Confirm, _ = c.Asks(d.name, d)
	t.Addresses = weburl.SentIn
	return t
}
