package prompt

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"github.com/chattray/chattray/schemas/text"
)

// Text from pages, tools, files and people goes into prompts as data. Only text
// of the service begins at the start of a line: every line of data is indented
// by dataIndent, so no data can look like a section header or like the end of
// its own block.
const dataIndent = "  "

// writeData writes text as a named block of data:
//
//	<data name="report 1">
//	  the text, indented
//	</data>
func writeData(b *strings.Builder, name, data string) {
	fmt.Fprintf(b, "<data name=%q>\n", text.Line(name, maxPromptName))
	writeIndented(b, data)
	b.WriteString("</data>\n")
}

// writeIndented writes text with every line indented and terminated. Every
// character that a reader may take for a line break ends a line.
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

// indentedSize returns how many bytes text has as data, at most.
func indentedSize(text string) int {
	return len(text) + (strings.Count(text, "\n")+1)*(len(dataIndent)+1)
}

// cutText returns s cut to limit characters with a note about its length.
func cutText(s string, limit int) string {
	return text.Cut(s, limit, func(total int) string { return fmt.Sprintf("\n(cut; %d characters in all)", total) })
}

// firstSentence returns the first sentence of a description.
func firstSentence(s string, limit int) string {
	if i := strings.Index(s, ". "); i > 0 {
		s = s[:i+1]
	}
	return text.Line(s, limit)
}

// shortJSON returns raw on one line, cut to limit characters.
func shortJSON(raw json.RawMessage, limit int) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return "null"
	}
	return text.Line(b.String(), limit)
}
