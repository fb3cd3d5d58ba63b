package tools

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"text/template"
	"text/template/parse"

	"github.com/chattray/chattray/schemas/text"
)

// maxRendered bounds a URL or body that a template makes, in bytes.
const maxRendered = 256 << 10

// The functions that escape a value for its place. Each action of a template
// ends with one of them; the author cannot leave it out.
const (
	inPath  = "_path"
	inQuery = "_query"
	inJSON  = "_json"
)

var escapers = template.FuncMap{inPath: pathValue, inQuery: queryValue, inJSON: jsonValue}

// ownEscapers would escape a second time.
var ownEscapers = map[string]bool{"urlquery": true, "html": true, "js": true}

// urlTemplate and bodyTemplate parse a template and add the escapers: in a URL for the
// path or, after the question mark, for the query; in a body as values of a form, if it is
// one, and otherwise as JSON.
func urlTemplate(source string) (*text.Template, error) {
	query := false
	return escaped("url", source, func(text string) { query = query || strings.Contains(text, "?") }, func() string {
		if query {
			return inQuery
		}
		return inPath
	})
}

func bodyTemplate(source, contentType string) (*text.Template, error) {
	escaper := inJSON
	if contentType == formType {
		escaper = inQuery
	}
	return escaped("body", source, func(string) {}, func() string { return escaper })
}

func escaped(name, source string, seen func(text string), escaper func() string) (*text.Template, error) {
	t, err := template.New(name).Option("missingkey=zero").Funcs(escapers).Parse(source)
	if err != nil {
		return nil, err
	}
	if len(t.Templates()) > 1 {
		return nil, errors.New("a template must not define others")
	}
	if t.Tree != nil { // otherwise it is an empty template
		err = escapeNode(t.Root, seen, escaper)
	}
	return text.Bounded(t), err
}

// escapeNode appends the escaper to every pipeline whose value is written.
func escapeNode(n parse.Node, seen func(string), escaper func() string) error {
	branches := func(lists ...*parse.ListNode) error {
		for _, l := range lists {
			if l == nil {
				continue
			}
			if err := escapeNode(l, seen, escaper); err != nil {
				return err
			}
		}
		return nil
	}
	switch n := n.(type) {
	case *parse.ListNode:
		for _, c := range n.Nodes {
			if err := escapeNode(c, seen, escaper); err != nil {
				return err
			}
		}
	case *parse.TextNode:
		seen(string(n.Text))
	case *parse.ActionNode:
		if last, ok := n.Pipe.Cmds[len(n.Pipe.Cmds)-1].Args[0].(*parse.IdentifierNode); ok && ownEscapers[last.Ident] {
			return fmt.Errorf("values are escaped automatically; leave out %q", last.Ident)
		}
		if len(n.Pipe.Decl) == 0 {
			id := parse.NewIdentifier(escaper()).SetPos(n.Pos)
			n.Pipe.Cmds = append(n.Pipe.Cmds, &parse.CommandNode{NodeType: parse.NodeCommand, Pos: n.Pos, Args: []parse.Node{id}})
		}
	case *parse.IfNode:
		return branches(n.List, n.ElseList)
	case *parse.RangeNode:
		return branches(n.List, n.ElseList)
	case *parse.WithNode:
		return branches(n.List, n.ElseList)
	case *parse.TemplateNode:
		return errors.New("a template must not call others")
	}
	return nil
}

// render executes t over arguments.
func render(t *text.Template, args map[string]any) (string, error) {
	b := text.Buffer{Limit: maxRendered}
	if err := t.Execute(&b, args); err != nil {
		return "", err
	}
	return b.String(), nil
}

// pathValue escapes a value for one segment of a path. Dots that a server could
// take for a parent folder are refused, also with encoded slashes, and so is an empty
// value: it leaves the folder of what was meant.
func pathValue(v any) (string, error) {
	s := plainText(v)
	if s == "" {
		return "", errors.New("a value in the path must not be empty")
	}
	for segment := range strings.FieldsFuncSeq(s, func(c rune) bool { return c == '/' || c == '\\' }) {
		if segment == "." || segment == ".." {
			return "", errors.New("a value in the path must not lead to a parent folder")
		}
	}
	return url.PathEscape(s), nil
}

func queryValue(v any) string { return url.QueryEscape(plainText(v)) }

func jsonValue(v any) (string, error) {
	b, err := json.Marshal(v)
	return string(b), err
}

// plainText returns a value as text for a URL: nothing for null, lists with commas.
func plainText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case []any:
		parts := make([]string, len(v))
		for i, p := range v {
			parts[i] = plainText(p)
		}
		return strings.Join(parts, ",")
	case map[string]any:
		return jsonText(v)
	default:
		return fmt.Sprint(v)
	}
}

// values decodes arguments for a template: integers stay integers.
func values(input json.RawMessage) (map[string]any, error) {
	v, err := text.Decode([]byte(cmp.Or(string(input), "{}")))
	if err != nil {
		return nil, err
	}
	args, ok := v.(map[string]any)
	if !ok && v != nil {
		return nil, errors.New("the arguments must be an object")
	}
	return args, nil
}
