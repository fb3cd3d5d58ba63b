package wirestest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/chattray/chattray/schemas/runlog"
)

// completionMembers are the members that typed clients require of a chunk and of what is in
// it, by its name.
var completionMembers = map[string]string{
	"chunk": "id object created model choices", "choices": "index delta finish_reason?", "tool_calls": "index id type function", "function": "name arguments",
	"usage": "prompt_tokens completion_tokens total_tokens",
}

// finishReasons are the reasons that typed clients know.
var finishReasons = []any{nil, "stop", "length", "tool_calls", "content_filter"}

// decodesChunk returns an error for what a typed client cannot decode.
func decodesChunk(name string, value any) error {
	switch value := value.(type) {
	case map[string]any:
		if err := requires(value, completionMembers[name]); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if reason := value["finish_reason"]; !slices.Contains(finishReasons, reason) {
			return fmt.Errorf("the finish reason %v is unknown", reason)
		}
		for name, member := range value {
			if name == "chattray" {
				continue
			}
			if err := decodesChunk(name, member); err != nil {
				return err
			}
		}
	case []any:
		for _, v := range value {
			if err := decodesChunk(name, v); err != nil {
				return err
			}
		}
	}
	return nil
}

// completionChunk is a chunk of the stream, with the members that are checked.
type completionChunk struct {
	ID      string
	Object  string
	Model   string
	Choices []struct {
		Delta struct {
			Role      string
			Content   *string
			Reasoning string `json:"reasoning_content"`
			ToolCalls []struct {
				Index    int
				ID, Type string
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
		}
		FinishReason string `json:"finish_reason"`
	}
	Usage *struct{}
	Error *struct{ Message, Type, Code string }
}

// completionsClient is what a client knows of a response.
type completionsClient struct {
	id       string
	calls    int
	finished bool
	failed   bool
	words    strings.Builder
	joiner   runlog.Joiner
}

// completions refuses what a typed client cannot decode, a chunk of another answer, calls that
// are not counted from 0, an end that is missing or not the last, or null where a value is
// expected.
func completions(responses [][]byte) (string, error) {
	var s completionsClient
	for n, r := range responses {
		s.calls, s.finished, s.failed = 0, false, false
		s.joiner.Marker()
		if err := doneFrames(r, s.take); err != nil {
			return "", fmt.Errorf("response %d: %w", n, err)
		}
		if !s.finished && !s.failed {
			return "", fmt.Errorf("response %d has no finish reason", n)
		}
	}
	return s.words.String(), nil
}

func (s *completionsClient) take(data string, first bool) error {
	var c completionChunk
	var value any
	if err := json.Unmarshal([]byte(data), &c); err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(data), &value); err != nil {
		return err
	}
	if c.Error != nil {
		if s.failed = true; c.Error.Message == "" || c.Error.Type == "" || c.Error.Code == "" {
			return fmt.Errorf("the error has no message, type or code")
		}
		return nil
	}
	if err := noNull(data, "finish_reason"); err != nil {
		return err
	}
	if err := decodesChunk("chunk", value); err != nil {
		return err
	}
	if s.id != "" && s.id != c.ID || c.ID == "" || c.Object != "chat.completion.chunk" || c.Model == "" {
		return fmt.Errorf("no chunk of the answer %s", s.id)
	}
	s.id = c.ID
	if len(c.Choices) == 0 {
		if c.Usage == nil || !s.finished {
			return fmt.Errorf("the usage is missing or comes too early")
		}
		return nil
	}
	choice := c.Choices[0]
	switch {
	case s.finished || s.failed:
		return fmt.Errorf("a chunk after the end")
	case first != (choice.Delta.Role == "assistant"):
		return fmt.Errorf("the role is not in the first chunk, or is repeated")
	}
	s.finished = choice.FinishReason != ""
	for _, call := range choice.Delta.ToolCalls {
		if call.Index != s.calls || call.ID == "" || call.Type != "function" || call.Function.Name == "" || !json.Valid([]byte(call.Function.Arguments)) {
			return fmt.Errorf("call %d is not the next one, or is not whole", call.Index)
		}
		s.calls++
	}
	if choice.FinishReason == "tool_calls" && s.calls == 0 { // calls without it were answered elsewhere
		return fmt.Errorf("no calls and the finish reason %s", choice.FinishReason)
	}
	if choice.Delta.Content != nil {
		s.words.WriteString(s.joiner.Text(*choice.Delta.Content))
	}
	return nil
}
