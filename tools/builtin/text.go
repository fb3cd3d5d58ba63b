package builtin

import (
	"fmt"
	"strconv"
	"strings"
)

// byline returns "First, Second, Third et al." for many authors.
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

// counted returns n with its noun in singular or plural.
func counted(n int, one, several string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + several
}

// ofMore says how many of a list are shown, if that is not all of them.
func ofMore(shown, total int) string {
	if shown >= total {
		return ""
	}
	return fmt.Sprintf("; these are the first %d", shown)
}
