package openai

import (
	"bytes"
	"slices"
	"strconv"
)

// joined returns a text, as JSON, together with the half of a character with which the one
// before it ended. Programs that count UTF-16 cut a character outside the basic plane in two:
// one text ends with the escape of the first half, the next begins with that of the second.
func (c *modelCall) joined(text []byte) []byte {
	if c.half == nil && !halved(text) || len(text) == 0 || text[0] != '"' {
		return text
	}
	text = slices.Concat([]byte(`"`), c.half, text[1:])
	c.half = nil
	if halved(text) {
		end := len(text) - len(`\ud83d"`)
		c.half, text = bytes.Clone(text[end:len(text)-1]), append(text[:end:end], '"')
	}
	return text
}

// halved reports whether a JSON string ends with the escape of the first half of a surrogate
// pair.
func halved(text []byte) bool {
	at := len(text) - len(`\ud83d"`)
	if at < 1 || text[at] != '\\' || text[at+1] != 'u' {
		return false
	}
	half, err := strconv.ParseUint(string(text[at+2:len(text)-1]), 16, 16)
	before := bytes.TrimRight(text[:at], `\`)
	return err == nil && 0xd800 <= half && half < 0xdc00 && (at-len(before))%2 == 0 // the backslash is not escaped itself
}
