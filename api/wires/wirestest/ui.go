package wirestest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/chattray/chattray/schemas/runlog"
)

// uiMembers are the members, beside type, of each type of chunk that clients of version 6 know
// since 6.0.15; those that are optional end with a question mark. They refuse chunks with
// others.
var uiMembers = map[string]string{
	"text-start": "id", "text-delta": "id delta", "text-end": "id",
	"reasoning-start": "id", "reasoning-delta": "id delta", "reasoning-end": "id",
	"tool-input-start":      "toolCallId toolName providerExecuted? dynamic?",
	"tool-input-delta":      "toolCallId inputTextDelta",
	"tool-input-available":  "toolCallId toolName input providerExecuted? dynamic?",
	"tool-approval-request": "approvalId toolCallId",
	"tool-output-available": "toolCallId output providerExecuted? dynamic? preliminary?",
	"tool-output-error":     "toolCallId errorText providerExecuted? dynamic?",
	"tool-output-denied":    "toolCallId",
	"start":                 "messageId messageMetadata?",
	"finish":                "finishReason? messageMetadata?",
	"error":                 "errorText",
	"abort":                 "reason?",
}

// uiReasons are the reasons of a finish that the clients know.
var uiReasons = []string{"", "stop", "length", "content-filter", "tool-calls", "error", "other"}

// uiKnows returns an error for a chunk whose members a client of a major version refuses.
func uiKnows(major, kind string, have map[string]json.RawMessage) error {
	known := uiMembers[kind]
	if strings.HasPrefix(kind, "data-") {
		known = "id? data transient?"
	}
	for name := range have {
		since6 := name == "finishReason" || name == "reason" || kind == "tool-approval-request" || kind == "tool-output-denied"
		if major == "5" && since6 {
			return fmt.Errorf("clients of version 5 do not know %s", name)
		}
	}
	return exactly(have, known)
}

// uiClient is what the client tracks of a message to decide which chunks it refuses.
type uiClient struct {
	major   string
	message string
	texts   map[string]bool // open parts
	partial map[string]bool // calls whose input streams
	calls   map[string]bool
	running map[string]bool // calls without an outcome, but for those that the page runs
	open    bool            // a step
	words   strings.Builder
	joiner  runlog.Joiner
}

// uiChunk is a chunk of the stream, with the members that are checked.
type uiChunk struct {
	Type             string
	ID               string
	Delta            string
	MessageID        string
	ToolCallID       string
	ProviderExecuted bool
	Preliminary      bool
	FinishReason     string
	MessageMetadata  json.RawMessage
}

// ui refuses a part that ends before it begins, an unknown call, another message, a chunk
// with an unknown type or member, null, anything after the end, or the end of a run with a call
// that has no outcome.
func ui(major string, responses [][]byte) (string, error) {
	s := uiClient{major: major, calls: map[string]bool{}, running: map[string]bool{}}
	for n, r := range responses {
		s.texts, s.partial, s.open = map[string]bool{}, map[string]bool{}, false
		if err := doneFrames(r, s.take); err != nil {
			return "", fmt.Errorf("response %d: %w", n, err)
		}
		if len(s.texts) > 0 && !strings.Contains(string(r), `{"type":"error"`) {
			return "", fmt.Errorf("response %d leaves parts open", n)
		}
	}
	return s.words.String(), nil
}

// uiFree are the types of chunks that are allowed at any time.
var uiFree = []string{"finish", "abort", "error", "data-status", "data-approval", "data-payload", "data-suggestions", "data-block-delta", "data-block", "data-error"}

func (s *uiClient) take(data string, first bool) error {
	var c uiChunk
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte(data), &c); err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(data), &members); err != nil {
		return err
	}
	if err := uiKnows(s.major, c.Type, members); err != nil {
		return err
	}
	if !slices.Contains(uiReasons, c.FinishReason) {
		return fmt.Errorf("the finish reason %s is unknown", c.FinishReason)
	}
	if first != (c.Type == "start") {
		return fmt.Errorf("start is not first, or is repeated")
	}
	ends := c.Type == "abort" || c.Type == "error" || c.Type == "finish" && c.MessageMetadata != nil
	if ends && len(s.running) > 0 {
		return fmt.Errorf("%v have no outcome", slices.Sorted(maps.Keys(s.running)))
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
		if !slices.Contains(uiFree, c.Type) {
			return s.call(c)
		}
	}
	return nil
}

func (s *uiClient) step(begins bool) error {
	if s.open == begins {
		return fmt.Errorf("a step is open: %v", s.open)
	}
	s.open = begins
	return nil
}

func (s *uiClient) part(c uiChunk) error {
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

func (s *uiClient) call(c uiChunk) error {
	switch c.Type {
	case "tool-input-start":
		s.partial[c.ToolCallID], s.calls[c.ToolCallID], s.running[c.ToolCallID] = true, true, true
	case "tool-input-delta":
		if !s.partial[c.ToolCallID] {
			return fmt.Errorf("the input of the call does not stream")
		}
	case "tool-input-available":
		s.calls[c.ToolCallID], s.running[c.ToolCallID] = true, true
		if !c.ProviderExecuted {
			delete(s.running, c.ToolCallID)
		}
	case "tool-approval-request", "tool-output-available", "tool-output-error", "tool-output-denied":
		if !s.calls[c.ToolCallID] {
			return fmt.Errorf("the call is not known")
		}
		if c.Type != "tool-approval-request" && !c.Preliminary {
			delete(s.running, c.ToolCallID)
		}
		s.joiner.Marker()
	default:
		return fmt.Errorf("the client does not know the type")
	}
	return nil
}
