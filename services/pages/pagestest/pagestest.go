// Package pagestest has page files for tests, and the parts that they name.
package pagestest

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/services/pages"
)

// toolList implements pages.Tools with the tools of a test.
type toolList []turn.Tool

func (p toolList) Has(name string) bool {
	return slices.ContainsFunc(p, func(t turn.Tool) bool { return t.Name == name })
}

func (p toolList) Tool(name string) (turn.Tool, bool) {
	i := slices.IndexFunc(p, func(t turn.Tool) bool { return t.Name == name })
	if i < 0 {
		return turn.Tool{}, false
	}
	return p[i], true
}

func (p toolList) Resolve(names []string, user schemas.User) ([]turn.Tool, error) {
	var list []turn.Tool
	for _, t := range p {
		if (t.Global || slices.Contains(names, t.Name)) && (len(t.Roles) == 0 || user.Admin()) {
			list = append(list, t)
		}
	}
	return list, nil
}

type typeMap map[string]turn.PayloadType

func (p typeMap) Type(name string) (turn.PayloadType, bool) { t, ok := p[name]; return t, ok }

func (p typeMap) Globals() []turn.PayloadType {
	if t, ok := p["webpage_content"]; ok {
		return []turn.PayloadType{t}
	}
	return nil
}

func registry() toolList {
	tools := toolList{
		{Name: "search_pubmed", Description: "Searches PubMed. Long story.", Global: true, PayloadType: "pubmed_search_results"},
		{Name: "get_payload", Description: "Returns a payload of this chat whole.", Global: true},
		{Name: "admin_tool", Description: "For admins.", Global: true, Roles: []string{"admin"}},
	}
	for _, name := range []string{
		"get_report", "search_articles", "list_reports", "list_streams", "get_stream", "research", "compare_models",
		"read_document", "plan_document", "write_block", "edit_block", "delete_block", "move_block",
	} {
		t := turn.Tool{Name: name, Description: "Does " + name + ".", InputSchema: json.RawMessage(`{"type":"object"}`), Replans: name == "plan_document"}
		if name == "write_block" || name == "edit_block" {
			t.Streams = &turn.StreamedArgument{Argument: "content", Block: "block_id", MustExist: name == "edit_block"}
		}
		tools = append(tools, t)
	}
	tools[3].Title = "Read a report"
	return tools
}

func payloadTypes() typeMap {
	p := typeMap{
		"webpage_content":       {Name: "webpage_content", Source: "tool", Global: true},
		"pubmed_search_results": {Name: "pubmed_search_results", Source: "tool"},
	}
	for name, marker := range map[string]string{
		"schema_proposal": "SCHEMA_PROPOSAL:", "validation_results": "VALIDATION_RESULTS:", "query_suggestion": "QUERY_SUGGESTION:",
		"stream_suggestions": "STREAM_SUGGESTIONS:", "presentation_categories": "PRESENTATION_CATEGORIES:", "ai_column_suggestion": "AI_COLUMN:",
	} {
		p[name] = turn.PayloadType{
			Name: name, Source: "llm", Marker: marker, Description: "A " + name + ".",
			Schema: json.RawMessage(`{"type":"object"}`), Instructions: "Write it when asked.\n" + marker + ` {"a": 1}`,
		}
	}
	return p
}

// Parts has some tools and payload types, and makes the ones that page files declare.
func Parts() pages.Parts {
	return pages.Parts{
		Tools: registry(), Payloads: payloadTypes(), ServerActions: []string{"apply_schema"}, ContextBuilders: []string{"document", "report", "stream"},
		Secret: func(name string) (string, bool) { return "s3cret", name == "stock_key" },
		SetArguments: func(t turn.Tool, set schemas.Object) (turn.Tool, error) {
			if _, wrong := set["wrong"]; wrong {
				return t, errors.New("there is no argument \"wrong\"")
			}
			t.Preset = set
			return t, nil
		},
		MakeHTTPTool: func(def turn.HTTPTool) (turn.Tool, error) {
			if !strings.HasPrefix(def.URL, "https://") {
				return turn.Tool{}, errors.New("url: no https")
			}
			return turn.Tool{Name: def.Name, Description: def.Description, Words: def.Words, InputSchema: def.InputSchema, PayloadType: def.PayloadType, Idempotent: def.Idempotent, Confirm: def.Confirm}, nil
		},
		MakeHTTPAction: func(def turn.HTTPTool) (turn.Tool, error) {
			if def.URL == "" {
				return turn.Tool{}, errors.New("url: is absent")
			}
			return turn.Tool{Name: def.Name, Description: def.Description + " " + def.Method + " " + def.Headers["Authorization"], InputSchema: def.InputSchema}, nil
		},
		MakePayloadType: func(def turn.PayloadDef) (turn.PayloadType, error) {
			if len(def.Schema) == 0 {
				return turn.PayloadType{}, errors.New("schema: is absent")
			}
			return turn.PayloadType{Name: def.Name, Source: def.Source, Marker: def.Marker, Schema: def.Schema, Instructions: def.Instructions}, nil
		},
	}
}

// Folder writes files into a temporary folder and returns its path.
func Folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Load returns the bundled pages and the pages of files, by file name.
func Load(t *testing.T, files map[string]string) *pages.Pages {
	t.Helper()
	src := pages.Sources{}
	if files != nil {
		src.Dir = Folder(t, files)
	}
	p, err := pages.Load(src, Parts())
	if err != nil {
		t.Fatalf("%v\n(the tools that bundled pages may name here are in pagestest.go)", err)
	}
	return p
}

// Inventory is the page file of the page inventory.
const Inventory = `
aliases: [stock]
identity: You watch the shelves.
context:
  template: "Item {{.Context.item}}{{with .Context.shelf}} on {{.name}}{{end}}"
payload_types:
  - name: reorder
    marker: "REORDER:"
    instructions: Write it when stock is low.
    schema: {type: object, required: [sku], properties: {sku: {type: string}}}
    summary: "Reorder {{.sku}}"
  - name: scoped
    source: tool
    schema: '{"type":"object"}'
http_tools:
  - name: stock_level
    description: Says how many there are.
    title: Look up the stock
    done: Looked up the stock|Looked up {n} stocks
    input_schema: {type: object, properties: {sku: {type: string}}}
    url: https://stock.example/items/{{.sku}}
    headers: {Authorization: "Bearer ${stock_key}"}
    payload: /data
    payload_type: scoped
    confirm: true
tools: [list_reports]
actions:
  - {action: open_item, description: Opens the item., handler: client}
tabs:
  orders:
    payloads: [scoped]
    actions: [{action: close_chat, description: Puts the chat away.}]
    subtabs:
      open:
        identity: You watch open orders.
        tools: [get_report]
      closed:
`
