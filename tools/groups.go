package tools

import (
	"errors"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strings"

	"github.com/chattray/chattray/schemas/turn"
)

// A tool of a group is named GROUP__TOOL; GROUP__* means all of them.
const (
	GroupSeparator = "__"
	GroupAll       = "*"
)

// group is a set of tools, such as those of an MCP server, that is replaced as
// a whole. Its slice is never written to.
type group struct {
	name  string
	tools []turn.Tool
}

// groupRule leaves room for the names of the tools.
var groupRule = regexp.MustCompile(`^[a-z0-9]+([_-][a-z0-9]+)*$`)

// maxGroupName is the longest name of a group, in characters.
const maxGroupName = 24

// CheckGroup returns what is wrong with the name of a group; nil if nothing is.
func CheckGroup(name string) error {
	if !groupRule.MatchString(name) || len(name) > maxGroupName {
		return fmt.Errorf("must be 1 to %d lower case letters and digits, with single - or _ between them", maxGroupName)
	}
	return nil
}

// Reserve makes empty groups. From then on pages may name their tools.
func (r *Registry) Reserve(names ...string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var wrong []error
	for _, name := range names {
		err := CheckGroup(name)
		has := func(t turn.Tool) bool { return strings.HasPrefix(t.Name, name+GroupSeparator) }
		switch {
		case err != nil:
		case slices.ContainsFunc(r.groups, func(g group) bool { return g.name == name }):
			err = errors.New("there is already a group of this name")
		case slices.ContainsFunc(r.tools, has):
			err = errors.New("there is already a tool of this name")
		default:
			r.groups = append(r.groups, group{name: name})
		}
		if err != nil {
			wrong = append(wrong, fmt.Errorf("group of tools %q: %w", name, err))
		}
	}
	return errors.Join(wrong...)
}

// Replace replaces the tools of a group: all of them, or none and an error that
// joins everything that is wrong. Turns that have resolved their tools keep
// them.
func (r *Registry) Replace(name string, tools []turn.Tool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.groups, func(g group) bool { return g.name == name })
	if i < 0 {
		return fmt.Errorf("there is no group of tools %q", name)
	}
	var wrong []error
	seen := map[string]bool{}
	for _, t := range tools {
		err := fault(t)
		if !strings.HasPrefix(t.Name, name+GroupSeparator) || seen[t.Name] {
			err = errors.Join(err, fmt.Errorf("another tool of the group %q has this name", name))
		}
		if err != nil {
			wrong = append(wrong, fmt.Errorf("tool %q: %w", t.Name, err))
		}
		seen[t.Name] = true
	}
	if len(wrong) > 0 {
		return errors.Join(wrong...)
	}
	r.groups[i].tools = slices.Clone(tools)
	return nil
}

// groupOf returns the group that a tool of this name belongs to, or nil. The
// caller holds the lock.
func (r *Registry) groupOf(name string) *group {
	prefix, rest, ok := strings.Cut(name, GroupSeparator)
	if !ok || rest == "" || rest != GroupAll && !nameRule.MatchString(name) {
		return nil
	}
	i := slices.IndexFunc(r.groups, func(g group) bool { return g.name == prefix })
	if i < 0 {
		return nil
	}
	return &r.groups[i]
}

// all yields every tool. The caller holds the lock.
func (r *Registry) all() iter.Seq[turn.Tool] {
	return func(yield func(turn.Tool) bool) {
		for _, t := range r.tools {
			if !yield(t) {
				return
			}
		}
		for _, g := range r.groups {
			for _, t := range g.tools {
				if !yield(t) {
					return
				}
			}
		}
	}
}
