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

// Registry holds the tools there are. It is safe for concurrent use.
type Registry struct {
	mu     sync.RWMutex
	tools  []turn.Tool
	byName map[string]int
}

// nameRule is what model servers take for a function's name.
var nameRule = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// NewRegistry returns a registry of the tools. The error joins everything that
// is wrong with them; it is meant to stop the start.
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
		if _, taken := r.byName[t.Name]; taken || seen[t.Name] {
			wrong = append(wrong, fmt.Errorf("tool %q: there is another one of this name", t.Name))
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

// fault says what is wrong with a tool.
func fault(t turn.Tool) error {
	var wrong []error
	if !nameRule.MatchString(t.Name) {
		wrong = append(wrong, errors.New("its name must be 1 to 64 letters, digits, _ or -"))
	}
	if t.Description == "" {
		wrong = append(wrong, errors.New("it has no description"))
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
		wrong = append(wrong, errors.New("it has no schema of its arguments"))
	}
	return errors.Join(wrong...)
}

// Has says whether a tool of this name is known: there is one, or it is a
// built-in tool whose service is not configured here. A page may name both.
func (r *Registry) Has(name string) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	_, ok := r.byName[name]
	return ok || slices.Contains(builtinNames, name)
}

// Names returns the names of the tools that there are, in the order in
// which they were added.
func (r *Registry) Names() []string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	names := make([]string, len(r.tools))
	for i, t := range r.tools {
		names[i] = t.Name
	}
	return names
}

// Resolve returns the global tools, in the order in which they were added, and
// then the named ones, in the order of the names, each tool once and only those
// that the user may use. Built-in tools that are not configured are left out;
// unknown names are an error that joins them all.
func (r *Registry) Resolve(names []string, user schemas.User) ([]turn.Tool, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	taken := make([]bool, len(r.tools))
	out := make([]turn.Tool, 0, len(r.tools))
	take := func(i int) {
		if !taken[i] && mayUse(user, r.tools[i]) {
			out = append(out, r.tools[i])
		}
		taken[i] = true
	}
	for i := range r.tools {
		if r.tools[i].Global {
			take(i)
		}
	}
	var unknown []error
	for _, name := range names {
		i, ok := r.byName[name]
		if !ok && slices.Contains(builtinNames, name) {
			continue
		}
		if !ok {
			unknown = append(unknown, fmt.Errorf("there is no tool %q", name))
			continue
		}
		take(i)
	}
	if len(unknown) > 0 {
		return nil, errors.Join(unknown...)
	}
	return out, nil
}

func mayUse(user schemas.User, t turn.Tool) bool {
	return len(t.Roles) == 0 || slices.ContainsFunc(t.Roles, func(role string) bool { return slices.Contains(user.Roles, role) })
}
