package documents

import (
	"context"
	"encoding/base64"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/url"
	"regexp"
	"strings"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/fences"
	"github.com/chattray/chattray/schemas/text"
)

// The limits of a table in an export. Markdown has no shorter form for a row than all
// its cells: few rows below a wide head could take more than the memory.
const (
	// maxTableGrowth is how many times longer than its CSV a table may be. A table
	// whose rows have all their cells is shorter, unless it is small.
	maxTableGrowth = 4
	// smallTable is the length in bytes that a table may always have.
	smallTable = 4 << 10
)

// Export returns a document's title and its current content as Markdown: tables
// as such, charts as their data, images linked. Pending changes are left out. The
// Markdown is at most a few times longer than the content.
func (d *Documents) Export(ctx context.Context, user schemas.User, id string) (title, markdown string, err error) {
	doc, err := d.records.Document(ctx, user.ID, id)
	if err != nil {
		return "", "", err
	}
	var b strings.Builder
	for i := range doc.Blocks {
		if ctx.Err() != nil {
			return "", "", context.Cause(ctx)
		}
		block := &doc.Blocks[i]
		if block.Current == nil {
			continue
		}
		content := strings.Trim(exported(block), "\n")
		if content == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("\n\n")
		}
		b.WriteString(content)
	}
	if b.Len() > 0 {
		b.WriteByte('\n')
	}
	return doc.Title, b.String(), nil
}

// exported writes a block's current content as Markdown.
func exported(b *schemas.Block) string {
	content := *b.Current
	switch {
	case b.Type == schemas.BlockMarkdown:
		return fences.Closed(content)
	case b.Type == schemas.BlockCSV:
		return table(content)
	case b.Type == schemas.BlockChart:
		if title := metaTitle(b.Meta); title != "" {
			return "**" + text.EscapeMarkdown(title) + "**\n\n" + table(content)
		}
		return table(content)
	case strings.HasPrefix(b.Type, "image/"):
		return image(b)
	default:
		return fenced(b.Type, content)
	}
}

// table writes CSV as a table. Other content, and CSV that would become too long, is
// shown unchanged.
func table(content string) string {
	r := csv.NewReader(strings.NewReader(content))
	r.FieldsPerRecord, r.LazyQuotes, r.ReuseRecord = -1, true, true
	b := tableWriter{limit: maxTableGrowth*len(content) + smallTable}
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return b.String()
		}
		if err != nil || !b.row(row) {
			return fenced(schemas.BlockCSV, content)
		}
	}
}

// tableWriter writes a table of at most limit bytes. The first row is its head, and
// has as many cells as each later row at least.
type tableWriter struct {
	strings.Builder

	limit, columns int
}

// row writes a row; it returns false if there is no room for it.
func (b *tableWriter) row(cells []string) bool {
	head := b.columns == 0
	if head {
		b.columns = len(cells)
	}
	b.WriteByte('|')
	for i := range max(b.columns, len(cells)) {
		cell := ""
		if i < len(cells) {
			cell = escapeCell(cells[i])
		}
		if b.Len() > b.limit {
			return false
		}
		b.WriteString(" " + cell + " |")
	}
	b.WriteByte('\n')
	if head {
		b.WriteString("|" + strings.Repeat(" --- |", b.columns) + "\n")
	}
	return b.Len() <= b.limit
}

var (
	cellLines = strings.NewReplacer("\r\n", "<br>", "\n", "<br>", "\r", "<br>")
	cellPipes = regexp.MustCompile(`(\\*)\|`)
)

// escapeCell escapes what would end a cell or its row. A backslash before a pipe is
// escaped too: it would escape the pipe's own.
func escapeCell(text string) string {
	return cellPipes.ReplaceAllString(cellLines.Replace(strings.TrimSpace(text)), `$1$1\|`)
}

// metaTitle returns the title of a chart: a string, or an object that has one.
func metaTitle(meta json.RawMessage) string {
	var m struct {
		Title json.RawMessage `json:"title"`
	}
	var text string
	var object struct {
		Text string `json:"text"`
	}
	switch {
	case json.Unmarshal(meta, &m) != nil:
	case json.Unmarshal(m.Title, &text) == nil:
		return text
	case json.Unmarshal(m.Title, &object) == nil:
		return object.Text
	}
	return ""
}

// image links an image: by the web address in its content, else by its data.
func image(b *schemas.Block) string {
	var m struct {
		Alt  string `json:"alt"`
		MIME string `json:"mime"`
	}
	_ = json.Unmarshal(b.Meta, &m) // an image without a valid meta is shown too
	if m.Alt == "" {
		m.Alt = "image"
	}
	content := strings.Join(strings.Fields(*b.Current), "")
	if !strings.HasPrefix(content, "http") {
		return imageData(b.Type, m.Alt, m.MIME, content)
	}
	if u, err := url.Parse(content); err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" {
		return "![" + text.EscapeMarkdown(m.Alt) + "](<" + strings.NewReplacer("<", "%3C", ">", "%3E").Replace(content) + ">)"
	}
	return imageData(b.Type, m.Alt, m.MIME, content)
}

// imageData links an image by its data, which is base64.
func imageData(blockType, alt, media, content string) string {
	kind, _, err := mime.ParseMediaType(media)
	if err != nil || !strings.HasPrefix(kind, "image/") {
		kind = blockType
	}
	if _, err := io.Copy(io.Discard, base64.NewDecoder(base64.StdEncoding, strings.NewReader(content))); err != nil || content == "" {
		return "*(" + text.EscapeMarkdown(alt) + ": an image that cannot be shown)*"
	}
	return "![" + text.EscapeMarkdown(alt) + "](data:" + kind + ";base64," + content + ")"
}

// fenced shows content unchanged, in a fence longer than any inside it.
func fenced(kind, content string) string {
	fence, run := 3, 0
	for _, r := range content {
		if run++; r != '`' {
			run = 0
		}
		fence = max(fence, run+1)
	}
	marks := strings.Repeat("`", fence)
	return marks + kind + "\n" + strings.TrimRight(content, "\n") + "\n" + marks
}
