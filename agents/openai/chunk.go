package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"github.com/chattray/chattray/schemas"
)

// chunk has the used fields of a chunk or of a whole completion. Raw fields are parts of its
// JSON.
type chunk struct {
	Choices []choice
	Usage   schemas.Usage
}

type choice struct {
	Index        int
	Delta        *piece
	Message      *piece
	Text         json.RawMessage // of the older completions protocol
	FinishReason string
}

type piece struct {
	Content          json.RawMessage
	ReasoningContent json.RawMessage
	Reasoning        json.RawMessage
	Refusal          string
	ToolCalls        []fragment // also that of the older protocol, which is one without a list
}

type fragment struct {
	Index    *int
	ID       string
	Function function
	Extra    json.RawMessage // of Gemini, which wants it back
}

type function struct {
	Name      string
	Arguments json.RawMessage
}

// decode decodes a chunk or a completion. A field of another type than the protocol's is read
// if its meaning is clear, else it is an error.
func decode(object []byte) (ch chunk, err error) {
	if !json.Valid(object) {
		return ch, json.Unmarshal(object, new(json.RawMessage)) // it says where the mistake is
	}
	err = ch.read(bytes.TrimSpace(object))
	return ch, err
}

// unfinished reports whether err, of decoding object, may come from an object
// that goes on in the next line.
func unfinished(err error, object []byte) bool {
	s, ok := errors.AsType[*json.SyntaxError](err)
	return ok && s.Offset >= int64(len(object))
}

func (ch *chunk) read(raw json.RawMessage) error {
	var choices, used json.RawMessage
	_, err := members(raw, "a chunk", member{"choices", &choices}, member{"usage", &used})
	if err != nil {
		return err
	}
	ch.Usage = usageOf(used)
	ch.Choices, err = elements(choices, "choices", (*choice).read)
	return err
}

func (c *choice) read(raw json.RawMessage) error {
	var index, delta, message, finish json.RawMessage
	_, err := members(raw, "a choice",
		member{"index", &index}, member{"delta", &delta}, member{"message", &message}, member{"text", &c.Text}, member{"finish_reason", &finish})
	if err != nil {
		return err
	}
	if n, ok := number(index); ok {
		c.Index = int(n)
	}
	c.FinishReason = asText(finish)
	if c.Delta, err = pieceOf(delta); err != nil {
		return err
	}
	c.Message, err = pieceOf(message)
	return err
}

// pieceOf reads a delta or a message, nil for none.
func pieceOf(raw json.RawMessage) (*piece, error) {
	var p piece
	var refusal, calls, called json.RawMessage
	some, err := members(raw, "a delta",
		member{"content", &p.Content}, member{"reasoning_content", &p.ReasoningContent}, member{"reasoning", &p.Reasoning},
		member{"refusal", &refusal}, member{"tool_calls", &calls}, member{"function_call", &called})
	if !some {
		return nil, err
	}
	p.Refusal = asText(refusal)
	if p.ToolCalls, err = elements(calls, "tool_calls", (*fragment).read); err == nil && isSet(called) {
		old := fragment{Index: new(int)}
		err = old.Function.read(called)
		p.ToolCalls = append(p.ToolCalls, old)
	}
	return &p, err
}

func (f *fragment) read(raw json.RawMessage) error {
	var index, id, called json.RawMessage
	_, err := members(raw, "a tool call", member{"index", &index}, member{"id", &id}, member{"function", &called}, member{"extra_content", &f.Extra})
	if err != nil {
		return err
	}
	if n, ok := number(index); ok {
		f.Index = new(int(n))
	}
	f.ID = asText(id)
	return f.Function.read(called)
}

func (f *function) read(raw json.RawMessage) error {
	var name json.RawMessage
	_, err := members(raw, "the function of a call", member{"name", &name}, member{"arguments", &f.Arguments})
	f.Name = asText(name)
	return err
}

// mostTokens is the largest number of tokens that one call of a model may have used.
const mostTokens = 1e9

// usageOf returns the usage of an object, none if it is impossible: an answer is worth more than
// its usage. A missing or impossible total is replaced by the sum.
func usageOf(raw json.RawMessage) schemas.Usage {
	var prompt, completion, total json.RawMessage
	_, _ = members(raw, "the usage", member{"prompt_tokens", &prompt}, member{"completion_tokens", &completion}, member{"total_tokens", &total})
	read := func(raw json.RawMessage) float64 {
		if n, _ := number(raw); n > 0 { // it may be no number
			return n
		}
		return 0
	}
	in, out, all := read(prompt), read(completion), read(total)
	if max(in, out) > mostTokens {
		return schemas.Usage{}
	}
	if all > mostTokens {
		all = 0
	}
	return schemas.Usage{InputTokens: int(in), OutputTokens: int(out), TotalTokens: max(int(in)+int(out), int(all))}
}

// completion reports whether body is a whole completion.
func completion(body []byte) bool {
	c, err := decode(body)
	return err == nil && len(c.Choices) > 0 && (c.Choices[0].Message != nil || isSet(c.Choices[0].Text))
}

// piece returns what a choice holds, nil for nothing, and whether it is a message. Servers
// that have a text or a message beside a delta repeat it there.
func (c *choice) piece() (p *piece, full bool) {
	if p = c.Delta; c.Message != nil && (p == nil || p.empty()) {
		p, full = c.Message, true
	}
	if isSet(c.Text) && (p == nil || p.empty()) {
		return &piece{Content: c.Text}, full
	}
	return p, full
}

// said is what pieces have held.
type said struct{ text, thought, calls bool }

func (s *said) note(p *piece) {
	s.text = s.text || isSet(p.Content) || p.Refusal != ""
	s.thought = s.thought || isSet(p.ReasoningContent) || isSet(p.Reasoning)
	s.calls = s.calls || len(p.ToolCalls) > 0
}

// leaveOut removes from a message what was said before. Reasoning comes before the text.
func (p *piece) leaveOut(before *said) {
	if before.text {
		p.Content, p.Refusal = nil, ""
	}
	if before.text || before.thought {
		p.ReasoningContent, p.Reasoning = nil, nil
	}
	if before.calls {
		p.ToolCalls = nil
	}
}

// written returns the text and the reasoning of a content value: a string, a
// number, a part, or a list of these. False means that it is something else.
func written(content json.RawMessage) (words, thought string, ok bool) {
	if !isSet(content) {
		return "", "", true
	}
	switch c := content[0]; {
	case c == '"':
		return storable(asText(content)), "", true
	case c == '-' || '0' <= c && c <= '9':
		return string(content), "", true
	case c == '[':
		for rest := inside(content); len(rest) > 0; {
			var p json.RawMessage
			p, rest = first(rest)
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
	var kind, said, value, thinking json.RawMessage
	_, _ = members(raw, "a part", member{"type", &kind}, member{"text", &said}, member{"value", &value}, member{"thinking", &thinking}) // it is an object
	if asText(kind) == "thinking" {
		thought, _, ok = written(thinking)
		return "", thought, ok
	}
	if !isSet(said) {
		said = value // of the text of other APIs: {"value":"…"}
	}
	return written(said)
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
	return !isSet(p.Content) && !isSet(p.ReasoningContent) && !isSet(p.Reasoning) && p.Refusal == "" && len(p.ToolCalls) == 0
}

// arguments returns the text of arguments, which some servers give as an object.
func (f *function) arguments() string {
	if len(f.Arguments) == 0 || string(f.Arguments) == "null" {
		return ""
	}
	if f.Arguments[0] == '"' {
		return storable(asText(f.Arguments))
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
