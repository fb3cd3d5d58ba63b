package bodies

import (
	"bytes"
	"encoding/json"
	"unicode/utf16"
	"unicode/utf8"
)

// maxNesting is how deep a body's JSON may be nested, as in encoding/json.
const maxNesting = 10_000

// scanner reads the tokens of a JSON value (RFC 8259) in UTF-8 from memory, without
// copies. It accepts exactly what both utf8.Valid and json.Valid accept. After the
// first fault failed is true and there are no more bytes. json.Decoder does the
// same in several passes, and allocates for each token.
type scanner struct {
	raw    []byte
	at     int
	depth  int
	failed bool
	// onEscape is told of the first \u escape of a string that cannot be stored: U+0000, or
	// a lone surrogate.
	onEscape func(r rune)
}

func (s *scanner) fail() {
	s.failed, s.at = true, len(s.raw)
}

// next skips space and returns the byte after it, which it does not take; 0 is
// the end.
func (s *scanner) next() byte {
	for ; s.at < len(s.raw); s.at++ {
		switch c := s.raw[s.at]; c {
		case ' ', '\t', '\r', '\n':
		default:
			return c
		}
	}
	return 0
}

// take takes the byte c after space, which must come.
func (s *scanner) take(c byte) {
	if s.next() != c || s.failed {
		s.fail()
		return
	}
	s.at++
}

// open takes the bracket that begins an object or an array.
func (s *scanner) open() {
	if s.depth++; s.depth > maxNesting {
		s.fail()
		return
	}
	s.at++
}

// close takes the bracket that ends an object or an array.
func (s *scanner) close() {
	if !s.failed {
		s.depth--
		s.at++
	}
}

// more says whether another item comes before the bracket end, and takes what is
// between two items.
func (s *scanner) more(first bool, end byte) bool {
	if s.next() == end {
		return false
	}
	if !first {
		s.take(',')
	}
	return !s.failed
}

// text takes a string and returns it with its quotes, as it is written.
func (s *scanner) text() []byte {
	s.take('"')
	from, ascii, told := s.at-1, true, false
	for s.at < len(s.raw) {
		c := s.raw[s.at]
		s.at++
		switch {
		case c == '"':
			written := s.raw[from:s.at]
			if !ascii && !utf8.Valid(written) {
				s.fail()
			}
			return written
		case c == '\\':
			s.escape(&told)
		case c < ' ':
			s.fail()
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	s.fail()
	return nil
}

// escape takes the rest of an escape. Told is true once the text had one that cannot be
// stored.
func (s *scanner) escape(told *bool) {
	if s.at == len(s.raw) {
		return
	}
	c := s.raw[s.at]
	s.at++
	switch c {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return
	case 'u':
	default:
		s.fail()
		return
	}
	r, ok := s.hex(s.at)
	if !ok {
		s.fail()
		return
	}
	s.at += 4
	switch {
	case *told:
	case r == 0:
		*told = true
		s.onEscape(r)
	case utf16.IsSurrogate(r):
		if low, ok := s.hex(s.at + 2); ok && s.raw[s.at] == '\\' && s.raw[s.at+1] == 'u' && utf16.DecodeRune(r, low) != utf8.RuneError {
			s.at += 6
			return
		}
		*told = true
		s.onEscape(r)
	}
}

// hex returns the number that four hexadecimal digits give.
func (s *scanner) hex(at int) (rune, bool) {
	if at+4 > len(s.raw) {
		return 0, false
	}
	var r rune
	for _, c := range s.raw[at : at+4] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// number takes a number and returns it.
func (s *scanner) number() []byte {
	from := s.at
	s.skip('-')
	if !s.skip('0') {
		s.digits()
	}
	if s.skip('.') {
		s.digits()
	}
	if s.skip('e') || s.skip('E') {
		if !s.skip('+') {
			s.skip('-')
		}
		s.digits()
	}
	return s.raw[from:s.at]
}

// digits takes one or more digits.
func (s *scanner) digits() {
	from := s.at
	for s.at < len(s.raw) && '0' <= s.raw[s.at] && s.raw[s.at] <= '9' {
		s.at++
	}
	if s.at == from {
		s.fail()
	}
}

// skip takes the byte c if it comes next.
func (s *scanner) skip(c byte) bool {
	if s.at < len(s.raw) && s.raw[s.at] == c {
		s.at++
		return true
	}
	return false
}

// word takes true, false or null.
func (s *scanner) word(w string) {
	if end := s.at + len(w); end <= len(s.raw) && string(s.raw[s.at:end]) == w {
		s.at = end
		return
	}
	s.fail()
}

// unquoted returns the value of a string that text returned.
func unquoted(written []byte) string {
	if !bytes.ContainsRune(written, '\\') {
		return string(written[1 : len(written)-1])
	}
	var v string
	_ = json.Unmarshal(written, &v) // written is a valid string
	return v
}
