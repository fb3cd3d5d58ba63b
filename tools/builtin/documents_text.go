package builtin

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/text"
	"github.com/chattray/chattray/tools"
)

// maxBeginning is how many characters of a block a list shows.
const maxBeginning = 120

// proposed returns the blocks as they will be when everything is accepted.
func proposed(blocks []schemas.Block) []schemas.Block {
	kept := slices.DeleteFunc(slices.Clone(blocks), func(b schemas.Block) bool { return b.State == schemas.BlockPendingDelete })
	place := func(b schemas.Block) string { return cmp.Or(b.NewPosition, b.Position) }
	slices.SortStableFunc(kept, func(a, b schemas.Block) int { return cmp.Compare(place(a), place(b)) })
	return kept
}

func stateWord(s schemas.BlockState) string { return strings.ReplaceAll(string(s), "_", " ") }

// blockContent returns the content that a block will have; for an image, a description.
func blockContent(b *schemas.Block) string {
	content := ""
	switch {
	case b.New != nil:
		content = *b.New
	case b.Current != nil:
		content = *b.Current
	}
	if strings.HasPrefix(b.Type, "image/") {
		return fmt.Sprintf("(an image of %s bytes in base64, not shown)", grouped(len(content)))
	}
	if heading, brief := plannedFor(b); content == "" && heading != "" {
		return fmt.Sprintf("(not written yet; planned: %s; %s)", heading, cmp.Or(brief, "no brief"))
	}
	return content
}

// plannedFor returns the plan for a block that is not written yet.
func plannedFor(b *schemas.Block) (heading, brief string) {
	var m map[string]json.RawMessage
	var p struct{ Heading, Brief string }
	if json.Unmarshal(b.Meta, &m) != nil || json.Unmarshal(m[record.PlannedKey], &p) != nil {
		return "", ""
	}
	return p.Heading, p.Brief
}

// blockText names a block and shows at most limit characters of it. The content
// is on lines of its own, between a first and a last line.
func blockText(b *schemas.Block, limit int) string {
	content := text.Cut(blockContent(b), limit, func(total int) string {
		return fmt.Sprintf("\n(the first %s of %s characters; read_document with this block_id shows them all)", grouped(limit), grouped(total))
	})
	return framed(b, metaText(b)+strings.TrimRight(content, "\n")+"\n(end of the block)")
}

// blockPart shows a block from character start on, with a note that says where it continues.
func blockPart(call *tools.Call, b *schemas.Block, start int) string {
	meta := ""
	if start == 0 {
		meta = metaText(b)
	}
	shown, note := part(call, blockContent(b), start, framed(b, meta))
	if note == "" {
		shown, note = strings.TrimRight(shown, "\n"), "(end of the block)"
	}
	return framed(b, meta+shown+"\n"+note)
}

// framed returns text after the line that names a block.
func framed(b *schemas.Block, text string) string {
	return fmt.Sprintf("block_id: %s (%s, %s)\n%s\n", b.ID, b.Type, stateWord(b.State), text)
}

// metaText is the line with a chart's specification, empty for other blocks.
func metaText(b *schemas.Block) string {
	m := cmp.Or(string(b.NewMeta), string(b.Meta))
	if heading, _ := plannedFor(b); m == "" || b.Type != schemas.BlockChart || heading != "" {
		return ""
	}
	return "meta: " + text.Ellipsis(m, maxReadBlock) + "\n"
}

// blockData is a block in the data of a tool's result.
type blockData struct {
	ID      string `json:"block_id"`
	Type    string `json:"type"`
	Content string `json:"content,omitempty"`
}

// withBlocks returns a result with the blocks as data: at most maxReadBlock of
// each content and maxReadDocument in all.
func withBlocks(shown string, blocks []schemas.Block) (tools.Result, error) {
	data := struct {
		Blocks []blockData `json:"blocks"`
	}{make([]blockData, len(blocks))}
	room := maxReadDocument
	for i := range blocks {
		content := text.Ellipsis(blockContent(&blocks[i]), min(room, maxReadBlock))
		room = max(room-len(content), 1)
		data.Blocks[i] = blockData{blocks[i].ID, blocks[i].Type, content}
	}
	raw, err := json.Marshal(data)
	return tools.Result{Text: shown, Data: raw}, err
}

// documentPart shows a document. Its blocks are shortened until the model gets all of them;
// a document with too many is shown in parts, as a block is.
func documentPart(call *tools.Call, d *schemas.Document, blocks []schemas.Block, start int) string {
	longest := maxReadBlock
	shown := documentText(d, blocks, longest)
	for call.Output > 0 && utf8.RuneCountInString(shown) > call.Output {
		if longest == maxBeginning {
			shown, note := part(call, shown, start, "")
			return shown + "\n" + note
		}
		longest = max(longest/2, maxBeginning)
		shown = documentText(d, blocks, longest)
	}
	return shown
}

// documentText shows a document with at most longest characters of each block. If it is
// too long, only the beginnings of the later blocks are shown.
func documentText(d *schemas.Document, blocks []schemas.Block, longest int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Title: %s\nBlocks: %d\n", text.OneLine(cmp.Or(d.NewTitle, d.Title)), len(blocks))
	if going := len(d.Blocks) - len(blocks); going > 0 {
		fmt.Fprintf(&b, "Blocks marked as deleted, not shown: %d\n", going)
	}
	for i := range blocks {
		limit := max(maxBeginning, min(longest, maxReadDocument-b.Len()))
		if b.Len() > 2*maxReadDocument {
			fmt.Fprintf(&b, "\n(%d more blocks, not shown)\n", len(blocks)-i)
			break
		}
		b.WriteString("\n" + blockText(&blocks[i], limit))
	}
	return b.String()
}

// beginning returns the first characters of a block on one line.
func beginning(b *schemas.Block) string {
	content := blockContent(b)
	return text.Ellipsis(text.OneLine(content[:min(len(content), 8*maxBeginning)]), maxBeginning)
}

// grouped writes a number with thousands separators.
func grouped(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
