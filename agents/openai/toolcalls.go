package openai

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/chattray/chattray/agents"
)

// assembly tells which tool call a fragment belongs to. Servers leave out the
// index, the id, or both, give every call the same index, or change a call's id
// while they write it.
type assembly struct {
	limits Limits
	calls  []*toolCall
}

// noArguments are the arguments of a call that has none.
const noArguments = "{}"

type toolCall struct {
	index     *int // the server's number
	id, name  string
	arguments []byte
	empty     bool // the arguments are {} and not given: a gateway may write that before the real ones
	extra     string
	given     bool // a fragment with the name has been given
}

// add adds a fragment; first is true for the first one of its chunk. It returns
// what to yield: nothing until the name is whole, which the arguments or another call show.
func (a *assembly) add(f *fragment, first bool) (out []*agents.CallFragment, err error) {
	n := a.find(f, first)
	if n == len(a.calls) {
		if n == a.limits.Calls {
			return nil, fmt.Errorf("%w: more than %d tool calls", errTooLarge, n)
		}
		out = a.settle(false)
		a.calls = append(a.calls, &toolCall{index: f.Index})
	}
	c := a.calls[n]
	if c.id == "" {
		c.id = f.ID
	}
	if name := f.Function.Name; c.name == "" || (len(c.arguments) == 0 && name != c.name) {
		c.name += name // some servers write it in pieces, others in every fragment
	}
	more := f.Function.arguments()
	if len(c.name)+len(c.arguments)+len(more) > a.limits.Arguments {
		return nil, fmt.Errorf("%w: arguments of more than %d bytes", errTooLarge, a.limits.Arguments)
	}
	more = c.write(more)
	extra := ""
	if isSet(f.Extra) {
		extra = storable(strings.ToValidUTF8(string(f.Extra), "\uFFFD"))
		c.extra = extra
	}
	switch {
	case c.given:
		return append(out, &agents.CallFragment{Index: n, Arguments: more, Extra: extra}), nil
	case c.name == "" || len(c.arguments) == 0 || (n > 0 && !a.calls[n-1].given):
		return out, nil // the call waits for its name or for earlier calls
	}
	c.given = true
	return append(out, c.whole(n)), nil
}

// settle returns what was held back, when another call begins or the reply ends. Only
// at the end it gives a call without a name, and those after it.
func (a *assembly) settle(end bool) (out []*agents.CallFragment) {
	for n, c := range a.calls {
		if c.name == "" && !end {
			break
		}
		held := c.empty
		c.empty = false
		switch {
		case !c.given:
			c.given = true
			out = append(out, c.whole(n))
		case held:
			out = append(out, &agents.CallFragment{Index: n, Arguments: noArguments})
		}
	}
	return out
}

// write adds to the arguments and returns what of them can be given.
func (c *toolCall) write(more string) string {
	if c.empty {
		if strings.TrimSpace(more) == "" {
			return ""
		}
		c.arguments, c.empty = nil, false
	}
	c.empty = len(c.arguments) == 0 && more == noArguments
	c.arguments = append(c.arguments, more...)
	if c.empty {
		return ""
	}
	return more
}

// whole returns all of the call so far that can be given, as a fragment.
func (c *toolCall) whole(n int) *agents.CallFragment {
	f := &agents.CallFragment{Index: n, ID: c.id, Name: c.name, Extra: c.extra}
	if !c.empty {
		f.Arguments = string(c.arguments)
	}
	return f
}

// find returns the position of the fragment's call; len(a.calls) means a new call.
func (a *assembly) find(f *fragment, first bool) int {
	last := len(a.calls) - 1
	for i := last; i >= 0; i-- {
		c := a.calls[i]
		switch {
		case f.Index != nil && c.index != nil && *f.Index == *c.index:
			if c.another(f) {
				return len(a.calls)
			}
			return i
		case f.Index == nil && f.ID != "" && f.ID == c.id:
			return i
		}
	}
	switch {
	case f.Index != nil || last < 0:
		return len(a.calls)
	case f.ID != "":
		if f.Function.Name == "" && first { // the call's id changed in between
			return last
		}
		return len(a.calls)
	case f.Function.Name == "":
		return last
	case !first || f.Function.Name != a.calls[last].name || json.Valid(a.calls[last].arguments):
		return len(a.calls)
	}
	return last
}

// another reports whether f, which has the call's index, begins another call.
func (c *toolCall) another(f *fragment) bool {
	return f.ID != "" && c.id != "" && f.ID != c.id && f.Function.Name != "" &&
		(len(c.arguments) == 0 || json.Valid(c.arguments))
}
