package record

import (
	"encoding/json"
	"time"
)

// MCPTool is what is remembered of a tool of an MCP server: the definition that
// counts, and another one that waits for the operator. Tools are trusted as they
// are at first sight.
type MCPTool struct {
	Server, Tool string
	// Hash is of the Definition, whose shape is that of tools/mcp.
	Hash       string
	Definition json.RawMessage
	// Changed is the hash of a newer definition, which does not count until it
	// is accepted; empty for none.
	Changed           string
	ChangedDefinition json.RawMessage
	// SeenAt is the time of the newer of the two definitions.
	SeenAt time.Time
}
