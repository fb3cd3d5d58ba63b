package ui

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/chattray/chattray/schemas/runlog"
)

// state is what the client tracks of a message to decide which chunks it refuses.
type state struct {
	message string
	texts   map[string]bool // open parts
	partial map[string]bool // calls whose input streams
	calls   map[string]bool
	open    bool // a step
	words   strings.Builder
	joiner  runlog.Joiner
}

// chunk is a chunk of the stream, with the members that are checked.
type chunk struct {
	Type       string
	ID         string
	Delta      string
	MessageID  string
	ToolCallID string
}

// check returns the text that a client shows, and an error for what it would refuse: a part
// that ends before it begins, an unknown call, another message, a chunk of an unknown type,
// null, or anything after the end.
func check(responses [][]byte) (string, error) {
	s := state{calls: map[string]bool{}}
	for n, r := range responses {
		s.texts, s.partial, s.open = map[string]bool{}, map[string]bool{}, false
		frames := strings.Split(strings.TrimSuffix(string(r), "\n\n"), "\n\n")
		for i, frame := range frames {
			data, ok := strings.CutPrefix(frame, "data: ")
			switch {
			case !ok || strings.ContainsAny(data, "\n\r"):
				return "", fmt.Errorf("response %d: frame %q", n, frame)
			case data == done != (i == len(frames)-1):
				return "", fmt.Errorf("response %d: the end is frame %d of %d", n, i, len(frames))
			case data == done:
				continue
			}
			if err := s.take(data, i == 0); err != nil {
				return "", fmt.Errorf("response %d: %s: %w", n, data, err)
			}
		}
		if len(s.texts) > 0 && !strings.Contains(string(r), `{"type":"error"`) {
			return "", fmt.Errorf("response %d leaves parts open", n)
		}
	}
	return s.words.String(), nil
}

// free are the types of chunks that are allowed at any time.
var free = []string{"finish", "abort", "error", "data-status", "data-approval", "data-payload", "data-suggestions", "data-block-delta", "data-block", "data-error"}

func (s *state) take(data string, first bool) error {
	var c chunk
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte(data), &c); err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(data), &members); err != nil {
		return err
	}
	for name, v := range members {
		if string(v) == "null" {
			return fmt.Errorf("%s is null", name)
		}
	}
	if first != (c.Type == "start") {
		return fmt.Errorf("start is not first, or is repeated")
	}
	switch c.Type {
	case "start":
		if s.message != "" && s.message != c.MessageID || c.MessageID == "" {
			return fmt.Errorf("another message than %s", s.message)
		}
		s.message = c.MessageID
	case "start-step", "finish-step":
		return s.step(c.Type == "start-step")
	case "text-start", "reasoning-start", "text-delta", "text-end", "reasoning-delta", "reasoning-end":
		return s.part(c)
	default:
		if !slices.Contains(free, c.Type) {
			return s.call(c)
		}
	}
	return nil
}

func (s *state) step(begins bool) error {
	if s.open == begins {
		return fmt.Errorf("a step is open: %v", s.open)
	}
	s.open = begins
	return nil
}

func (s *state) part(c chunk) error {
	begins := strings.HasSuffix(c.Type, "-start")
	if s.texts[c.ID] == begins {
		return fmt.Errorf("the part is open: %v", !begins)
	}
	switch {
	case begins:
		s.texts[c.ID] = true
	case strings.HasSuffix(c.Type, "-end"):
		delete(s.texts, c.ID)
	case c.Type == "text-delta":
		s.words.WriteString(s.joiner.Text(c.Delta))
	}
	return nil
}

func (s *state) call(c chunk) error {
	switch c.Type {
	case "tool-input-start":
		s.partial[c.ToolCallID], s.calls[c.ToolCallID] = true, true
	case "tool-input-delta":
		if !s.partial[c.ToolCallID] {
			return fmt.Errorf("the input of the call does not stream")
		}
	case "tool-input-available":
		s.calls[c.ToolCallID] = true
	case "tool-approval-request", "tool-output-available", "tool-output-error", "tool-output-denied":
		if !s.calls[c.ToolCallID] {
			return fmt.Errorf("the call is not known")
		}
		s.joiner.Marker()
	default:
		return fmt.Errorf("the client does not know the type")
	}
	return nil
}
