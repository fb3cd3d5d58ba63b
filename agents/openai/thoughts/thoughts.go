// Package thoughts separates the reasoning that a model's server leaves in the text, in
// <think> tags, from the rest.
package thoughts

import "strings"

// Splitter reads the text of one reply. Only a reply that begins with the tag, perhaps after
// white space, has such reasoning. The result does not depend on how the text is split over
// chunks. The zero value is ready.
type Splitter struct {
	phase phase
	held  string // text that is not decided yet
}

type phase byte

const (
	beforeThoughts phase = iota // in white space at the beginning
	inThoughts
	afterThoughts // in white space after them
	inWords
)

const (
	thinkStart = "<think>"
	thinkEnd   = "</think>"
	// maxBlank is the most white space at the beginning that is held back.
	maxBlank = 64
)

// Split takes the next text of a reply and returns what of it is decided.
func (t *Splitter) Split(text string) (words, thought string) {
	if t.phase == inWords || text == "" {
		return text, ""
	}
	text = t.held + text
	t.held = ""
	if t.phase == beforeThoughts {
		rest := strings.TrimLeft(text, " \t\r\n")
		near := len(text)-len(rest) <= maxBlank
		switch {
		case near && strings.HasPrefix(rest, thinkStart):
			t.phase, text = inThoughts, rest[len(thinkStart):]
		case near && strings.HasPrefix(thinkStart, rest):
			t.held = text
			return "", ""
		default:
			t.phase = inWords
			return text, ""
		}
	}
	if t.phase == inThoughts {
		var ended bool
		if thought, text, ended = strings.Cut(text, thinkEnd); !ended {
			keep := ending(thought, thinkEnd)
			thought, t.held = thought[:len(thought)-keep], thought[len(thought)-keep:]
			return "", thought
		}
		t.phase = afterThoughts
	}
	if text = strings.TrimLeft(text, " \t\r\n"); text != "" {
		t.phase = inWords
	}
	return text, thought
}

// End returns the text that was held back when the reply ends.
func (t *Splitter) End() (words, thought string) {
	words, t.held = t.held, ""
	if t.phase == inThoughts {
		return "", words
	}
	return words, ""
}

// ending returns the length of the longest end of s that word begins with.
func ending(s, word string) int {
	for n := min(len(s), len(word)-1); n > 0; n-- {
		if strings.HasSuffix(s, word[:n]) {
			return n
		}
	}
	return 0
}
