package result

import (
	"encoding/json"
	"fmt"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chattray/chattray/schemas/text"
	"github.com/chattray/chattray/tools"
)

// maxParts bounds the parts that Partly decodes.
const maxParts = 1_000

// Partly returns the result of a call whose answer the library refuses because of a part of
// its content, such as one of a type that a later version of the protocol has. In place of
// that part there is a text that says so. False means that the rest is not a tool's result
// either.
func Partly(server, tool string, answer json.RawMessage) (tools.Result, bool) {
	var members map[string]json.RawMessage
	if json.Unmarshal(answer, &members) != nil || members == nil {
		return tools.Result{}, false
	}
	var parts []json.RawMessage
	if content := members["content"]; len(content) > 0 && (content[0] == '{' || content[0] == '"') {
		parts = append(parts, content)
	} else if content != nil && json.Unmarshal(content, &parts) != nil {
		return tools.Result{}, false
	}
	delete(members, "content")
	delete(members, "_meta") // it is not used
	rest, err := json.Marshal(members)
	if err != nil {
		return tools.Result{}, false
	}
	var result sdk.CallToolResult
	if json.Unmarshal(rest, &result) != nil {
		return tools.Result{}, false
	}
	for i, raw := range parts {
		if i == maxParts {
			note := fmt.Sprintf("the result has more than %d parts; the rest was left out", maxParts)
			result.Content = append(result.Content, unreadable{&sdk.TextContent{Text: note}})
			break
		}
		result.Content = append(result.Content, contentOf(raw)...)
	}
	return Of(server, tool, &result), true
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
