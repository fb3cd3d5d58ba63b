// Package delta folds the frames of the dialect messages into messages. It is
// pure. The TypeScript client in web has the same rules, and the tests of both
// run the table testdata/delta.json.
package delta

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/chattray/chattray/schemas"
)

// MaxDepth bounds the length of a path and the depth of a merge.
const MaxDepth = 32

// The actions of a frame; an empty one is Append.
const (
	Append  = "append"
	Replace = "replace"
	Merge   = "merge"
	Set     = "set"
)

// ErrRefused is in the tree of every error: the frame is not applied, and the
// state is unchanged.
var ErrRefused = errors.New("the frame is refused")

func refuse(format string, args ...any) error {
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), ErrRefused)
}

// Message is a message, folded from its frames so far. Props have the types
// that encoding/json decodes into any.
type Message struct {
	ID     string
	Type   string
	Props  map[string]any
	Block  string
	Thread string
	// Closed is set by message_end; later frames are refused.
	Closed bool
}

// State is the messages of a stream in the order of their first frames. The
// zero value is empty. It is not safe for concurrent use.
type State struct {
	Messages []*Message

	byID map[string]*Message
	seen map[string]bool
}

// Apply adds a frame. A frame with a known chunk_id is ignored; events close
// messages and change nothing else.
func (s *State) Apply(f schemas.MessageFrame) error {
	if s.seen[f.ChunkID] {
		return nil
	}
	if err := s.fold(f); err != nil {
		return err
	}
	if s.seen == nil {
		s.seen = make(map[string]bool)
	}
	s.seen[f.ChunkID] = true
	return nil
}

func (s *State) fold(f schemas.MessageFrame) error {
	props := map[string]any{}
	if len(f.Props) > 0 {
		if err := json.Unmarshal(f.Props, &props); err != nil || props == nil {
			return refuse("props are not an object")
		}
	}
	if f.Type == "event" {
		s.event(props)
		return nil
	}
	m := s.byID[f.MessageID]
	switch {
	case m == nil:
		return s.begin(f, props)
	case m.Closed:
		return refuse("message %s has ended", m.ID)
	case m.Type == f.Type || f.TypeChange:
	case f.Delta:
		return refuse("message %s is %s, not %s", m.ID, m.Type, f.Type)
	default:
		m.Type, m.Props = f.Type, props
		return nil
	}
	next, err := Apply(m.Props, f.DeltaPath, f.DeltaAction, props)
	if err != nil {
		return err
	}
	m.Type, m.Props = f.Type, next
	return nil
}

// begin adds the message of a first frame; the message begins with the frame's
// props, even if it is a delta.
func (s *State) begin(f schemas.MessageFrame, props map[string]any) error {
	if err := safe(props, 0); err != nil {
		return err
	}
	m := &Message{ID: f.MessageID, Type: f.Type, Props: props, Block: f.BlockID, Thread: f.ThreadID}
	s.Messages = append(s.Messages, m)
	if m.ID != "" {
		if s.byID == nil {
			s.byID = make(map[string]*Message)
		}
		s.byID[m.ID] = m
	}
	return nil
}

// event closes the message that a message_end names.
func (s *State) event(props map[string]any) {
	data, _ := props["data"].(map[string]any)
	id, _ := data["message_id"].(string)
	if m := s.byID[id]; m != nil && props["event"] == "message_end" {
		m.Closed = true
	}
}

// Apply returns props with an action applied. With a path the value is what
// frame has at the same path; without one the action applies to each key
// of frame. Neither props nor frame are changed.
func Apply(props map[string]any, path, action string, frame map[string]any) (map[string]any, error) {
	if action == "" {
		action = Append
	}
	if !slices.Contains([]string{Append, Replace, Merge, Set}, action) {
		return nil, refuse("unknown action %q", action)
	}
	if err := safe(frame, 0); err != nil {
		return nil, err
	}
	if path == "" {
		next := maps.Clone(props)
		for key, value := range frame {
			was, there := props[key]
			next[key] = combine(was, there, action, value)
		}
		return next, nil
	}
	keys, err := split(path)
	if err != nil {
		return nil, err
	}
	value, err := lookUp(frame, keys)
	if err != nil {
		return nil, err
	}
	next, err := update(props, true, keys, action, value)
	if err != nil {
		return nil, err
	}
	return next.(map[string]any), nil //nolint:forcetypeassert // update keeps the kind of what is there
}

// split takes a path apart: a.b[0].c or a.b.0.c, with or without "props." in
// front.
func split(path string) ([]string, error) {
	path = strings.TrimPrefix(path, "props.")
	keys := strings.Split(strings.ReplaceAll(strings.ReplaceAll(path, "]", ""), "[", "."), ".")
	if len(keys) > MaxDepth {
		return nil, refuse("the path is deeper than %d", MaxDepth)
	}
	for _, key := range keys {
		if key == "" || forbidden(key) {
			return nil, refuse("the key %q is not allowed", key)
		}
	}
	return keys, nil
}

func forbidden(key string) bool {
	return key == "__proto__" || key == "constructor" || key == "prototype"
}

// safe refuses values that are too deep, or have a key that is none for some readers. The
// other keys that paths may not have are names like any in data.
func safe(v any, depth int) error {
	if depth > MaxDepth {
		return refuse("the value is deeper than %d", MaxDepth)
	}
	switch v := v.(type) {
	case map[string]any:
		for key, inner := range v {
			if key == "__proto__" {
				return refuse("the key %q is not allowed", key)
			}
			if err := safe(inner, depth+1); err != nil {
				return err
			}
		}
	case []any:
		for _, inner := range v {
			if err := safe(inner, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// lookUp returns what v has under keys.
func lookUp(v any, keys []string) (any, error) {
	for _, key := range keys {
		var ok bool
		switch in := v.(type) {
		case map[string]any:
			v, ok = in[key]
		case []any:
			if n, is := index(key); is && n < len(in) {
				v, ok = in[n], true
			}
		}
		if !ok {
			return nil, refuse("the frame has no value at %q", key)
		}
	}
	return v, nil
}

// index returns a key as an index.
func index(key string) (int, bool) {
	n, err := strconv.Atoi(key)
	return n, err == nil && n >= 0 && strconv.Itoa(n) == key
}

// update returns node with the action applied at the path keys. There reports
// whether node exists; only Set creates missing parents. Lists grow by at most
// one.
func update(node any, there bool, keys []string, action string, value any) (any, error) {
	if len(keys) == 0 {
		return combine(node, there, action, value), nil
	}
	key := keys[0]
	n, isIndex := index(key)
	if !there {
		if action != Set {
			return nil, refuse("the parent of %q does not exist", key)
		}
		if node = map[string]any{}; isIndex {
			node = []any{}
		}
	}
	switch in := node.(type) {
	case map[string]any:
		was, has := in[key]
		inner, err := update(was, has, keys[1:], action, value)
		if err != nil {
			return nil, err
		}
		out := maps.Clone(in)
		out[key] = inner
		return out, nil
	case []any:
		if !isIndex || n > len(in) {
			return nil, refuse("%q is not an index of a list of %d", key, len(in))
		}
		out := append(slices.Clone(in), nil)
		inner, err := update(out[n], n < len(in), keys[1:], action, value)
		if err != nil {
			return nil, err
		}
		out[n] = inner
		return out[:max(len(in), n+1)], nil
	default:
		return nil, refuse("%q is inside a value that has no keys", key)
	}
}

// combine applies the action to one value. Append joins strings and lists,
// merge descends into objects; if the types do not fit, the new value replaces
// the old one.
func combine(was any, there bool, action string, value any) any {
	if !there {
		return value
	}
	switch old := was.(type) {
	case string:
		if more, ok := value.(string); ok && action == Append {
			return old + more
		}
	case []any:
		if more, ok := value.([]any); ok && action == Append {
			return slices.Concat(old, more)
		}
	case map[string]any:
		if more, ok := value.(map[string]any); ok && action == Merge {
			out := maps.Clone(old)
			for key, inner := range more {
				before, has := old[key]
				out[key] = combine(before, has, Merge, inner)
			}
			return out
		}
	}
	return value
}
