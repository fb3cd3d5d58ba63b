package pages

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/turn"
)

// pageFile is a page file as written; only its form has been checked.
type pageFile struct {
	pageLevel
	file    string
	aliases []pageWord
}

// pageLevel is the content of a page, tab or subtab. The fields from
// registryTools on are set once its names have been looked up.
type pageLevel struct {
	name     string
	line     int
	identity string
	builder  pageWord
	template pageWord
	tools    []pageWord
	payloads []pageWord
	set      []pageArguments
	actions  []pageAction
	newTypes []pagePayload
	newTools []pageTool
	children []*pageLevel

	registryTools []string
	madeTools     []turn.Tool
	madeActions   []turn.Tool
	types         []turn.PayloadType
}

// pageWord is a text with its line in the file.
type pageWord struct {
	text string
	line int
}

type pageAction struct {
	schemas.Action
	line int
	http *pageTool // nil when the service or the page handles it
}

type pagePayload struct {
	turn.PayloadDef
	line int
}

type pageTool struct {
	turn.HTTPTool
	line       int
	headerLine map[string]int
}

// pageReader reads the nodes of one file. A value of the wrong form is reported
// and read as absent.
type pageReader struct {
	loader *pageLoader
	file   string
	key    string // that of the value being read
}

func (r *pageReader) wrong(line int, format string, args ...any) {
	r.loader.wrong(r.file, line, format, args...)
}

// wrongValue reports what the value of the current key must be.
func (r *pageReader) wrongValue(line int, format string, args ...any) {
	r.wrong(line, "%s "+format, append([]any{r.key}, args...)...)
}

// page reads a whole file; fallback is the page's name if `page:` is absent.
func (r *pageReader) page(root *yaml.Node, fallback string) *pageFile {
	f := &pageFile{file: r.file, pageLevel: pageLevel{name: fallback, line: 1}}
	fields := r.levelFields(&f.pageLevel, "tabs")
	fields["page"] = func(n *yaml.Node) { f.name, f.line = r.name(n), n.Line }
	fields["aliases"] = func(n *yaml.Node) {
		r.list(n, func(n *yaml.Node) { f.aliases = append(f.aliases, pageWord{r.name(n), n.Line}) })
	}
	r.object(root, "page", fields)
	return f
}

// levelFields are the keys of a page, tab or subtab; nested is the key of the
// levels inside it, "" for none.
func (r *pageReader) levelFields(l *pageLevel, nested string) map[string]func(*yaml.Node) {
	fields := map[string]func(*yaml.Node){
		"identity": func(n *yaml.Node) { l.identity = r.longText(n) },
		"context": func(n *yaml.Node) {
			r.object(n, "context", map[string]func(*yaml.Node){
				"builder":  func(n *yaml.Node) { l.builder = pageWord{r.text(n), n.Line} },
				"template": func(n *yaml.Node) { l.template = pageWord{r.longText(n), n.Line} },
			})
		},
		"tools":    func(n *yaml.Node) { l.tools = r.words(n, "tool") },
		"payloads": func(n *yaml.Node) { l.payloads = r.words(n, "payload type") },
		"arguments": func(n *yaml.Node) {
			r.pairs(n, "arguments", func(key, value *yaml.Node) { l.set = append(l.set, r.arguments(key, value)) })
		},
		"actions": func(n *yaml.Node) {
			r.list(n, func(n *yaml.Node) { l.actions = append(l.actions, r.action(n)) })
		},
		"payload_types": func(n *yaml.Node) {
			r.list(n, func(n *yaml.Node) { l.newTypes = append(l.newTypes, r.payloadType(n)) })
		},
		"http_tools": func(n *yaml.Node) {
			r.list(n, func(n *yaml.Node) { l.newTools = append(l.newTools, r.httpTool(n)) })
		},
	}
	if nested != "" {
		fields[nested] = func(n *yaml.Node) { l.children = r.levels(n, nested) }
	}
	return fields
}

func (r *pageReader) levels(n *yaml.Node, kind string) []*pageLevel {
	nested := ""
	if kind == "tabs" {
		nested = "subtabs"
	}
	var list []*pageLevel
	r.pairs(n, kind, func(key, value *yaml.Node) {
		l := &pageLevel{name: r.name(key), line: key.Line}
		list = append(list, l)
		if value.Tag != "!!null" {
			r.object(value, strings.TrimSuffix(kind, "s"), r.levelFields(l, nested))
		}
	})
	return list
}

func (r *pageReader) action(n *yaml.Node) pageAction {
	a := pageAction{line: n.Line}
	r.object(n, "action", map[string]func(*yaml.Node){
		"action":       func(n *yaml.Node) { a.Action.Action = r.name(n) },
		"description":  func(n *yaml.Node) { a.Description = r.longText(n) },
		"handler":      func(n *yaml.Node) { a.Handler = r.text(n) },
		"payload_type": func(n *yaml.Node) { a.PayloadType = r.text(n) },
		"http":         func(n *yaml.Node) { a.http = r.request(n, "http") },
	})
	switch {
	case a.Handler == "" && a.http != nil:
		a.Handler = handlerServer
	case a.Handler == "":
		a.Handler = handlerClient
	}
	return a
}

// request reads the HTTP request of an action.
func (r *pageReader) request(n *yaml.Node, what string) *pageTool {
	t := &pageTool{line: n.Line, headerLine: make(map[string]int)}
	t.Headers = make(map[string]string)
	r.object(n, what, r.requestFields(t))
	t.defaultMethod()
	return t
}

func (r *pageReader) payloadType(n *yaml.Node) pagePayload {
	p := pagePayload{line: n.Line}
	r.object(n, "payload type", map[string]func(*yaml.Node){
		"name":         func(n *yaml.Node) { p.Name = r.text(n) },
		"description":  func(n *yaml.Node) { p.Description = r.text(n) },
		"source":       func(n *yaml.Node) { p.Source = r.text(n) },
		"marker":       func(n *yaml.Node) { p.Marker = r.text(n) },
		"instructions": func(n *yaml.Node) { p.Instructions = r.text(n) },
		"schema":       func(n *yaml.Node) { p.Schema = r.json(n) },
		"summary":      func(n *yaml.Node) { p.Summary = r.text(n) },
	})
	if p.Source == "" {
		p.Source = "tool"
		if p.Marker != "" {
			p.Source = "llm"
		}
	}
	return p
}

func (r *pageReader) httpTool(n *yaml.Node) pageTool {
	t := pageTool{line: n.Line, headerLine: make(map[string]int)}
	t.Headers = make(map[string]string)
	idempotent, confirm := false, false
	fields := r.requestFields(&t)
	fields["name"] = func(n *yaml.Node) { t.Name = r.text(n) }
	fields["description"] = func(n *yaml.Node) { t.Description = r.text(n) }
	fields["title"] = func(n *yaml.Node) { t.Title = r.text(n) }
	fields["done"] = func(n *yaml.Node) { t.Done = r.text(n) }
	fields["confirm"] = func(n *yaml.Node) { t.Confirm, confirm = r.bool(n), true }
	fields["idempotent"] = func(n *yaml.Node) { t.Idempotent, idempotent = r.bool(n), true }
	r.object(n, "HTTP tool", fields)
	t.defaultMethod()
	safe := t.Method == "GET" || t.Method == "HEAD" //nolint:usestdlibvars // words of the page file
	if !idempotent {
		t.Idempotent = safe
	}
	if !confirm {
		t.Confirm = !safe
	}
	return t
}

// requestFields are the keys of an HTTP request.
func (r *pageReader) requestFields(t *pageTool) map[string]func(*yaml.Node) {
	return map[string]func(*yaml.Node){
		"input_schema": func(n *yaml.Node) { t.InputSchema = r.json(n) },
		"method":       func(n *yaml.Node) { t.Method = strings.ToUpper(r.text(n)) },
		"url":          func(n *yaml.Node) { t.URL = r.text(n) },
		"body":         func(n *yaml.Node) { t.Body = r.text(n) },
		"headers": func(n *yaml.Node) {
			r.pairs(n, "headers", func(key, value *yaml.Node) {
				t.Headers[key.Value], t.headerLine[key.Value] = r.text(value), value.Line
			})
		},
		"payload":      func(n *yaml.Node) { t.Payload = r.text(n) },
		"payload_type": func(n *yaml.Node) { t.PayloadType = r.text(n) },
	}
}

func (t *pageTool) defaultMethod() {
	if t.Method == "" {
		t.Method = "GET"
		if t.Body != "" {
			t.Method = "POST"
		}
	}
}

// object reads a mapping that has only the keys of fields.
func (r *pageReader) object(n *yaml.Node, what string, fields map[string]func(*yaml.Node)) {
	r.pairs(n, what, func(key, value *yaml.Node) {
		read, ok := fields[key.Value]
		if !ok {
			r.wrong(key.Line, "unknown key %q in %s; it may have %s", key.Value, what, strings.Join(slices.Sorted(maps.Keys(fields)), ", "))
			return
		}
		read(value)
	})
}

// pairs reads a mapping in order, each key once.
func (r *pageReader) pairs(n *yaml.Node, what string, each func(key, value *yaml.Node)) {
	n = r.follow(n)
	if n.Kind != yaml.MappingNode {
		r.wrong(n.Line, "%s must be a mapping", what)
		return
	}
	if len(n.Content)/2 > maxPageItems {
		r.wrong(n.Line, "%s has more than %d entries", what, maxPageItems)
		return
	}
	seen := make(map[string]bool)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := r.follow(n.Content[i])
		if key.Kind != yaml.ScalarNode {
			r.wrong(key.Line, "a key of %s must be a plain name", what)
			continue
		}
		if seen[key.Value] {
			r.wrong(key.Line, "%q is given twice", key.Value)
			continue
		}
		seen[key.Value] = true
		outer := r.key
		r.key = key.Value
		each(key, r.follow(n.Content[i+1]))
		r.key = outer
	}
}

func (r *pageReader) list(n *yaml.Node, each func(*yaml.Node)) {
	if n.Kind != yaml.SequenceNode {
		r.wrongValue(n.Line, "must be a list")
		return
	}
	if len(n.Content) > maxPageItems {
		r.wrongValue(n.Line, "has more than %d entries", maxPageItems)
		return
	}
	for _, item := range n.Content {
		each(r.follow(item))
	}
}

// words reads a list of names, each once.
func (r *pageReader) words(n *yaml.Node, what string) []pageWord {
	var list []pageWord
	seen := make(map[string]bool)
	r.list(n, func(n *yaml.Node) {
		word := r.text(n)
		if seen[word] {
			r.wrong(n.Line, "%s %q is given twice", what, word)
			return
		}
		seen[word] = true
		list = append(list, pageWord{word, n.Line})
	})
	return list
}

func (r *pageReader) text(n *yaml.Node) string {
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		r.wrongValue(n.Line, "must be text; one that begins with { or [ needs quotation marks")
		return ""
	}
	return n.Value
}

func (r *pageReader) longText(n *yaml.Node) string {
	s := r.text(n)
	if utf8.RuneCountInString(s) > maxPageText {
		r.wrongValue(n.Line, "has more than %d characters", maxPageText)
	}
	return strings.TrimSpace(s)
}

// name reads the name of a page, tab, subtab or action: one short line.
func (r *pageReader) name(n *yaml.Node) string {
	s := r.text(n)
	if s != "" && (utf8.RuneCountInString(s) > maxPageName || strings.TrimSpace(s) != s || strings.ContainsAny(s, "\r\n\t")) {
		r.wrong(n.Line, "a name is one line of at most %d characters", maxPageName)
	}
	if s == "" && n.Kind == yaml.ScalarNode {
		r.wrong(n.Line, "a name must not be empty")
	}
	return s
}

func (r *pageReader) bool(n *yaml.Node) bool {
	var b bool
	if n.Kind != yaml.ScalarNode || n.Tag != "!!bool" || n.Decode(&b) != nil {
		r.wrongValue(n.Line, "must be true or false")
	}
	return b
}

// json reads a value as JSON, for example a schema. A string is read as JSON
// text.
func (r *pageReader) json(n *yaml.Node) json.RawMessage {
	if n.Kind == yaml.ScalarNode && n.Tag == "!!str" {
		if !json.Valid([]byte(n.Value)) {
			r.wrongValue(n.Line, "must be a mapping, or one as JSON text")
			return nil
		}
		return json.RawMessage(n.Value)
	}
	var v any
	if yamlDepth(n) > maxPageDepth {
		r.wrongValue(n.Line, "is nested more than %d deep", maxPageDepth)
		return nil
	}
	if err := n.Decode(&v); err != nil {
		r.wrongValue(n.Line, "is not a JSON value")
		return nil
	}
	raw, err := json.Marshal(v)
	if err != nil {
		r.wrongValue(n.Line, "is not a JSON value")
		return nil
	}
	return raw
}

// follow returns the node that an alias refers to.
func (r *pageReader) follow(n *yaml.Node) *yaml.Node {
	for range maxPageAliasHops {
		if n.Kind != yaml.AliasNode {
			return n
		}
		n = n.Alias
	}
	return n
}

// yamlDepth is the depth of nested collections; aliases count as leaves.
func yamlDepth(n *yaml.Node) int {
	deepest := 0
	for _, child := range n.Content {
		deepest = max(deepest, yamlDepth(child))
	}
	if n.Kind == yaml.ScalarNode || n.Kind == yaml.AliasNode {
		return 0
	}
	return deepest + 1
}
