package demo

import (
	"cmp"
	"slices"
	"strings"
)

// MoveAfter returns the id of the block after which the question wants the block to be; ""
// is the top.
func (r *request) MoveAfter() string {
	all := r.Last("read_document").Blocks
	last := all[len(all)-1].ID
	if last == r.Block().ID || slices.ContainsFunc([]string{"top", "front", "start", "begin", "first"}, r.Mentions) {
		return ""
	}
	return last
}

// blockTypes are words for a block's type.
var blockTypes = map[string]string{"chart": "interactive_chart", "table": "csv", "csv": "csv", "figures": "csv"}

// Block returns the block that the question means, by its id, its place, its type or a word
// of its text; nil for none.
func (r *request) Block() *block {
	all := r.Last("read_document").Blocks
	find := func(is func(b block) bool) *block {
		if i := slices.IndexFunc(all, is); i >= 0 {
			return &all[i]
		}
		return nil
	}
	if found := find(func(b block) bool { return r.Has(strings.ToLower(b.ID)) }); found != nil || len(all) == 0 {
		return found
	}
	if r.Has("last") {
		return &all[len(all)-1]
	}
	for w := range strings.FieldsSeq(strings.ToLower(r.question)) {
		if found := find(func(b block) bool { return b.Type == blockTypes[w] }); found != nil {
			return found
		}
	}
	if slices.ContainsFunc([]string{"first", "summary", "introduction", "intro", "opening"}, r.Has) {
		return &all[0]
	}
	return find(func(b block) bool { return mentions(b.Content, r.Topic()) })
}

// shortened keeps the headings and the first sentence under each.
func shortened(content string) string {
	var out []string
	for line := range strings.Lines(content) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "#"):
			out = append(out, line)
		case line != "" && (len(out) == 0 || strings.HasPrefix(out[len(out)-1], "#")):
			if sentence, _, more := strings.Cut(line, ". "); more {
				line = sentence + "."
			}
			out = append(out, line)
		}
	}
	return cmp.Or(strings.Join(out, "\n\n"), "This block is empty.")
}
