// Package thoughts separates the reasoning that a model's server leaves in the text, in
// <think> tags, from the rest.
package thoughts

import "strings"

// Splitter reads the text of one reply. Only a reply that begins with the tag, perhaps after
// white space, has such reasoning, or that of a model whose replies begin within it. The
// result does not depend on how the text is split over chunks. The zero value is ready.
type Splitter struct {
	// Within says that the model's replies begin within reasoning, because the tag that
	// begins it is in the prompt. A reply shows whether the next one does: one that only has
	// the tag that ends it, or one without it. Text that was reasoning by mistake is given
	// again as words.
	Within bool

	phase   phase
	held    string          // text that is not decided yet
	assumed strings.Builder // reasoning that no tag began
	tagged  bool            // words have shown what the first tag is
	last    string          // the end of the words, where a tag may have begun
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
		t.look(text)
		return text, ""
	}
	text = t.held + text
	t.held = ""
	if t.phase == beforeThoughts {
		rest := strings.TrimLeft(text, " \t\r\n")
		near := len(text)-len(rest) <= maxBlank
		switch {
		case near && strings.HasPrefix(rest, thinkStart):
			t.phase, text, t.Within = inThoughts, rest[len(thinkStart):], false
		case near && strings.HasPrefix(thinkStart, rest):
			t.held = text
			return "", ""
		case t.Within:
			t.phase = inThoughts
		default:
			t.phase = inWords
			t.look(text)
			return text, ""
		}
	}
	if t.phase == inThoughts {
		var ended bool
		if thought, text, ended = strings.Cut(text, thinkEnd); !ended {
			keep := ending(thought, thinkEnd)
			thought, t.held = thought[:len(thought)-keep], thought[len(thought)-keep:]
			if t.Within {
				t.assumed.WriteString(thought)
			}
			return "", thought
		}
		t.phase, t.tagged = afterThoughts, true
	}
	if text = strings.TrimLeft(text, " \t\r\n"); text != "" {
		t.phase = inWords
	}
	return text, thought
}

// look finds out whether the first tag in words ends reasoning that none began. One in
// quotation marks is a text about tags.
func (t *Splitter) look(words string) {
	if t.tagged || words == "" {
		return
	}
	if !strings.Contains(words, "<") && !strings.Contains(t.last, "<") {
		t.last = words[len(words)-1:]
		return
	}
	words = t.last + words
	start, end := strings.Index(words, thinkStart), strings.Index(words, thinkEnd)
	if t.tagged = start >= 0 || end >= 0; t.tagged {
		t.Within = end >= 0 && (start < 0 || end < start) && (end == 0 || !strings.ContainsAny(words[end-1:end], "`'\""))
	}
	t.last = words[max(len(words)-len(thinkEnd), 0):]
}

// End returns the text that was held back when the reply ends; cut says that the reply did
// not come to its own end.
func (t *Splitter) End(cut bool) (words, thought string) {
	words, t.held = t.held, ""
	switch {
	case t.phase != inThoughts:
		return words, ""
	case cut || !t.Within:
		return "", words
	}
	t.Within, t.phase = false, inWords
	return t.assumed.String() + words, ""
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
