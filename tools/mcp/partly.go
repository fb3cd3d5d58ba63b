package mcp

import (
	"encoding/json"
	"fmt"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chattray/chattray/schemas/text"
)

// maxParts bounds the parts that partly decodes.
const maxParts = 1_000

// partly decodes a result that the library refuses because of a part of its
// content, such as one of a type that a later version of the protocol has. In
// place of that part there is a text that says so. False means that the rest is
// not a tool's result either.
func partly(raw json.RawMessage) (*sdk.CallToolResult, bool) {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil || members == nil {
		return nil, false
	}
	var parts []json.RawMessage
	if content := members["content"]; len(content) > 0 && (content[0] == '{' || content[0] == '"') {
		parts = append(parts, content)
	} else if content != nil && json.Unmarshal(content, &parts) != nil {
		return nil, false
	}
	delete(members, "content")
	delete(members, "_meta") // it is not used
	rest, err := json.Marshal(members)
	if err != nil {
		return nil, false
	}
	var result sdk.CallToolResult
	if json.Unmarshal(rest, &result) != nil {
		return nil, false
	}
	for i, raw := range parts {
		if i == maxParts {
			note := fmt.Sprintf("the result has more than %d parts; the rest was left out", maxParts)
			result.Content = append(result.Content, unreadable{&sdk.TextContent{Text: note}})
			break
		}
		result.Content = append(result.Content, contentOf(raw)...)
	}
	return &result, true
}

// unreadable is in the place of a part that cannot be decoded. Its text is a note.
type unreadable struct{ *sdk.TextContent }

// contentOf returns a part of a result. A part that cannot be decoded is a text
// that says so, followed by the part's own text if it has any.
func contentOf(raw json.RawMessage) []sdk.Content {
	var plain string
	if json.Unmarshal(raw, &plain) == nil && plain != "" {
		return []sdk.Content{&sdk.TextContent{Text: plain}}
	}
	one, err := json.Marshal(map[string][]json.RawMessage{"content": {raw}})
	var decoded sdk.CallToolResult
	if err == nil && json.Unmarshal(one, &decoded) == nil {
		return decoded.Content
	}
	var part struct{ Type, Text any }
	_ = json.Unmarshal(raw, &part)                                 // a part that is no object has no type
	if text, ok := part.Text.(string); ok && part.Type == "text" { // only what is beside it cannot be read
		return []sdk.Content{&sdk.TextContent{Text: text}}
	}
	note := "a part without a type was left out"
	if kind, ok := part.Type.(string); ok && kind != "" {
		note = "a part of the type " + text.Printable(kind, maxMIME) + " was left out: it cannot be read here"
	}
	content := []sdk.Content{unreadable{&sdk.TextContent{Text: note}}}
	if text, ok := part.Text.(string); ok {
		content = append(content, &sdk.TextContent{Text: text})
	}
	return content
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
