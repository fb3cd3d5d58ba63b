package wirestest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/chattray/chattray/schemas/runlog"
)

// responseMembers are the members that typed clients require of the response and of each
// type of event, item and part.
var responseMembers = map[string]string{
	"response": "id object created_at status background model output error? incomplete_details? instructions? max_output_tokens? metadata " +
		"parallel_tool_calls previous_response_id? temperature? text tool_choice tools top_p? truncation? usage?",
	"response.created": whole, "response.in_progress": whole, "response.completed": whole, "response.incomplete": whole, "response.failed": whole,
	"response.output_item.added": oneItem, "response.output_item.done": oneItem,
	"response.content_part.added": onePart + " part", "response.content_part.done": onePart + " part",
	"response.output_text.delta": onePart + " delta logprobs", "response.output_text.done": onePart + " text logprobs",
	"response.reasoning_text.delta": onePart + " delta", "response.reasoning_text.done": onePart + " text",
	"response.function_call_arguments.delta": ofItem + " delta", "response.function_call_arguments.done": ofItem + " arguments name",
	"response.mcp_call_arguments.delta": ofItem + " delta", "response.mcp_call_arguments.done": ofItem + " arguments",
	"response.mcp_call.in_progress": ofItem, "response.mcp_call.completed": ofItem, "response.mcp_call.failed": ofItem,
	"message": "id role status content", "reasoning": "id summary", "function_call": "id call_id name arguments status",
	"mcp_call":             "id name arguments server_label status approval_request_id? error? output?",
	"mcp_approval_request": "id name arguments server_label",
	"output_text":          "text annotations logprobs", "reasoning_text": "text",
}

const (
	whole   = "sequence_number response"
	oneItem = "sequence_number output_index item"
	ofItem  = "sequence_number output_index item_id"
	onePart = ofItem + " content_index"
)

// responseStatuses are the statuses that typed clients know, of the response and of items.
var responseStatuses = map[string]string{
	"response": "queued in_progress completed incomplete failed cancelled", "message": "in_progress completed incomplete",
	"function_call": "in_progress completed incomplete", "mcp_call": "in_progress completed incomplete failed",
}

// decodes returns an error for what a typed client cannot decode. What the service adds is
// not looked at.
func decodes(value any) error {
	switch value := value.(type) {
	case map[string]any:
		kind, _ := value["type"].(string)
		if value["object"] == "response" {
			kind = "response"
		}
		if err := requires(value, responseMembers[kind]); err != nil {
			return fmt.Errorf("%s: %w", kind, err)
		}
		status, given := value["status"].(string)
		if known, closed := responseStatuses[kind]; closed && given && !slices.Contains(strings.Fields(known), status) {
			return fmt.Errorf("%s: the status %s is unknown", kind, status)
		}
		for name, member := range value {
			if name == "chattray" {
				continue
			}
			if err := decodes(member); err != nil {
				return err
			}
		}
	case []any:
		for _, v := range value {
			if err := decodes(v); err != nil {
				return err
			}
		}
	}
	return nil
}

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

// responses refuses what a typed client cannot decode, a number that does not rise, an item
// that is not the next one, a piece of
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
	var value any
	if err := json.Unmarshal([]byte(data), &e); err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(data), &value); err != nil {
		return err
	}
	if err := decodes(value); err != nil {
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
