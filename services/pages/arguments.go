package pages

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/turn"
)

// pageArguments are arguments that a file sets for a tool.
type pageArguments struct {
	tool pageWord
	set  schemas.Object
}

// setTool is a tool with the arguments that levels of a file set.
type setTool struct {
	tool, made turn.Tool // without them and with them
	set        schemas.Object
}

// ofGroups is in the names of MCP servers' tools.
const ofGroups = "__"

// arguments reads the arguments that are set for a tool.
func (r *pageReader) arguments(key, value *yaml.Node) pageArguments {
	a := pageArguments{tool: pageWord{key.Value, key.Line}}
	raw := r.json(value)
	if raw != nil && (json.Unmarshal(raw, &a.set) != nil || a.set == nil) {
		r.wrong(value.Line, "the arguments of %q must be a mapping of names to values", key.Value)
	}
	return a
}

// setArguments returns the tools of an offer whose arguments are set, with those that
// a level sets: an inner level adds to an outer one, and its values count.
func (l *pageLoader) setArguments(f *pageFile, o *pageOffer, level *pageLevel) []setTool {
	list := slices.Clone(o.set)
	for _, a := range level.set {
		if len(a.set) == 0 {
			continue
		}
		at := slices.IndexFunc(list, func(t setTool) bool { return t.tool.Name == a.tool.text })
		if at < 0 {
			tool, ok := l.settable(f, o, a.tool)
			if !ok {
				continue
			}
			at, list = len(list), append(list, setTool{tool: tool})
		}
		next := setTool{tool: list[at].tool, set: make(schemas.Object)}
		maps.Copy(next.set, list[at].set)
		maps.Copy(next.set, a.set)
		var err error
		if next.made, err = l.parts.SetArguments(next.tool, next.set); err != nil {
			l.wrong(f.file, a.tool.line, "arguments of %q: %s", a.tool.text, flat(err))
		}
		list[at] = next
	}
	return list
}

// settable finds a tool of the offer whose arguments can be set. A tool whose
// service is not configured is not found, which is not a mistake.
func (l *pageLoader) settable(f *pageFile, o *pageOffer, name pageWord) (turn.Tool, bool) {
	if at := slices.IndexFunc(o.own, func(t turn.Tool) bool { return t.Name == name.text }); at >= 0 {
		return o.own[at], true
	}
	tool, ok := l.parts.Tools.Tool(name.text)
	switch {
	case !ok && !l.parts.Tools.Has(name.text):
		l.wrong(f.file, name.line, "arguments are set of the unknown tool %q", name.text)
	case !ok && strings.Contains(name.text, ofGroups):
		l.wrong(f.file, name.line, "arguments of %q cannot be set: it is a tool of an MCP server, which may change", name.text)
	case !tool.Global && !slices.Contains(o.names, name.text):
		l.wrong(f.file, name.line, "arguments are set of %q, which is not a tool here; name it under tools", name.text)
	default:
		return tool, ok
	}
	return turn.Tool{}, false
}

// withArguments replaces the tools whose arguments the page or tab sets.
func (o *pageOffer) withArguments(tools []turn.Tool) []turn.Tool {
	for i := range tools {
		if at := slices.IndexFunc(o.set, func(t setTool) bool { return t.tool.Name == tools[i].Name }); at >= 0 {
			tools[i] = o.set[at].made
		}
	}
	return tools
}
