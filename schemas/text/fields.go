package text

import "text/template/parse"

// Fields returns the paths of the fields of its data that the template names, in order:
// the dot at the top level, and $ everywhere. The dot inside with and range is a value that
// is known only once the data are.
func (t *Template) Fields() [][]string {
	if t.parsed.Tree == nil { // an empty template
		return nil
	}
	var paths [][]string
	fields(t.parsed.Root, true, &paths)
	return paths
}

// fields adds the paths in n. top is true where the dot is the template's data.
func fields(n parse.Node, top bool, paths *[][]string) {
	each := func(top bool, nodes ...parse.Node) {
		for _, n := range nodes {
			fields(n, top, paths)
		}
	}
	switch n := n.(type) {
	case *parse.ListNode:
		if n != nil {
			each(top, n.Nodes...)
		}
	case *parse.ActionNode:
		each(top, n.Pipe)
	case *parse.PipeNode:
		for _, c := range n.Cmds {
			each(top, c.Args...)
		}
	case *parse.ChainNode:
		each(top, n.Node)
	case *parse.TemplateNode:
		if n.Pipe != nil {
			each(top, n.Pipe)
		}
	case *parse.IfNode:
		each(top, n.Pipe, n.List, n.ElseList)
	case *parse.WithNode:
		each(top, n.Pipe)
		each(false, n.List)
		each(top, n.ElseList)
	case *parse.RangeNode:
		each(top, n.Pipe)
		each(false, n.List)
		each(top, n.ElseList)
	case *parse.FieldNode:
		if top {
			*paths = append(*paths, n.Ident)
		}
	case *parse.VariableNode:
		if n.Ident[0] == "$" && len(n.Ident) > 1 {
			*paths = append(*paths, n.Ident[1:])
		}
	}
}
