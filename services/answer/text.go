package answer

import (
	"iter"
	"strings"
)

// pieces are the pieces of this attempt's visible text, from its log.
func (wr *Writer) pieces() iter.Seq[string] {
	events, _ := wr.deps.Log.Since(0)
	return func(yield func(string) bool) {
		for i := range events {
			if piece := events[i].Visible(); piece != "" && !yield(piece) {
				return
			}
		}
	}
}

// message is the visible text without the white space around it. If the model wrote
// one reply and all of it is shown, message shares that reply's memory.
func (wr *Writer) message() string {
	whole, rest := wr.only(), wr.only()
	shows := wr.kept.Len() == 0
	for piece := range wr.pieces() {
		if !shows {
			break
		}
		rest, shows = strings.CutPrefix(rest, piece)
	}
	if shows && strings.TrimSpace(rest) == "" {
		return strings.TrimSpace(whole)
	}
	size := wr.kept.Len()
	for piece := range wr.pieces() {
		size += len(piece)
	}
	var b strings.Builder
	b.Grow(size)
	b.WriteString(wr.kept.String())
	for piece := range wr.pieces() {
		b.WriteString(piece)
	}
	return strings.TrimSpace(b.String())
}

// only is the text of the reply, finished or under way, if there is just one.
func (wr *Writer) only() string {
	switch {
	case len(wr.steps) == 0:
		return wr.writing.String()
	case len(wr.steps) == 1:
		return wr.steps[0].Reply.Text
	default:
		return ""
	}
}
