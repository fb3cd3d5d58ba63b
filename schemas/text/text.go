// Package text has functions that several folders use for strings from outside:
// shorten them, put them on one line, count things in words. It depends only on
// the standard library.
package text

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Ellipsis returns s, cut to limit characters if it has more; the last one is
// then an ellipsis. A character is never split, nor are several that are shown as one.
func Ellipsis(s string, limit int) string {
	if len(s) <= limit || utf8.RuneCountInString(s) <= limit {
		return s
	}
	return strings.TrimRightFunc(Beginning(s, limit-1), unicode.IsSpace) + "…"
}

// Cut returns s, or its beginning as Ellipsis makes it with a note, which is told how
// many characters s has.
func Cut(s string, limit int, note func(total int) string) string {
	total := utf8.RuneCountInString(s)
	if total <= limit {
		return s
	}
	return Ellipsis(s, limit) + note(total)
}

// Line returns s on one line, with single spaces and without control
// characters, cut to limit characters as Ellipsis does.
func Line(s string, limit int) string {
	if len(s) <= limit && isPlainLine(s) {
		return s
	}
	if longest := 8 * limit; len(s) > longest { // the rest would be cut off anyway
		s = strings.ToValidUTF8(s[:longest], "")
	}
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
	return Ellipsis(s, limit)
}

// isPlainLine reports whether s is ASCII words with single spaces between them.
func isPlainLine(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == ' ' && (i == 0 || i == len(s)-1 || s[i-1] == ' ') {
			return false
		}
	}
	return true
}

// OneLine turns each run of white space into one space.
func OneLine(s string) string {
	if isPlainLine(s) {
		return s
	}
	return strings.Join(strings.Fields(s), " ")
}

// Blank reports whether nothing of s can be seen: it has only white space, control and
// formatting characters, such as a space of no width, and letters without a form, such as the
// filler of Hangul.
func Blank(s string) bool {
	const blankBraille = '\u2800'
	return !strings.ContainsFunc(s, func(r rune) bool {
		return !unicode.IsSpace(r) && r != blankBraille &&
			!unicode.In(r, unicode.Cc, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
	})
}

// Printable returns s without control and formatting characters, which can hide what it
// says, and without white space at its ends, cut to limit characters. Line ends and tabs
// stay.
func Printable(s string, limit int) string {
	var b strings.Builder
	n := 0
	for _, r := range s {
		switch {
		case r == '\n' || r == '\t':
		case !unicode.IsPrint(r):
			continue
		}
		if n == limit {
			break
		}
		b.WriteRune(r)
		n++
	}
	return strings.TrimSpace(b.String())
}

// Bytes returns at most the first limit bytes of s, without splitting a
// character.
func Bytes(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}

// Beginning returns at most the first limit characters of s. As in Ellipsis, none is split.
func Beginning(s string, limit int) string { return s[:wholeBefore(s, Offset(s, limit))] }

// Offset returns the byte offset of character n of s, or len(s) if s has fewer.
func Offset(s string, n int) int {
	for i := range s {
		if n == 0 {
			return i
		}
		n--
	}
	return len(s)
}

// Plural returns "1 article" or "3 articles".
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// maxID is the length of an id that a client chooses. IDOrNone is the pattern of a
// text that may be such an id or empty, for schemas.
const (
	maxID    = 64
	IDOrNone = `^[A-Za-z0-9_-]{0,64}$`
)

// IsID reports whether a client may choose this id: 1 to 64 letters, digits, -
// and _.
func IsID(id string) bool {
	for _, c := range []byte(id) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_':
		default:
			return false
		}
	}
	return id != "" && len(id) <= maxID
}

var secretName = regexp.MustCompile(`(?i)auth|cookie|credential|key|pass|pwd|secret|token`)

// NamesSecret reports whether the value of a header, a variable or a parameter of a URL with
// this name is a secret. Other values may be common words.
func NamesSecret(name string) bool { return secretName.MatchString(name) }

// ShortestSecret is how many bytes a secret has at least that is hidden in other texts: a
// shorter value may be a common word, whatever its name.
const ShortestSecret = 6
