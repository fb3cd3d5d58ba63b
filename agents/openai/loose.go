package openai

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
)

// decode decodes a chunk or a completion. A field of another type than the
// protocol's is read if its meaning is clear, else it is an error. Only such
// chunks are decoded twice.
func decode(object []byte) (chunk, error) {
	var ch chunk
	err := json.Unmarshal(object, &ch)
	if _, odd := errors.AsType[*json.UnmarshalTypeError](err); odd {
		return looseChunk(object)
	}
	return ch, err
}

// unfinished reports whether err, of decoding object, may come from an object
// that goes on in the next line.
func unfinished(err error, object []byte) bool {
	s, ok := errors.AsType[*json.SyntaxError](err)
	return ok && s.Offset >= int64(len(object))
}

func looseChunk(raw json.RawMessage) (ch chunk, err error) {
	o, err := members(raw, "a chunk")
	if err != nil {
		return ch, err
	}
	ch.Usage = looseUsage(o["usage"])
	list, err := elements(o["choices"], "choices")
	for _, raw := range list {
		o, err := members(raw, "a choice")
		if err != nil {
			return ch, err
		}
		c := choice{Text: o["text"], FinishReason: new(text(o["finish_reason"]))}
		if n, ok := number(o["index"]); ok {
			c.Index = int(n)
		}
		if c.Delta, err = loosePiece(o["delta"]); err != nil {
			return ch, err
		}
		if c.Message, err = loosePiece(o["message"]); err != nil {
			return ch, err
		}
		ch.Choices = append(ch.Choices, c)
	}
	return ch, err
}

func loosePiece(raw json.RawMessage) (*piece, error) {
	o, err := members(raw, "a delta")
	if o == nil {
		return nil, err
	}
	p := &piece{
		Content: o["content"], ReasoningContent: o["reasoning_content"], Reasoning: o["reasoning"],
		Refusal: new(text(o["refusal"])),
	}
	if p.FunctionCall, err = looseFunction(o["function_call"]); err != nil {
		return nil, err
	}
	calls, err := elements(o["tool_calls"], "tool_calls")
	for _, raw := range calls {
		o, err := members(raw, "a tool call")
		if err != nil {
			return nil, err
		}
		f, err := looseFunction(o["function"])
		if err != nil {
			return nil, err
		}
		call := fragment{ID: text(o["id"]), Extra: o["extra_content"]}
		if f != nil {
			call.Function = *f
		}
		if n, ok := number(o["index"]); ok {
			call.Index = new(int(n))
		}
		p.ToolCalls = append(p.ToolCalls, call)
	}
	return p, err
}

func looseFunction(raw json.RawMessage) (*function, error) {
	o, err := members(raw, "the function of a call")
	if o == nil {
		return nil, err
	}
	return &function{Name: text(o["name"]), Arguments: o["arguments"]}, nil
}

// looseUsage returns the usage of an object. An answer is worth more than its
// usage, so anything else is none.
func looseUsage(raw json.RawMessage) *usage {
	o, _ := members(raw, "")
	if o == nil {
		return nil
	}
	u := &usage{}
	u.Prompt, _ = number(o["prompt_tokens"])
	u.Completion, _ = number(o["completion_tokens"])
	u.Total, _ = number(o["total_tokens"])
	return u
}

// members returns the members of an object, nil for a value that says nothing.
func members(raw json.RawMessage, what string) (o map[string]json.RawMessage, err error) {
	if isSet(raw) && json.Unmarshal(raw, &o) != nil {
		return nil, protocol("%s is not an object: %.100q", what, raw)
	}
	return o, nil
}

// elements returns the elements of a list. An object is a list of one.
func elements(raw json.RawMessage, what string) (list []json.RawMessage, err error) {
	switch {
	case !isSet(raw):
	case raw[0] == '{':
		list = append(list, raw)
	case json.Unmarshal(raw, &list) != nil:
		return nil, protocol("%s is not a list: %.100q", what, raw)
	}
	return list, nil
}

// number returns the value of a number, which may be written as a string.
func number(raw json.RawMessage) (float64, bool) {
	n, err := strconv.ParseFloat(strings.TrimSpace(text(raw)), 64)
	return n, err == nil
}
