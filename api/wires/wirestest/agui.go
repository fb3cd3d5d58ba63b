package wirestest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/chattray/chattray/schemas/runlog"
)

// aguiClient is what the clients track to decide which events they refuse.
type aguiClient struct {
	open     map[string]bool // messages, reasoning, calls and steps
	running  map[string]bool // calls without a result
	complete bool            // the run
	started  bool
	finished bool
	words    strings.Builder
	joiner   runlog.Joiner
}

// aguiEvent is an event of the protocol, with the members that are checked.
type aguiEvent struct {
	Type, MessageID, ToolCallID, StepName, Delta, Name string
	Content                                            json.RawMessage
	Outcome                                            struct{ Type string }
}

// aguiMembers are the members that each type may have; clients before 1.0 throw at others.
var aguiMembers = map[string]string{
	"RUN_STARTED": "threadId runId parentRunId? protocolVersion?", "RUN_FINISHED": "threadId runId outcome? usage?", "RUN_ERROR": "message code",
	"STEP_STARTED": "stepName", "STEP_FINISHED": "stepName", "CUSTOM": "name value", "MESSAGES_SNAPSHOT": "messages",
	"TEXT_MESSAGE_START": "messageId role", "TEXT_MESSAGE_CONTENT": "messageId delta", "TEXT_MESSAGE_END": "messageId",
	"REASONING_START": "messageId", "REASONING_MESSAGE_START": "messageId role", "REASONING_MESSAGE_CONTENT": "messageId delta",
	"REASONING_MESSAGE_END": "messageId", "REASONING_END": "messageId",
	"TOOL_CALL_START": "toolCallId toolCallName parentMessageId", "TOOL_CALL_ARGS": "toolCallId delta", "TOOL_CALL_END": "toolCallId",
	"TOOL_CALL_RESULT": "messageId toolCallId role content metadata?", "ACTIVITY_SNAPSHOT": "messageId activityType content",
}

// agui refuses an event of an unknown type or with unknown members, null, an end of what is
// not open, anything that is open at the end, or the end of a run with a call that has no
// result.
func agui(responses [][]byte) (string, error) {
	s := aguiClient{running: map[string]bool{}}
	for n, r := range responses {
		s.open, s.started, s.finished = map[string]bool{}, false, false
		for frame := range strings.SplitSeq(strings.TrimSuffix(string(r), "\n\n"), "\n\n") {
			if strings.HasPrefix(frame, "id: ") {
				_, frame, _ = strings.Cut(frame, "\n")
			}
			data, ok := strings.CutPrefix(frame, "data: ")
			if !ok || strings.ContainsAny(data, "\n\r") {
				return "", fmt.Errorf("response %d: frame %q", n, frame)
			}
			if err := s.take(data); err != nil {
				return "", fmt.Errorf("response %d: %s: %w", n, data, err)
			}
		}
		if !s.finished {
			return "", fmt.Errorf("response %d has no end", n)
		}
	}
	return s.words.String(), nil
}

func (s *aguiClient) take(data string) error {
	var e aguiEvent
	var have map[string]json.RawMessage
	if err := json.Unmarshal([]byte(data), &e); err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(data), &have); err != nil {
		return err
	}
	if err := fits(e.Type, have); err != nil {
		return err
	}
	switch {
	case s.finished:
		return fmt.Errorf("it follows the end")
	case s.started == (e.Type == "RUN_STARTED"):
		return fmt.Errorf("RUN_STARTED is not first, or is repeated")
	}
	s.started = true
	s.complete = s.complete || e.Name == "chattray.complete"
	ends := e.Type == "RUN_ERROR" || e.Type == "RUN_FINISHED" && (s.complete || e.Outcome.Type == "cancelled")
	if ends && len(s.running) > 0 {
		return fmt.Errorf("%v have no result", slices.Sorted(maps.Keys(s.running)))
	}
	switch e.Type {
	case "MESSAGES_SNAPSHOT":
		clear(s.running)
		return nil
	case "RUN_ERROR":
		s.finished = true
		return nil
	case "RUN_FINISHED":
		s.finished = true
		if len(s.open) > 0 {
			return fmt.Errorf("%v are open", slices.Collect(maps.Keys(s.open)))
		}
		return nil
	}
	return s.pair(&e)
}

// fits reports what is wrong with the members of an event.
func fits(kind string, have map[string]json.RawMessage) error {
	want, ok := aguiMembers[kind]
	if !ok {
		return fmt.Errorf("the clients do not know the type")
	}
	return exactly(have, want)
}

// pair checks that ends follow starts.
func (s *aguiClient) pair(e *aguiEvent) error {
	id := map[string]string{
		"TEXT": "text " + e.MessageID, "REASONING": "reasoning " + e.MessageID, "REASONING_MESSAGE": "thought " + e.MessageID,
		"TOOL_CALL": "call " + e.ToolCallID, "STEP": "step " + e.StepName,
	}
	at := strings.LastIndexByte(e.Type, '_')
	if at < 0 {
		return nil
	}
	kind, what := e.Type[:at], e.Type[at+1:]
	if kind == "TEXT_MESSAGE" {
		kind = "TEXT"
	}
	key, ok := id[kind]
	switch {
	case !ok:
		return nil
	case what == "START" || what == "STARTED":
		if s.open[key] {
			return fmt.Errorf("%s is open already", key)
		}
		s.open[key] = true
		if kind == "TOOL_CALL" {
			s.running[e.ToolCallID] = true
			s.joiner.Marker()
		}
	case what == "RESULT":
		if e.Content == nil || s.open[key] {
			return fmt.Errorf("it has no content, or its arguments are open")
		}
		delete(s.running, e.ToolCallID)
		s.joiner.Marker()
	case !s.open[key]:
		return fmt.Errorf("%s is not open", key)
	case what == "END" || what == "FINISHED":
		delete(s.open, key)
	case e.Delta == "":
		return fmt.Errorf("delta is empty")
	case kind == "TEXT":
		s.words.WriteString(s.joiner.Text(e.Delta))
	}
	return nil
}
