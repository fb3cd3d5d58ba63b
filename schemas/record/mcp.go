package record

import (
	"encoding/json"
	"time"
)

// MCPTool is the stored state of a tool of an MCP server: the trusted
// definition, and a newer one that waits for the operator. The first definition
// of a tool is trusted.
type MCPTool struct {
	Server, Tool string
	// Hash is the hash of Definition, whose shape tools/mcp defines.
	Hash       string
	Definition json.RawMessage
	// Changed is the hash of a newer definition, which is not used until it is
	// accepted; empty for none.
	Changed           string
	ChangedDefinition json.RawMessage
	// SeenAt is the time of the newer of the two definitions.
	SeenAt time.Time
}
