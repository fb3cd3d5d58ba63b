package text

import (
	"errors"
	"io"
	"text/template"
	"text/template/parse"
	"time"
)

// Limits of an execution of a Template. What one step does is bounded by the size of the
// data, so the time is the bound where a step does much.
const (
	templateSteps = 100_000
	templateTime  = 2 * time.Second
)

// ErrEndless is the error of a Template that takes too many steps.
var ErrEndless = errors.New("the template takes too many steps")

// stepped is the function that counts a step. It writes nothing.
const stepped = "_step"

// Template is a text/template whose executions end, whatever the data are. A range within
// a range may take the square of their length, and a range over a number that number of
// steps.
type Template struct{ parsed *template.Template }

// Bounded returns t as one that ends. It changes t: each round of a range and each call of
// a template begins with a step.
func Bounded(t *template.Template) *Template {
	for _, each := range t.Templates() {
		if each.Tree != nil {
			countSteps(each.Root)
			each.Root.Nodes = append([]parse.Node{step()}, each.Root.Nodes...)
		}
	}
	return &Template{t}
}

// step returns an action that counts one.
func step() parse.Node {
	call := &parse.CommandNode{NodeType: parse.NodeCommand, Args: []parse.Node{parse.NewIdentifier(stepped)}}
	return &parse.ActionNode{NodeType: parse.NodeAction, Pipe: &parse.PipeNode{NodeType: parse.NodePipe, Cmds: []*parse.CommandNode{call}}}
}

// countSteps adds a step to every range in the list, which may be nil.
func countSteps(list *parse.ListNode) {
	if list == nil {
		return
	}
	for _, n := range list.Nodes {
		switch n := n.(type) {
		case *parse.IfNode:
			countSteps(n.List)
			countSteps(n.ElseList)
		case *parse.WithNode:
			countSteps(n.List)
			countSteps(n.ElseList)
		case *parse.RangeNode:
			countSteps(n.List)
			countSteps(n.ElseList)
			n.List.Nodes = append([]parse.Node{step()}, n.List.Nodes...)
		}
	}
}

// Execute writes the template's output for the data. It may be used at once from several
// places. On an error, among them ErrEndless, a part has been written.
func (t *Template) Execute(out io.Writer, data any) error {
	own, err := t.parsed.Clone()
	if err != nil {
		return err
	}
	steps, end := 0, time.Now().Add(templateTime)
	own.Funcs(template.FuncMap{stepped: func() (string, error) {
		if steps++; steps > templateSteps || time.Now().After(end) {
			return "", ErrEndless
		}
		return "", nil
	}})
	return own.Execute(out, data)
}
