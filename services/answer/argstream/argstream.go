// Package argstream reads the arguments of a call while a model writes them.
package argstream

import (
	"encoding/json"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxHead bounds the arguments that are kept besides the content, in bytes.
const maxHead = 128 << 10

// Reader reads the arguments of a call while a model writes them: the JSON of
// one object, cut anywhere. It returns one string piece by piece, the content,
// and the other properties once they are whole. After a mistake in the JSON it
// returns nothing more: the tool reports the mistake when it is called.
type Reader struct {
	// Argument is the name of the string that is the content.
	Argument string
	// Head has the whole properties other than the content.
	Head map[string]json.RawMessage
	// Ended is true once the content is whole.
	Ended bool
	// Began says that the content has begun, or that it is no string.
	Began bool

	state   argState
	key     string
	token   strings.Builder // a key or a value that is being read
	depth   int             // depth of brackets in a value
	quoted  bool            // inside a string of a value
	escape  []byte          // an escape that is being read
	high    rune            // the first half of a surrogate pair
	partial []byte          // bytes of an incomplete character
	size    int
}

type argState uint8

const (
	argStart argState = iota
	argKey            // before a key, or the end
	argInKey
	argColon
	argValue   // before a value
	argInValue // of another property
	argContent
	argComma
	argBroken
)

// Feed takes a piece and returns what it adds to the content, and where in the
// piece the content is: piece[from:to]. What is before from comes before the
// content, what is after to comes after it.
func (a *Reader) Feed(piece string) (content string, from, to int) {
	switch {
	case a.state == argContent:
		to = len(piece)
	case !a.Began:
		from, to = len(piece), len(piece)
	}
	var out strings.Builder
	for i := 0; i < len(piece); i++ {
		before := a.state
		a.next(piece[i], &out)
		switch {
		case before != argContent && a.state == argContent:
			from = i + 1
		case before == argContent && a.state != argContent:
			to = i
		}
	}
	return out.String(), from, to
}

func (a *Reader) next(c byte, out *strings.Builder) {
	if a.state == argContent {
		a.contentByte(c, out)
		return
	}
	if a.state == argInKey || a.state == argInValue {
		a.tokenByte(c)
		return
	}
	if c == ' ' || c == '\t' || c == '\n' || c == '\r' || a.state == argBroken {
		return
	}
	switch {
	case a.state == argStart && c == '{':
		a.state, a.Head = argKey, make(map[string]json.RawMessage)
	case a.state == argKey && c == '"':
		a.begin(argInKey, c)
	case a.state == argColon && c == ':':
		a.state = argValue
	case a.state == argValue && a.key == a.Argument:
		if a.state = argContent; c != '"' || a.Began {
			a.state = argBroken
		}
		a.Began = true
	case a.state == argValue:
		a.begin(argInValue, c)
	case a.state == argComma && c == ',':
		a.state = argKey
	default: // a mistake, or the object's end
		a.state = argBroken
	}
}

// begin begins a key or a value with its first byte.
func (a *Reader) begin(state argState, c byte) {
	a.token.Reset()
	a.state, a.depth, a.quoted, a.escape = state, 0, false, a.escape[:0]
	a.tokenByte(c)
}

// tokenByte takes a byte of a key or of a value, up to its end.
func (a *Reader) tokenByte(c byte) {
	if a.size++; a.size > maxHead {
		a.state = argBroken
		return
	}
	switch {
	case a.quoted:
		a.token.WriteByte(c)
		switch {
		case len(a.escape) > 0:
			a.escape = a.escape[:0]
		case c == '\\':
			a.escape = append(a.escape, c)
		case c == '"':
			a.quoted = false
			if a.depth == 0 {
				a.whole()
			}
		}
		return
	case c == '"':
		a.quoted = true
	case c == '{' || c == '[':
		a.depth++
	case (c == '}' || c == ']' || c == ',') && a.depth == 0: // a number or a word ends
		a.whole()
		a.next(c, nil)
		return
	case c == '}' || c == ']':
		a.depth--
		a.token.WriteByte(c)
		if a.depth == 0 {
			a.whole()
		}
		return
	}
	a.token.WriteByte(c)
}

// whole takes a key or a value that has ended.
func (a *Reader) whole() {
	raw := json.RawMessage(a.token.String())
	switch {
	case a.state == argInKey && json.Unmarshal(raw, &a.key) == nil:
		a.state = argColon
	case a.state == argInValue && json.Valid(raw):
		a.Head[a.key] = raw
		a.state = argComma
	default:
		a.state = argBroken
	}
}

// contentByte takes a byte of the content's string.
func (a *Reader) contentByte(c byte, out *strings.Builder) {
	switch {
	case len(a.escape) > 0:
		a.escapeByte(c, out)
	case c == '\\':
		a.flush(out)
		a.escape = append(a.escape, c)
	case c == '"':
		a.flush(out)
		a.lone(out)
		a.state, a.Ended = argComma, true
	case c < ' ':
		a.state = argBroken
	default:
		a.lone(out)
		a.partial = append(a.partial, c)
		if utf8.FullRune(a.partial) {
			a.flush(out)
		}
	}
}

// flush writes a character that came in pieces. Invalid bytes are replaced, as
// encoding/json does.
func (a *Reader) flush(out *strings.Builder) {
	for len(a.partial) > 0 {
		r, n := utf8.DecodeRune(a.partial)
		out.WriteRune(r)
		a.partial = append(a.partial[:0], a.partial[n:]...)
		if !utf8.FullRune(a.partial) && len(a.partial) > 0 && n > 0 && r == utf8.RuneError {
			return
		}
	}
}

// lone writes a replacement for the first half of a surrogate pair without a
// second.
func (a *Reader) lone(out *strings.Builder) {
	if a.high != 0 {
		out.WriteRune(utf8.RuneError)
		a.high = 0
	}
}

// plainEscapes are the escapes of one letter.
var plainEscapes = map[byte]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

func (a *Reader) escapeByte(c byte, out *strings.Builder) {
	a.escape = append(a.escape, c)
	if len(a.escape) == 2 && c != 'u' {
		plain, known := plainEscapes[c]
		if !known {
			a.state = argBroken
			return
		}
		a.lone(out)
		out.WriteByte(plain)
		a.escape = a.escape[:0]
		return
	}
	if len(a.escape) < len(`\u0000`) {
		return
	}
	unit, ok := hexUnit(a.escape[2:])
	a.escape = a.escape[:0]
	switch {
	case !ok:
		a.state = argBroken
	case a.high != 0 && utf16.DecodeRune(a.high, unit) != utf8.RuneError:
		out.WriteRune(utf16.DecodeRune(a.high, unit))
		a.high = 0
	case utf16.IsSurrogate(unit) && unit < 0xDC00:
		a.lone(out)
		a.high = unit
	default:
		a.lone(out)
		if unit != 0 { // it is not stored
			out.WriteRune(unit)
		}
	}
}

func hexUnit(digits []byte) (rune, bool) {
	var unit rune
	for _, d := range digits {
		switch {
		case d >= '0' && d <= '9':
			d -= '0'
		case d|0x20 >= 'a' && d|0x20 <= 'f':
			d = d | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		unit = unit<<4 | rune(d)
	}
	return unit, true
}
