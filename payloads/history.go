package payloads

import (
	"regexp"
	"strings"
)

// toolMarkers is a run of the service's own markers with the white space around,
// without the indentation of the line that follows.
var toolMarkers = regexp.MustCompile(`\s*\[\[tool:[0-9]+\]\](?:\s*\[\[tool:[0-9]+\]\])*(?:\s*\n|[ \t]*)`)

// StripToolMarkers returns the visible text of a message without its [[tool:N]]
// markers, for the prompt's history and for documents. Where a marker stood, the
// line breaks of its larger side stay, two at most; outer white space goes.
func StripToolMarkers(text string) string {
	text = toolMarkers.ReplaceAllStringFunc(text, func(found string) string {
		breaks := 0
		for side := range strings.SplitSeq(found, "]]") {
			breaks = max(breaks, strings.Count(side, "\n"))
		}
		switch {
		case breaks > 0:
			return strings.Repeat("\n", min(breaks, maxBreaks))
		case isSpace(found[0]), isSpace(found[len(found)-1]):
			return " "
		default:
			return ""
		}
	})
	return strings.TrimSpace(text)
}
