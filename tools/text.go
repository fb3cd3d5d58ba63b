package tools

import (
	"strconv"
	"strings"
)

// oneLine makes white space plain and single.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// byline is "First, Second, Third et al." for many authors.
func byline(authors []string) string {
	const most = 6
	switch {
	case len(authors) == 0:
		return "no authors given"
	case len(authors) > most:
		return strings.Join(authors[:most], ", ") + " et al."
	default:
		return strings.Join(authors, ", ")
	}
}

// counted is a number of things, one or several.
func counted(n int, one, several string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + several
}

// or returns s, or instead when s is empty.
func or(s, instead string) string {
	if s == "" {
		return instead
	}
	return s
}
