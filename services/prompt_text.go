package services

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text from pages, tools, files and people goes into prompts as data. In a
// prompt only the service writes at a line's start: every line of data is
// indented by dataIndent, so no data can look like a section header or like the
// end of its own block.
const dataIndent = "  "

// writeData writes text as a named block of data:
//
//	<data name="report 1">
//	  the text, indented
//	</data>
func writeData(b *strings.Builder, name, text string) {
	fmt.Fprintf(b, "<data name=%q>\n", promptLine(name, maxPromptName))
	writeIndented(b, text)
	b.WriteString("</data>\n")
}

// writeIndented writes text with every line indented and ended; whatever some
// reader may take for a line's end is one.
func writeIndented(b *strings.Builder, text string) {
	start := true
	if strings.Contains(text, "\r") {
		text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	}
	for _, r := range text {
		switch r {
		case '\n', '\v', '\f', '\u0085', '\u2028', '\u2029':
			b.WriteByte('\n')
			start = true
			continue
		case '\t':
		default:
			if unicode.IsControl(r) {
				continue
			}
		}
		if start {
			b.WriteString(dataIndent)
			start = false
		}
		b.WriteRune(r)
	}
	if !start {
		b.WriteByte('\n')
	}
}

// promptLine returns s on one line without control characters, cut to limit
// characters.
func promptLine(s string, limit int) string {
	if len(s) <= limit && isPlainLine(s) {
		return s
	}
	if len(s) > 8*limit { // what Fields need not see
		s = strings.ToValidUTF8(s[:8*limit], "")
	}
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
	return cutRunes(s, limit)
}

// isPlainLine says whether s is ASCII words with single spaces between them.
func isPlainLine(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == ' ' && (i == 0 || i == len(s)-1 || s[i-1] == ' ') {
			return false
		}
	}
	return true
}

// cutRunes returns s cut to limit characters, the last one then being an
// ellipsis.
func cutRunes(s string, limit int) string {
	if len(s) <= limit || utf8.RuneCountInString(s) <= limit {
		return s
	}
	at := 0
	for range limit - 1 {
		_, size := utf8.DecodeRuneInString(s[at:])
		at += size
	}
	return strings.TrimRightFunc(s[:at], unicode.IsSpace) + "…"
}

// cutText returns s cut to limit characters with a note about its length.
func cutText(s string, limit int) string {
	n := utf8.RuneCountInString(s)
	if n <= limit {
		return s
	}
	return cutRunes(s, limit) + fmt.Sprintf("\n(cut; %d characters in all)", n)
}

// firstSentence is the beginning of a description that says what it is for.
func firstSentence(s string, limit int) string {
	if i := strings.Index(s, ". "); i > 0 {
		s = s[:i+1]
	}
	return promptLine(s, limit)
}

// shortJSON is raw on one line, cut to limit characters.
func shortJSON(raw json.RawMessage, limit int) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return "null"
	}
	return promptLine(b.String(), limit)
}

// plainJSON is v as JSON on one line, with < > & as they are.
func plainJSON(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return "null"
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// plural is "1 article" or "3 articles".
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
