package demo

import (
	"fmt"
	"regexp"
	"strings"
)

// block is a document's block as a tool's text shows it.
type block struct{ id, text string }

// blockID finds ids in a tool's text: `block_id: b1`, `"block_id":"b1"`,
// `"id":"b1"` or `[b1]` at an item's start.
var blockID = regexp.MustCompile(`(?m)(?:\b(?:block_id|id)\b["'\s:=` + "`" + `]{1,4}|^\s*(?:[-*]|\d+[.)])\s*\[)([A-Za-z0-9_-]{1,64})`)

// blocks cuts a tool's text into blocks.
func blocks(text string) []block {
	var out []block
	found := blockID.FindAllStringSubmatchIndex(text, -1)
	for i, m := range found {
		end := len(text)
		if i+1 < len(found) {
			end = found[i+1][0]
		}
		id := text[m[2]:m[3]]
		if len(out) == 0 || out[len(out)-1].id != id {
			out = append(out, block{id, text[m[0]:end]})
		}
	}
	return out
}

func blockIDs(text string) []string {
	var ids []string
	for _, b := range blocks(text) {
		ids = append(ids, b.id)
	}
	return ids
}

// kinds are words for types of blocks.
var kinds = []struct{ word, kind string }{
	{"chart", "interactive_chart"},
	{"table", "csv"},
	{"csv", "csv"},
	{"figures", "csv"},
}

// pick returns the block that the question means: by its id, by its place, by
// its type, by a word of its text.
func pick(all []block, asked string) (block, bool) {
	for _, b := range all {
		if strings.Contains(" "+asked+" ", " "+strings.ToLower(b.id)+" ") {
			return b, true
		}
	}
	if len(all) == 0 {
		return block{}, false
	}
	switch {
	case strings.Contains(asked, "last"):
		return all[len(all)-1], true
	case strings.Contains(asked, "first"):
		return all[0], true
	}
	for _, k := range kinds {
		if !strings.Contains(asked, k.word) {
			continue
		}
		for _, b := range all {
			if strings.Contains(b.text, k.kind) {
				return b, true
			}
		}
	}
	if regexp.MustCompile(`\b(?:summary|introduction|intro|opening)\b`).MatchString(asked) {
		return all[0], true
	}
	for word := range strings.FieldsSeq(topicOf(asked)) {
		for _, b := range all {
			if mentions(b.text, word) {
				return b, true
			}
		}
	}
	return block{}, false
}

// onBlock reads the document, finds the block that is meant, calls a tool on it
// and says what was done.
func onBlock(s *scene, tool, done string, arguments func(b block, all []block) fields) reply {
	if s.called(tool) {
		return reply{text: done, chips: []string{"Read the document", "Delete the last block"}}
	}
	if !s.offered(tool) {
		return reply{text: fmt.Sprintf("I am not offered `%s` here.", tool)}
	}
	if r, ok := s.look("Let me read the document.", call{"read_document", "{}"}); !ok {
		return r
	}
	var all []block
	for _, r := range s.of("read_document") {
		all = blocks(r.text)
	}
	b, ok := pick(all, s.asked)
	if !ok {
		return reply{text: "I see no such block in the document. Name it by its place (`the last block`), its type (`the chart`) or a word in it."}
	}
	return reply{text: fmt.Sprintf("That is block `%s`.", b.id), calls: []call{{tool, arguments(b, all).json()}}}
}

func deleteBlock(s *scene, _ []string) reply {
	return onBlock(s, "delete_block", "I marked the block as deleted. Accept to let it go, revert to keep it.",
		func(b block, _ []block) fields { return fields{{"block_id", b.id}} })
}

func moveBlock(s *scene, _ []string) reply {
	return onBlock(s, "move_block", "I moved the block.", func(b block, all []block) fields {
		after := all[len(all)-1].id
		if regexp.MustCompile(`\b(?:top|front|start|begin\w*|first)\b`).MatchString(s.asked) || after == b.id {
			after = ""
		}
		return fields{{"block_id", b.id}, {"after_block_id", after}}
	})
}

func editBlock(s *scene, _ []string) reply {
	return onBlock(s, "edit_block", "I rewrote the block; the difference is shown until you accept or revert.", func(b block, _ []block) fields {
		return fields{{"block_id", b.id}, {"content", shortened(b.text)}}
	})
}

// shortened keeps the headings and the first sentence under each.
func shortened(text string) string {
	var out []string
	if i := strings.Index("\n"+text, "\n#"); i >= 0 {
		text = text[i:] // what stands before is the tool's own
	}
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "#"):
			out = append(out, line)
		case line != "" && !blockID.MatchString(line) && (len(out) == 0 || strings.HasPrefix(out[len(out)-1], "#")):
			first, _, more := strings.Cut(line, ". ")
			if more {
				first += "."
			}
			out = append(out, first)
		}
	}
	if len(out) == 0 {
		return "This block is empty."
	}
	return strings.Join(out, "\n\n")
}

func readDocument(s *scene, _ []string) reply {
	if r, ok := s.look("Let me read the document.", call{"read_document", "{}"}); !ok {
		return r
	}
	for _, r := range s.of("read_document") {
		all := blocks(r.text)
		return reply{
			text:  fmt.Sprintf("The document has %s:\n\n> %s", count(len(all), "block"), quoted(r.text)),
			chips: []string{"Shorten the summary", "Delete the last block"},
		}
	}
	return reply{text: "I am not offered `read_document` here."}
}
