package answer

import (
	"iter"
	"strings"
)

// pieces are the visible text of this attempt, as its log has them.
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

// message is the visible text without the white space around it. It shares the
// memory of the model's only reply where that is shown as it is.
func (wr *Writer) message() string {
	whole, rest := wr.only(), wr.only()
	shows := wr.stood.Len() == 0
	for piece := range wr.pieces() {
		if !shows {
			break
		}
		rest, shows = strings.CutPrefix(rest, piece)
	}
	if shows && strings.TrimSpace(rest) == "" {
		return strings.TrimSpace(whole)
	}
	size := wr.stood.Len()
	for piece := range wr.pieces() {
		size += len(piece)
	}
	var b strings.Builder
	b.Grow(size)
	b.WriteString(wr.stood.String())
	for piece := range wr.pieces() {
		b.WriteString(piece)
	}
	return strings.TrimSpace(b.String())
}

// only is the text of the only reply that there is, be it under way.
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

// room is about how much an encoded text of n bytes takes, with what is beside it.
func room(n int) int { return n + n/16 + 512 }
