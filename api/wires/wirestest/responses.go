package wirestest

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/chattray/chattray/schemas/runlog"
)

// responseEvent is an event of the stream, with the members that are checked.
type responseEvent struct {
	Type     string
	Sequence int64  `json:"sequence_number"`
	Index    int    `json:"output_index"`
	ItemID   string `json:"item_id"`
	Delta    string
	Text     string
	Item     *shownItem
	Response *struct {
		ID, Status string
		Output     []shownItem
	}
}

type shownItem struct {
	ID, Type, Status, Arguments string
	Content                     []struct{ Text string }
}

// responsesClient is what a client knows of a response.
type responsesClient struct {
	id    string
	last  int64
	items []shownItem
	texts map[string]string // by item
	ended map[string]bool
	final string // the last event
	words strings.Builder
	join  runlog.Joiner
}

// responses refuses a number that does not rise, an item that is not the next one, a piece of
// an item that is not open, a text that differs from its pieces, a response that does not
// end, or ends with an item that it has not shown.
func responses(list [][]byte) (string, error) {
	var s responsesClient
	for n, r := range list {
		s.id, s.last, s.items, s.final = "", 0, nil, ""
		s.texts, s.ended = map[string]string{}, map[string]bool{}
		s.join.Marker()
		for frame := range strings.SplitSeq(strings.TrimSuffix(string(r), "\n\n"), "\n\n") {
			name, data, _ := strings.Cut(frame, "\ndata: ")
			name, ok := strings.CutPrefix(name, "event: ")
			if !ok || strings.ContainsAny(data, "\r\n") {
				return "", fmt.Errorf("response %d: frame %q", n, frame)
			}
			if err := s.take(name, data); err != nil {
				return "", fmt.Errorf("response %d: %s: %w", n, data, err)
			}
		}
		if s.final == "" {
			return "", fmt.Errorf("response %d has no end", n)
		}
	}
	return s.words.String(), nil
}

func (s *responsesClient) take(name, data string) error {
	var e responseEvent
	if err := json.Unmarshal([]byte(data), &e); err != nil {
		return err
	}
	switch {
	case e.Type != name:
		return fmt.Errorf("the event is called %s", name)
	case s.final != "":
		return fmt.Errorf("an event after %s", s.final)
	case e.Sequence <= s.last:
		return fmt.Errorf("the number %d after %d", e.Sequence, s.last)
	case (s.last == 0) != (name == "response.created"):
		return fmt.Errorf("response.created is not the first event, or is repeated")
	}
	s.last = e.Sequence
	if e.Response != nil {
		return s.response(name, &e)
	}
	if err := noNull(data, "output", "error", "approval_request_id"); err != nil {
		return err
	}
	if name == "response.output_item.added" {
		if e.Index != len(s.items) || s.known(e.Item.ID) {
			return fmt.Errorf("the item %s has the index %d, want a new one with %d", e.Item.ID, e.Index, len(s.items))
		}
		s.items = append(s.items, *e.Item)
		return nil
	}
	if e.Index >= len(s.items) {
		return fmt.Errorf("there is no item %d", e.Index)
	}
	return s.piece(name, &e)
}

// piece checks an event about an item that was added.
func (s *responsesClient) piece(name string, e *responseEvent) error {
	id := s.items[e.Index].ID
	if e.Item != nil && e.Item.ID != id || e.Item == nil && e.ItemID != id || s.ended[id] {
		return fmt.Errorf("the item %d is %s, and ended: %v", e.Index, id, s.ended[id])
	}
	switch name {
	case "response.output_text.delta", "response.reasoning_text.delta":
		s.texts[id] += e.Delta
	case "response.output_text.done", "response.reasoning_text.done":
		if e.Text != s.texts[id] {
			return fmt.Errorf("the text is not that of its pieces, %q", s.texts[id])
		}
	case "response.output_item.done":
		s.ended[id] = true
		s.items[e.Index] = *e.Item
		if e.Item.Status == "in_progress" {
			return fmt.Errorf("an ended item is in progress")
		}
	case "response.content_part.added", "response.content_part.done", "response.mcp_call.in_progress", "response.mcp_call.completed", "response.mcp_call.failed",
		"response.mcp_call_arguments.delta", "response.mcp_call_arguments.done", "response.function_call_arguments.delta", "response.function_call_arguments.done":
	default:
		return fmt.Errorf("the client does not know the event")
	}
	return nil
}

func (s *responsesClient) known(id string) bool {
	for _, i := range s.items {
		if i.ID == id {
			return true
		}
	}
	return false
}

// response checks an event that has the response.
func (s *responsesClient) response(name string, e *responseEvent) error {
	if s.id != "" && s.id != e.Response.ID || e.Response.ID == "" {
		return fmt.Errorf("another response than %s", s.id)
	}
	s.id = e.Response.ID
	if name == "response.created" || name == "response.in_progress" {
		return nil
	}
	s.final = name
	for _, i := range s.items {
		if !s.ended[i.ID] {
			return fmt.Errorf("the item %s is open", i.ID)
		}
	}
	for _, i := range e.Response.Output {
		if !s.ended[i.ID] {
			return fmt.Errorf("the item %s was not shown", i.ID)
		}
		if i.Type == "message" {
			s.words.WriteString(s.join.Text(i.Content[0].Text))
		}
	}
	return nil
}
