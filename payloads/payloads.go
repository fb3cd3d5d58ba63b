// Package payloads owns the kinds of structured data that an answer may have
// for the page: their JSON schemas, the markers after which a model writes
// them, the instructions for the model and the one-line summaries. It removes
// payloads and suggestions from a model's text while the text streams.
//
// It is pure: text in, values and warnings out. Other packages own ids,
// storage, manifests and the effect of a click. Its types are turn.PayloadType
// and turn.Found.
package payloads

import (
	"embed"
	"fmt"
	"slices"
	"sync"

	"github.com/chattray/chattray/schemas/turn"
)

//go:embed schemas/*.json
var schemaFiles embed.FS

// Registry holds the payload types by name: the bundled ones and those that
// page files declare. Call Add only at the start; after that the registry is
// safe for concurrent use.
type Registry struct {
	byName map[string]turn.PayloadType
	names  []string
}

// NewRegistry returns a registry with the bundled types. An error is a defect
// of the bundled files.
func NewRegistry() (*Registry, error) {
	types, err := bundledTypes()
	if err != nil {
		return nil, err
	}
	r := &Registry{byName: make(map[string]turn.PayloadType)}
	for _, t := range types {
		if err := r.Add(t); err != nil {
			return nil, fmt.Errorf("bundled payload type: %w", err)
		}
	}
	return r, nil
}

// bundledTypes reads the bundled types once for the process.
var bundledTypes = sync.OnceValues(func() ([]turn.PayloadType, error) {
	types := make([]turn.PayloadType, 0, len(bundled))
	for _, b := range bundled {
		t, err := b.payloadType()
		if err != nil {
			return nil, fmt.Errorf("bundled payload type: %w", err)
		}
		types = append(types, t)
	}
	return types, nil
})

// Add adds a type made by NewType. Name and marker must be new.
func (r *Registry) Add(t turn.PayloadType) error {
	if r.Has(t.Name) {
		return fmt.Errorf("payload type %s: there is already a type of this name", t.Name)
	}
	for _, other := range r.byName {
		if t.Marker != "" && t.Marker == other.Marker {
			return fmt.Errorf("payload type %s: marker %s belongs to %s", t.Name, t.Marker, other.Name)
		}
	}
	r.byName[t.Name] = t
	r.names = append(r.names, t.Name)
	return nil
}

// Type returns the type of that name.
func (r *Registry) Type(name string) (turn.PayloadType, bool) {
	t, ok := r.byName[name]
	return t, ok
}

// Has reports whether there is a type of that name.
func (r *Registry) Has(name string) bool {
	_, ok := r.byName[name]
	return ok
}

// Names returns the names of all types in the order in which they were added.
func (r *Registry) Names() []string { return slices.Clone(r.names) }

// Globals returns the types that every page allows, in the order in which they
// were added.
func (r *Registry) Globals() []turn.PayloadType {
	var all []turn.PayloadType
	for _, name := range r.names {
		if t := r.byName[name]; t.Global {
			all = append(all, t)
		}
	}
	return all
}
