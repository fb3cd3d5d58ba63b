package schemas

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/chattray/chattray/schemas/text"
)

// maxToolText bounds a tool's output, and each string of its input, in events
// and histories, in characters; the complete call is at GET
// /api/chat/runs/{run_id}/tools/{index}.
const maxToolText = 16_000

// CutText returns at most 16,000 characters of the text, with a note if
// something was cut off.
func CutText(s string) string {
	if len(s) <= maxToolText {
		return s
	}
	n := utf8.RuneCountInString(s)
	if n <= maxToolText {
		return s
	}
	return s[:text.Offset(s, maxToolText)] + fmt.Sprintf("\n[the first %d of %d characters]", maxToolText, n)
}

// CutStrings returns the JSON with each string cut as CutText does. Everything
// else is unchanged, and so is short JSON.
func CutStrings(raw json.RawMessage) json.RawMessage {
	if len(raw) <= maxToolText {
		return raw
	}
	var out json.RawMessage
	copied := 0
	for at := 0; at < len(raw); {
		begin := bytes.IndexByte(raw[at:], '"')
		if begin < 0 {
			break
		}
		begin += at
		at = text.StringEnd(raw, begin)
		var whole string
		if at-begin <= maxToolText || json.Unmarshal(raw[begin:at], &whole) != nil {
			continue
		}
		if short := CutText(whole); short != whole {
			out = AppendString(append(out, raw[copied:begin]...), short)
			copied = at
		}
	}
	if copied == 0 {
		return raw
	}
	return append(out, raw[copied:]...)
}
