package openai

import (
	"bytes"
	"slices"
	"strings"
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
	if at < 1 || text[at] != '\\' || text[at+1] != 'u' || text[at+2]|0x20 != 'd' || !strings.ContainsRune("89abAB", rune(text[at+3])) {
		return false
	}
	before := bytes.TrimRight(text[:at], `\`)
	return (at-len(before))%2 == 0 // the backslash is not escaped itself
}
