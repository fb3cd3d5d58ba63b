package text

import (
	"regexp"
	"strings"
)

// ToolMarker begins [[tool:N]], which shows where call N of an answer ran.
const ToolMarker = "[[tool:"

// markerLines are tool markers with the line breaks around them.
var markerLines = regexp.MustCompile(`(?:(?:[ \t]*\n)*\[\[tool:\d+\]\](?:[ \t]*\n)*)+`)

// marker is one tool marker.
var marker = regexp.MustCompile(`\[\[tool:\d+\]\]`)

// StripMarkers removes the tool markers from a text and nothing else.
func StripMarkers(s string) string { return marker.ReplaceAllString(s, "") }

// WithoutMarkers returns a message's text without tool markers.
func WithoutMarkers(s string) string {
	s = strings.Trim(markerLines.ReplaceAllString(s, "\n\n"), "\n")
	return strings.ReplaceAll(s, `[\[tool:`, ToolMarker)
}

var markdownEscapes = strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "`", "\\`", "[", `\[`, "]", `\]`, "<", `\<`, "\n", " ", "\r", " ")

// EscapeMarkdown returns s on one line, with the special characters of Markdown
// escaped.
func EscapeMarkdown(s string) string { return markdownEscapes.Replace(s) }
