package mcp

import (
	"encoding/json"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

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
	result := &sdk.ListToolsResult{NextCursor: page.NextCursor}
	for _, raw := range page.Tools {
		if t := toolOf(raw); t != nil {
			result.Tools = append(result.Tools, t)
		}
	}
	return result, true
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
