package text

import (
	"regexp"
	"strconv"
	"strings"
)

// ToolMarker begins [[tool:N]], which shows where call N of an answer ran. Only the service
// may write it: in text of anybody else EscapedMarker replaces it.
const (
	ToolMarker    = "[[tool:"
	EscapedMarker = `[\[tool:`
)

// markerLines are tool markers with the line breaks around them.
var markerLines = regexp.MustCompile(`(?:(?:[ \t]*\n)*\[\[tool:\d+\]\](?:[ \t]*\n)*)+`)

// marker is one tool marker, with its number.
var marker = regexp.MustCompile(`\[\[tool:(\d+)\]\]`)

// StripMarkers removes the tool markers from a text and nothing else.
func StripMarkers(s string) string { return marker.ReplaceAllString(s, "") }

// Markers returns where the tool markers of a text are, from and to, each with the blank
// lines around it.
func Markers(s string) [][]int { return markerLines.FindAllStringIndex(s, -1) }

// WithoutMarkers returns a message's text without tool markers.
func WithoutMarkers(s string) string {
	if strings.Contains(s, ToolMarker) { // the expression takes long to find none
		s = markerLines.ReplaceAllString(s, "\n\n")
	}
	s = strings.Trim(s, "\n")
	return strings.ReplaceAll(s, EscapedMarker, ToolMarker)
}

var markdownEscapes = strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "`", "\\`", "[", `\[`, "]", `\]`, "<", `\<`, "\n", " ", "\r", " ")

// EscapeMarkdown returns s on one line, with the special characters of Markdown
// escaped.
func EscapeMarkdown(s string) string { return markdownEscapes.Replace(s) }

// Piece is a stretch of an answer's text, and the number of the call whose marker ends
// it, -1 for none.
type Piece struct {
	Text string
	Call int
}

// AtMarkers parts an answer's text at its tool markers.
func AtMarkers(s string) []Piece {
	var pieces []Piece
	for {
		m := marker.FindStringSubmatchIndex(s)
		if m == nil {
			return append(pieces, Piece{s, -1})
		}
		call, err := strconv.Atoi(s[m[2]:m[3]])
		if err != nil {
			call = -1
		}
		pieces = append(pieces, Piece{s[:m[0]], call})
		s = s[m[1]:]
	}
}
