// Package plain recognizes the plain chunks of a reply without decoding them. A plain
// chunk holds a piece of text and nothing else; nearly every chunk is one.
package plain

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// Text returns the text that Match or Learn has found, and false if the string cannot be
// decoded.
func Text(quoted []byte) (string, bool) {
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
	return s, err == nil
}

// Memo remembers the bytes before and after the text of the last plain chunk: a chunk
// with the same bytes around its text is plain too. The zero value remembers none.
type Memo struct{ head, tail []byte }

// maxMemo is the most that a Memo remembers, in bytes.
const maxMemo = 2 << 10

// Match returns the text of a chunk that differs from the remembered one only
// in its text. The text is as in the chunk, with its quotes.
func (m *Memo) Match(chunk []byte) ([]byte, bool) {
	if len(m.head) == 0 || len(chunk) < len(m.head)+len(m.tail) ||
		!bytes.HasPrefix(chunk, m.head) || !bytes.HasSuffix(chunk, m.tail) {
		return nil, false
	}
	start, end := len(m.head), len(chunk)-len(m.tail)
	return chunk[start-1 : end+1], closed(chunk[start:end])
}

// closed reports whether content is the inside of one JSON string: every quote
// in it is escaped, and it does not end with a backslash that escapes the
// closing quote.
func closed(content []byte) bool {
	if bytes.IndexByte(content, '\\') < 0 {
		return bytes.IndexByte(content, '"') < 0
	}
	for i := 0; i < len(content); i++ {
		switch content[i] {
		case '"':
			return false
		case '\\':
			if i++; i == len(content) {
				return false
			}
		}
	}
	return true
}

// Learn returns the text of a plain chunk, as Match does, and remembers the bytes around it.
func (m *Memo) Learn(chunk []byte) ([]byte, bool) {
	s := skimmer{b: chunk}
	if !s.object((*skimmer).chunk) || s.end == 0 || !json.Valid(chunk) {
		return nil, false
	}
	if len(chunk)-(s.end-s.start) <= maxMemo {
		m.head = append(m.head[:0], chunk[:s.start]...)
		m.tail = append(m.tail[:0], chunk[s.end:]...)
	}
	return chunk[s.start-1 : s.end+1], true
}

// skimmer walks over a chunk. A chunk that it accepts is plain, provided that
// it is valid JSON. It knows the keys of a plain chunk and where they are; it
// leaves a chunk with other keys to the decoder.
type skimmer struct {
	b          []byte
	i          int
	start, end int // start and end of the text

	sawChoices, sawDelta bool
}

func (s *skimmer) chunk(key []byte) bool {
	switch string(key) {
	case "choices":
		return once(&s.sawChoices) && s.skip('[') && s.object((*skimmer).choice) && s.skip(']')
	case "id", "object", "created", "model", "service_tier", "system_fingerprint", "obfuscation", "provider":
		return s.scalar()
	case "usage":
		return s.null()
	}
	return false
}

func (s *skimmer) choice(key []byte) bool {
	switch string(key) {
	case "index":
		return s.skip('0') && s.at() != '.' && s.at() != 'e' && s.at() != 'E'
	case "delta":
		return once(&s.sawDelta) && s.object((*skimmer).delta)
	case "logprobs", "finish_reason", "native_finish_reason", "stop_reason", "token_ids":
		return s.null()
	}
	return false
}

func (s *skimmer) delta(key []byte) bool {
	switch string(key) {
	case "content":
		if s.end != 0 || !s.str() {
			return false // a second text, or not a string
		}
		return true
	case "role":
		return s.scalar()
	case "refusal", "reasoning_content", "reasoning", "tool_calls", "function_call", "audio", "annotations":
		return s.null()
	}
	return false
}

// once reports whether a member comes for the first time.
func once(came *bool) bool {
	first := !*came
	*came = true
	return first
}

// object walks over an object; member takes each key with the skimmer at its
// value.
func (s *skimmer) object(member func(s *skimmer, key []byte) bool) bool {
	if !s.skip('{') {
		return false
	}
	if s.skip('}') {
		return true
	}
	for {
		start, end, ok := s.quoted()
		if !ok || !s.skip(':') || !member(s, s.b[start:end]) {
			return false
		}
		if s.skip(',') {
			continue
		}
		return s.skip('}')
	}
}

// at returns the byte at the skimmer, 0 at the end.
func (s *skimmer) at() byte {
	if s.i < len(s.b) {
		return s.b[s.i]
	}
	return 0
}

func (s *skimmer) space() {
	for c := s.at(); c == ' ' || c == '\t' || c == '\r' || c == '\n'; c = s.at() {
		s.i++
	}
}

// skip goes over c and the space before it.
func (s *skimmer) skip(c byte) bool {
	s.space()
	if s.at() != c {
		return false
	}
	s.i++
	return true
}

// quoted goes over a string and returns the positions of its content.
func (s *skimmer) quoted() (start, end int, ok bool) {
	if !s.skip('"') {
		return 0, 0, false
	}
	for start = s.i; s.i < len(s.b); s.i++ {
		switch s.b[s.i] {
		case '\\':
			s.i++
		case '"':
			s.i++
			return start, s.i - 1, true
		}
	}
	return 0, 0, false
}

func (s *skimmer) str() bool {
	var ok bool
	s.start, s.end, ok = s.quoted()
	return ok
}

func (s *skimmer) null() bool {
	s.space()
	if !bytes.HasPrefix(s.b[s.i:], []byte("null")) {
		return false
	}
	s.i += len("null")
	return true
}

// scalar goes over a string, a number, true, false or null.
func (s *skimmer) scalar() bool {
	s.space()
	switch c := s.at(); c {
	case '{', '[', 0:
		return false
	case '"':
		_, _, ok := s.quoted()
		return ok
	}
	for c := s.at(); c != ',' && c != '}' && c != ']' && c > ' '; c = s.at() {
		s.i++
	}
	return true
}
