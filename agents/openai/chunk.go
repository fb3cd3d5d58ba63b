package openai

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/chattray/chattray/schemas"
)

// chunk has the used fields of a chunk or of a whole completion. Fields whose
// type differs between servers are raw.
type chunk struct {
	Choices []choice `json:"choices"`
	Usage   *usage   `json:"usage"`
}

type choice struct {
	Index        int             `json:"index"`
	Delta        *piece          `json:"delta"`
	Message      *piece          `json:"message"`
	Text         json.RawMessage `json:"text"` // of the older completions protocol
	FinishReason *string         `json:"finish_reason"`
}

type piece struct {
	Content          json.RawMessage `json:"content"`
	ReasoningContent json.RawMessage `json:"reasoning_content"`
	Reasoning        json.RawMessage `json:"reasoning"`
	Refusal          *string         `json:"refusal"`
	ToolCalls        []fragment      `json:"tool_calls"`
	FunctionCall     *function       `json:"function_call"`
}

type fragment struct {
	Index    *int            `json:"index"`
	ID       string          `json:"id"`
	Function function        `json:"function"`
	Extra    json.RawMessage `json:"extra_content"` // of Gemini, which wants it back
}

type function struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

type usage struct {
	Prompt     float64 `json:"prompt_tokens"`
	Completion float64 `json:"completion_tokens"`
	Total      float64 `json:"total_tokens"`
}

// mostTokens is the largest number of tokens that one call of a model may have used.
const mostTokens = 1e9

// tokens returns the usage, none if it is impossible. A missing or impossible total is
// replaced by the sum.
func (u *usage) tokens() schemas.Usage {
	if max(u.Prompt, u.Completion) > mostTokens {
		return schemas.Usage{}
	}
	in, out := int(max(u.Prompt, 0)), int(max(u.Completion, 0))
	total := in + out
	if u.Total <= mostTokens {
		total = max(total, int(max(u.Total, 0)))
	}
	return schemas.Usage{InputTokens: in, OutputTokens: out, TotalTokens: total}
}

// completion reports whether body is a whole completion.
func completion(body []byte) bool {
	c, err := decode(body)
	return err == nil && len(c.Choices) > 0 && (c.Choices[0].Message != nil || isSet(c.Choices[0].Text))
}

// piece returns what a choice holds, nil for nothing, and whether it is the whole reply.
// Servers that have a text beside a delta repeat it there.
func (c *choice) piece() (p *piece, full bool) {
	if p = c.Delta; p == nil {
		p, full = c.Message, c.Message != nil
	}
	if isSet(c.Text) && (p == nil || p.empty()) {
		return &piece{Content: c.Text}, full
	}
	return p, full
}

// textOf returns the text of a plain chunk, and false if the string cannot be decoded.
func textOf(quoted []byte) (string, bool) {
	content := quoted[1 : len(quoted)-1]
	simple := true
	for _, b := range content {
		if b < ' ' || b == '"' || b == '\\' {
			simple = false
			break
		}
	}
	if simple && utf8.Valid(content) {
		return string(content), true
	}
	var s string
	err := json.Unmarshal(quoted, &s)
	return storable(s), err == nil
}

// written returns the text and the reasoning of a content value: a string, a
// number, a part, or a list of these. False means that it is something else.
func written(content json.RawMessage) (words, thought string, ok bool) {
	if !isSet(content) {
		return "", "", true
	}
	switch c := content[0]; {
	case c == '"':
		return plainText(content), "", true
	case c == '-' || '0' <= c && c <= '9':
		return string(content), "", true
	case c == '[':
		var parts []json.RawMessage
		if json.Unmarshal(content, &parts) != nil {
			return "", "", false
		}
		for _, p := range parts {
			w, t, ok := written(p)
			if !ok {
				return "", "", false
			}
			words, thought = words+w, thought+t
		}
		return words, thought, true
	case c == '{':
		return part(content)
	}
	return "", "", false
}

// part returns the text and the reasoning of a part. One without text, such as
// a reference, has none.
func part(raw json.RawMessage) (words, thought string, ok bool) {
	var p struct {
		Type     json.RawMessage `json:"type"`
		Text     json.RawMessage `json:"text"`
		Value    json.RawMessage `json:"value"`
		Thinking json.RawMessage `json:"thinking"`
	}
	if json.Unmarshal(raw, &p) != nil {
		return "", "", false
	}
	if text(p.Type) == "thinking" {
		thought, _, ok = written(p.Thinking)
		return "", thought, ok
	}
	if !isSet(p.Text) {
		p.Text = p.Value // of the text of other APIs: {"value":"…"}
	}
	return written(p.Text)
}

// plainText returns a string's value, and "" for anything else.
func plainText(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return storable(s)
}

// thinking returns a piece's reasoning. Servers that have both fields repeat
// one in the other.
func (p *piece) thinking() string {
	if s, _, _ := written(p.ReasoningContent); s != "" {
		return s
	}
	s, _, _ := written(p.Reasoning) // an unknown form of reasoning is not worth the answer
	return s
}

// empty reports whether a piece has neither text nor calls.
func (p *piece) empty() bool {
	return !isSet(p.Content) && !isSet(p.ReasoningContent) && !isSet(p.Reasoning) && (p.Refusal == nil || *p.Refusal == "") &&
		len(p.ToolCalls) == 0 && p.FunctionCall == nil
}

// arguments returns the text of arguments, which some servers give as an object.
func (f *function) arguments() string {
	if len(f.Arguments) == 0 || string(f.Arguments) == "null" {
		return ""
	}
	if f.Arguments[0] == '"' {
		return plainText(f.Arguments)
	}
	return string(f.Arguments)
}

// storable returns s without NUL, which databases refuse in text. The loop does
// the same with ids and names of calls, of any model.
func storable(s string) string { return strings.ReplaceAll(s, "\x00", "\uFFFD") }

// stopReason maps a finish_reason. False means that it is unknown.
func stopReason(finish string) (schemas.StopReason, bool) {
	finish, _, _ = strings.Cut(strings.ToLower(finish), ": ") // Gemini writes "content_filter: RECITATION", gateways to other servers STOP
	switch finish {
	case "stop", "tool_calls", "function_call", "end_turn", "stop_sequence", "tool_use", "eos", "eos_token", "complete":
		return schemas.EndTurn, true
	case "length", "max_tokens", "model_length", "model_context_window_exceeded":
		return schemas.MaxTokens, true
	case "content_filter", "sensitive", "safety", "recitation", "blocklist", "prohibited_content":
		return schemas.ContentFilter, true
	case "refusal":
		return schemas.Refusal, true
	}
	return "", false
}
