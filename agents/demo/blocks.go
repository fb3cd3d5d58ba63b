package demo

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

var lookAtDocument = look("Let me read the document.", "read_document", noArguments)

// The stories that change a single block.
var (
	deleteBlock = onBlock("delete_block", "I marked the block as deleted. Accept to let it go, revert to keep it.", func(*request, int, []block) object { return object{} })
	moveBlock   = onBlock("move_block", "I moved the block.", func(r *request, i int, all []block) object {
		after := all[len(all)-1].ID
		up := slices.ContainsFunc([]string{"top", "front", "start", "begin", "first"}, func(w string) bool { return strings.Contains(strings.ToLower(r.question), w) })
		if up || after == all[i].ID {
			after = ""
		}
		return object{"after_block_id": after}
	})
	editBlock = onBlock("edit_block", "I rewrote the block; the difference is shown until you accept or revert.", func(_ *request, i int, all []block) object {
		return object{"content": shortened(all[i].Content)}
	})
)

// onBlock reads the document, finds the block that the question means, calls a
// tool on it and says what was done.
func onBlock(tool, done string, arguments func(r *request, i int, all []block) object) []step {
	change := func(r *request) reply {
		all := r.Last("read_document").Blocks
		i := r.meantBlock(all)
		if i < 0 {
			return reply{text: "I see no such block in the document. Name it by its place (`the last block`), its type (`the chart`) or a word in it."}
		}
		with := arguments(r, i, all)
		with["block_id"] = all[i].ID
		return r.lookUp(fmt.Sprintf("That is block `%s`.", all[i].ID), call(tool, with))
	}
	return []step{lookAtDocument, change, func(r *request) reply {
		if !r.offers(tool) {
			return reply{text: fmt.Sprintf("I am not offered `%s` here.", tool)}
		}
		return reply{text: done, chips: []string{"Read the document", "Delete the last block"}}
	}}
}

// blockTypes are words for a block's type.
var blockTypes = map[string]string{"chart": "interactive_chart", "table": "csv", "csv": "csv", "figures": "csv"}

// meantBlock returns the index of the block that the question means: by its id, its
// place, its type, a word of its text; -1 for none.
func (r *request) meantBlock(all []block) int {
	if i := slices.IndexFunc(all, func(b block) bool { return r.Has(strings.ToLower(b.ID)) }); i >= 0 {
		return i
	}
	if r.Has("last") {
		return len(all) - 1
	}
	for w := range strings.FieldsSeq(strings.ToLower(r.question)) {
		if i := slices.IndexFunc(all, func(b block) bool { return b.Type == blockTypes[w] }); i >= 0 {
			return i
		}
	}
	if slices.ContainsFunc([]string{"first", "summary", "introduction", "intro", "opening"}, r.Has) {
		return min(0, len(all)-1)
	}
	return slices.IndexFunc(all, func(b block) bool { return mentions(b.Content, r.Topic()) })
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
