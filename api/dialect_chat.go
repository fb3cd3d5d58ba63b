package api

import (
	"encoding/json"
	"strconv"
	"unicode/utf8"

	"github.com/chattray/chattray/schemas/runlog"
)

// AppendChatFrame appends the frame of an event in the dialect chat (specs 001
// to 003; 2-protocol, "Frames"): an id line, one line of JSON, a blank line. An
// event without a frame in this dialect appends nothing. The data of complete
// has no diagnostics; they depend on the reader.
func AppendChatFrame(dst []byte, e *runlog.Event) []byte {
	switch e.Kind {
	case runlog.Text, runlog.Marker:
		dst = appendID(dst, e.Seq)
		dst = append(dst, `{"type":"text_delta","text":`...)
		dst = appendJSONString(dst, e.Text)
		return append(dst, "}\n\n"...)
	case runlog.Started, runlog.Status, runlog.Attempt, runlog.ToolStart, runlog.ToolProgress, runlog.ToolComplete,
		runlog.Failed, runlog.Cancelled:
		dst = append(appendID(dst, e.Seq), e.Data...)
		return append(dst, "\n\n"...)
	case runlog.Completed:
		dst = appendID(dst, e.Seq)
		dst = append(dst, `{"type":"complete","payload":`...)
		dst = append(dst, e.Data...)
		return append(dst, "}\n\n"...)
	case runlog.ThreadStart, runlog.BlockStart, runlog.MessageStart, runlog.MessageEnd, runlog.BlockEnd, runlog.ThreadEnd,
		runlog.Thinking, runlog.ToolArguments, runlog.Payload:
		return dst
	default:
		return dst
	}
}

// chatFrame appends the frame that was encoded when the event was logged; to
// complete it adds the diagnostics, for a reader who may see them.
func chatFrame(diagnostics func() json.RawMessage) frames {
	return func(dst []byte, e *runlog.Event) []byte {
		if e.Kind != runlog.Completed || diagnostics == nil {
			return append(dst, e.Frame...)
		}
		return AppendChatFrame(dst, &runlog.Event{Kind: e.Kind, Seq: e.Seq, Data: withDiagnostics(e.Data, diagnostics())})
	}
}

// withDiagnostics puts diagnostics into the payload of complete.
func withDiagnostics(payload, diagnostics json.RawMessage) json.RawMessage {
	if len(diagnostics) == 0 || len(payload) < 2 {
		return payload
	}
	out := make(json.RawMessage, 0, len(payload)+len(diagnostics)+20)
	out = append(out, payload[:len(payload)-1]...)
	out = append(out, `,"diagnostics":`...)
	out = append(out, diagnostics...)
	return append(out, '}')
}

func appendID(dst []byte, seq int64) []byte {
	dst = append(dst, "id: "...)
	dst = strconv.AppendInt(dst, seq, 10)
	return append(dst, "\ndata: "...)
}

const hexDigits = "0123456789abcdef"

// appendJSONString appends s as a JSON string on one line. Invalid UTF-8
// becomes U+FFFD; U+2028 and U+2029, which end a line in JavaScript, and control
// characters are escaped.
func appendJSONString(dst []byte, s string) []byte {
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
