package schemas

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

// AppendJSON appends what json.Marshal would return, without parsing Data,
// which must be valid JSON on one line.
func (p *CustomPayload) AppendJSON(dst []byte) []byte {
	dst = append(dst, '{')
	dst = AppendField(dst, "payload_id", p.PayloadID)
	dst = AppendKey(dst, "type")
	dst = AppendString(dst, p.Type)
	dst = AppendKey(dst, "data")
	dst = appendRaw(dst, p.Data)
	dst = AppendField(dst, "summary", p.Summary)
	dst = AppendField(dst, "source", p.Source)
	dst = AppendField(dst, "outcome", p.Outcome)
	return append(dst, '}')
}

// AppendJSON appends what json.Marshal would return. Input must be valid JSON on one line.
func (c *ToolCall) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"tool_name":`...)
	dst = AppendString(dst, c.ToolName)
	dst = AppendKey(dst, "input")
	dst = appendRaw(dst, c.Input)
	dst = AppendKey(dst, "output")
	dst = AppendString(dst, c.Output)
	dst = strconv.AppendBool(append(dst, `,"is_error":`...), c.IsError)
	dst = AppendField(dst, "tool_use_id", c.ToolUseID)
	dst = append(dst, `,"duration_ms":`...)
	dst = strconv.AppendInt(dst, c.DurationMS, 10)
	dst = AppendField(dst, "title", c.Title)
	return append(AppendField(dst, "done", c.Done), '}')
}

// AppendJSON appends what json.Marshal would return, without diagnostics. Raw
// JSON inside must be valid and on one line.
func (p *ChatResponsePayload) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"message":`...)
	dst = AppendString(dst, p.Message)
	dst = appendMarshalled(dst, "suggested_values", len(p.SuggestedValues), p.SuggestedValues)
	dst = appendMarshalled(dst, "suggested_actions", len(p.SuggestedActions), p.SuggestedActions)
	if p.CustomPayload != nil {
		dst = p.CustomPayload.AppendJSON(AppendKey(dst, "custom_payload"))
	}
	dst = appendList(dst, "payloads", p.Payloads, func(dst []byte, one *CustomPayload) []byte { return one.AppendJSON(dst) })
	dst = appendList(dst, "tool_history", p.ToolHistory, func(dst []byte, one *ToolCall) []byte { return one.AppendJSON(dst) })
	dst = append(dst, `,"conversation_id":`...)
	dst = strconv.AppendInt(dst, p.ConversationID, 10)
	dst = AppendField(dst, "chat_id", p.ChatID)
	dst = AppendString(AppendKey(dst, "message_id"), p.MessageID)
	dst = AppendString(AppendKey(dst, "run_id"), p.RunID)
	dst = AppendString(AppendKey(dst, "stop_reason"), string(p.StopReason))
	dst = appendMarshalled(dst, "usage", 1, p.Usage)
	dst = appendMarshalled(dst, "warnings", len(p.Warnings), p.Warnings)
	return append(dst, '}')
}

// Encode returns a value of this service as JSON, which cannot fail. It is on one line, as a
// string of AppendString is.
func Encode(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage("null")
	}
	return onOneLine(raw)
}

// lineEnds are the ends of lines that JSON may have in strings as they are, each with its escape.
var lineEnds = [][2][]byte{
	{[]byte("\u0085"), []byte(`\u0085`)}, {[]byte("\u2028"), []byte(`\u2028`)}, {[]byte("\u2029"), []byte(`\u2029`)},
}

// onOneLine escapes the ends of lines in the strings of JSON.
func onOneLine(raw []byte) []byte {
	for _, end := range lineEnds {
		if bytes.Contains(raw, end[0]) {
			raw = bytes.ReplaceAll(raw, end[0], end[1])
		}
	}
	return raw
}

// AppendKey appends the key of an object's next member, with the comma if it is not
// the first one. The key needs no escapes.
func AppendKey(dst []byte, key string) []byte {
	if dst[len(dst)-1] != '{' {
		dst = append(dst, ',')
	}
	dst = append(append(dst, '"'), key...)
	return append(dst, '"', ':')
}

// AppendField appends a member with a string value, unless the value is empty.
func AppendField(dst []byte, key, value string) []byte {
	if value == "" {
		return dst
	}
	return AppendString(AppendKey(dst, key), value)
}

func appendRaw(dst []byte, raw json.RawMessage) []byte {
	if raw == nil {
		return append(dst, "null"...)
	}
	return append(dst, onOneLine(raw)...)
}

// appendMarshalled appends v by json.Marshal, unless n is 0.
func appendMarshalled(dst []byte, key string, n int, v any) []byte {
	if n == 0 {
		return dst
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return dst
	}
	return append(AppendKey(dst, key), onOneLine(raw)...)
}

func appendList[T any](dst []byte, key string, list []T, one func([]byte, *T) []byte) []byte {
	if len(list) == 0 {
		return dst
	}
	dst = append(AppendKey(dst, key), '[')
	for i := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = one(dst, &list[i])
	}
	return append(dst, ']')
}

const hexDigits = "0123456789abcdef"

// AppendString appends s as a JSON string on one line. Invalid UTF-8 becomes
// U+FFFD; control characters of ASCII are escaped, and so are U+2028, U+2029 and U+0085,
// which end a line for clients that divide a stream by all that Unicode knows as such.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		if b := s[i]; b < utf8.RuneSelf {
			if b >= ' ' && b != '"' && b != '\\' {
				i++
				continue
			}
			dst = appendEscape(append(dst, s[start:i]...), b)
			i++
			start = i
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			dst = append(append(dst, s[start:i]...), `\ufffd`...)
			start = i + size
		case r == '\u0085':
			dst = append(append(dst, s[start:i]...), `\u0085`...)
			start = i + size
		case r == '\u2028' || r == '\u2029':
			dst = append(append(dst, s[start:i]...), `\u202`...)
			dst = append(dst, hexDigits[r&0xf])
			start = i + size
		}
		i += size
	}
	return append(append(dst, s[start:]...), '"')
}

func appendEscape(dst []byte, b byte) []byte {
	switch b {
	case '"', '\\':
		return append(dst, '\\', b)
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	default:
		return append(dst, '\\', 'u', '0', '0', hexDigits[b>>4], hexDigits[b&0xf])
	}
}
