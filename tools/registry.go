package tools

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"sync"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/turn"
)

// Registry holds the tools: added tools, which are permanent, and the tools of
// groups, which can be replaced. It is safe for concurrent use.
type Registry struct {
	mu     sync.RWMutex
	tools  []turn.Tool
	byName map[string]int
	groups []group
	// expected are the names of tools that may be absent.
	expected []string
}

// nameRule matches the function names that model servers accept.
var nameRule = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// NewRegistry returns a registry of the tools. The error joins everything that
// is wrong with them; the program should not start with such tools.
func NewRegistry(tools ...turn.Tool) (*Registry, error) {
	r := &Registry{byName: map[string]int{}}
	if err := r.Add(tools...); err != nil {
		return nil, err
	}
	return r, nil
}

// Add adds tools, such as those that pages declare: all of them, or none and
// an error that joins everything that is wrong.
func (r *Registry) Add(tools ...turn.Tool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var wrong []error
	seen := map[string]bool{}
	for _, t := range tools {
		if err := fault(t); err != nil {
			wrong = append(wrong, fmt.Errorf("tool %q: %w", t.Name, err))
		}
		if _, taken := r.byName[t.Name]; taken || seen[t.Name] || r.groupOf(t.Name) != nil {
			wrong = append(wrong, fmt.Errorf("tool %q: there is already a tool of this name", t.Name))
		}
		seen[t.Name] = true
	}
	if len(wrong) > 0 {
		return errors.Join(wrong...)
	}
	for _, t := range tools {
		r.byName[t.Name] = len(r.tools)
		r.tools = append(r.tools, t)
	}
	return nil
}

// Expect lets pages name tools that may be absent here, such as those whose service is not
// configured. Call it only at the start.
func (r *Registry) Expect(names ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.expected = append(r.expected, names...)
}

// fault returns what is wrong with a tool.
func fault(t turn.Tool) error {
	var wrong []error
	if !nameRule.MatchString(t.Name) {
		wrong = append(wrong, errors.New("its name must be 1 to 64 letters, digits, _ or -"))
	}
	if t.Description == "" {
		wrong = append(wrong, errors.New("it has no description"))
	}
	if err := t.Fault(); err != nil {
		wrong = append(wrong, err)
	}
	if t.Timeout < 0 {
		wrong = append(wrong, errors.New("its timeout is negative"))
	}
	switch {
	case t.Run == nil && t.Check != nil:
		wrong = append(wrong, t.Check(nil))
	case t.Run == nil:
		wrong = append(wrong, errNoFunction)
	case len(t.InputSchema) == 0:
		wrong = append(wrong, errors.New("it has no schema for its arguments"))
	}
	return errors.Join(wrong...)
}

// Has reports whether a page may name this tool: it exists, a group may get it,
// it is expected, or it is GROUP__* of a group.
func (r *Registry) Has(name string) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	_, ok := r.byName[name]
	return ok || r.groupOf(name) != nil || slices.Contains(r.expected, name)
}

// Tool returns the added tool of that name. Tools of groups, which are replaced, are
// not found.
func (r *Registry) Tool(name string) (turn.Tool, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	i, ok := r.byName[name]
	if !ok {
		return turn.Tool{}, false
	}
	return r.tools[i], true
}

// Names returns the names of the added tools, in their order, and then the names of the groups' tools.
func (r *Registry) Names() []string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	names := make([]string, 0, len(r.tools))
	for t := range r.all() {
		names = append(names, t.Name)
	}
	return names
}

// Resolve returns the global tools, in the order in which they were added, and
// then the named ones, in the order of the names, each tool once and only those
// that the user may use. GROUP__* names all of a group. Expected tools that are
// absent and tools that a group currently lacks are left out. The error joins all
// unknown names.
func (r *Registry) Resolve(names []string, user schemas.User) ([]turn.Tool, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	taken := make(map[string]bool, len(r.tools))
	out := make([]turn.Tool, 0, len(r.tools))
	take := func(t turn.Tool) {
		if !taken[t.Name] && mayUse(user, t) {
			out = append(out, t)
		}
		taken[t.Name] = true
	}
	for t := range r.all() {
		if t.Global {
			take(t)
		}
	}
	var unknown []error
	for _, name := range names {
		i, ok := r.byName[name]
		switch g := r.groupOf(name); {
		case ok:
			take(r.tools[i])
		case g != nil:
			for _, t := range g.tools {
				if name == t.Name || name == g.name+GroupSeparator+GroupAll {
					take(t)
				}
			}
		case !slices.Contains(r.expected, name):
			unknown = append(unknown, fmt.Errorf("there is no tool %q", name))
		}
	}
	if len(unknown) > 0 {
		return nil, errors.Join(unknown...)
	}
	return out, nil
}

// Offered returns the tools that the user may call outside of a chat: the
// global ones that need no chat and no approval, change nothing and belong to
// no group. Outside a chat nobody can be asked for approval.
func (r *Registry) Offered(user schemas.User) []turn.Tool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	var out []turn.Tool
	for _, t := range r.tools {
		if t.Global && !t.Confirm && !t.Effects && !t.InChat && mayUse(user, t) {
			out = append(out, t)
		}
	}
	return out
}

func mayUse(user schemas.User, t turn.Tool) bool {
	return len(t.Roles) == 0 || slices.ContainsFunc(t.Roles, func(role string) bool { return slices.Contains(user.Roles, role) })
}
