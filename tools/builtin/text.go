package builtin

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/chattray/chattray/schemas/text"
	"github.com/chattray/chattray/tools"
)

// Limits of a part of a long text, in characters.
const (
	pagePart = 12_000 // that the model gets at a time, if its limit for an output allows them
	partNote = 100    // of the note at the end of a part
	minPart  = 100    // of a part, however small that limit is
)

// part returns the characters of s from start on that the model gets in one output of the
// call, beside other text, and a note that says where s continues; no note at its end.
func part(call *tools.Call, s string, start int, beside string) (shown, note string) {
	room := pagePart
	if call.Output > 0 {
		room = max(min(room, call.Output-utf8.RuneCountInString(beside)-partNote), minPart)
	}
	total := utf8.RuneCountInString(s)
	from := min(start, total)
	to := min(from+room, total)
	if to < total {
		note = fmt.Sprintf("(Characters %d to %d of %d. To read on, call again with start %d.)", from, to, total, to)
	}
	return s[text.Offset(s, from):text.Offset(s, to)], note
}

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
