package webpage

import (
	"bytes"
	"context"
	"encoding/json"
	"net/url"
	"strings"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	basics "github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// maxBracket is how far the end of a link is looked for in a text.
const maxBracket = 512

func (r Reader) fromHTML(ctx context.Context, page *Page, source string) error {
	doc, cut, err := tree(ctx, source)
	if err != nil {
		return err
	}
	extract := r.Extractor
	if extract == nil {
		extract = mainContent{}
	}
	base := baseOf(doc, page.URL)
	next := refreshOf(doc, base)
	title, content := extract.Extract(doc)
	page.Title, page.Truncated = title, page.Truncated || cut
	if content == nil {
		page.Content = next
		return nil
	}
	if cut, err = bound(ctx, content, base); err != nil {
		return err
	}
	page.Truncated = page.Truncated || cut
	markdown, err := markdownOf(ctx, content)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return unreadable(err)
	}
	if page.Content = string(markdown); len(bytes.TrimSpace(markdown)) == 0 {
		page.Content = next
	}
	return nil
}

// refreshOf returns a sentence about where the page sends browsers at once, "" if nowhere.
func refreshOf(doc *html.Node, base *url.URL) string {
	meta := find(doc, func(n *html.Node) bool {
		return n.DataAtom == atom.Meta && strings.EqualFold(attr(n, "http-equiv"), "refresh")
	})
	if meta == nil || base == nil {
		return ""
	}
	before, to, _ := strings.Cut(attr(meta, "content"), "=")
	u, err := base.Parse(strings.Trim(to, ` '"`))
	if err != nil || !strings.HasSuffix(strings.ToLower(strings.TrimSpace(before)), "url") || u.Scheme != "http" && u.Scheme != "https" || len(u.String()) > MaxURL {
		return ""
	}
	return "The page leads to " + u.String()
}

// baseOf returns the address that the page's relative addresses refer to.
func baseOf(doc *html.Node, pageURL string) *url.URL {
	from, err := url.Parse(pageURL)
	if err != nil {
		return nil
	}
	base := find(doc, func(n *html.Node) bool { return n.DataAtom == atom.Base && has(n, "href") })
	if base == nil || len(attr(base, "href")) > maxLink {
		return from
	}
	if to, err := from.Parse(attr(base, "href")); err == nil {
		return to
	}
	return from
}

// markdownOf converts a tree that bound has made small. When the context ends,
// no further node is written.
func markdownOf(ctx context.Context, content *html.Node) ([]byte, error) {
	// Cells without padding: padded ones make a table as large as its rows times
	// its longest cell.
	cells := table.NewTablePlugin(table.WithCellPaddingBehavior(table.CellPaddingBehaviorMinimal), table.WithNewlineBehavior(table.NewlineBehaviorPreserve))
	to := converter.NewConverter(converter.WithPlugins(basics.NewBasePlugin(), commonmark.NewCommonmarkPlugin(), cells))
	to.Register.Renderer(func(converter.Context, converter.Writer, *html.Node) converter.RenderStatus {
		if ctx.Err() != nil {
			return converter.RenderSuccess
		}
		return converter.RenderTryNext
	}, converter.PriorityEarly)
	to.Register.Renderer(func(in converter.Context, w converter.Writer, n *html.Node) converter.RenderStatus {
		if n.DataAtom != atom.Td && n.DataAtom != atom.Th {
			return converter.RenderTryNext
		}
		in.RenderChildNodes(in, w, n)
		_ = w.WriteByte(' ') // of a table that Markdown cannot have, nothing else is between the cells
		return converter.RenderSuccess
	}, converter.PriorityStandard)
	to.Register.UnEscaper(bracket, converter.PriorityEarly)
	return to.ConvertNode(content, converter.WithContext(ctx))
}

// bracket escapes a bracket at index if nothing near it tells whether a link
// begins there. The converter looks for that in the whole line, for each
// bracket again. The result is the length of what is escaped, -1 for nothing.
func bracket(chars []byte, index int) int {
	if chars[index] != '[' {
		return -1
	}
	near := chars[index:min(index+maxBracket, len(chars))]
	if len(near) < maxBracket || bytes.ContainsAny(near, "]\n") {
		return -1
	}
	return 1
}

// indented returns JSON with indentation, or without white space if that would
// make it longer than a page may be. What is no JSON stays as it is.
func indented(body []byte) []byte {
	var b bytes.Buffer
	change := json.Compact
	if indentedSize(body) <= maxContent {
		change = func(b *bytes.Buffer, body []byte) error { return json.Indent(b, body, "", "  ") }
	}
	if change(&b, body) != nil {
		return body
	}
	return b.Bytes()
}

// indentedSize returns how long JSON is with indentation, or a little more. It
// stops above maxContent.
func indentedSize(body []byte) int {
	size, depth, quoted := 0, 0, false
	for i := 0; i < len(body) && size <= maxContent; i++ {
		size++
		switch c := body[i]; {
		case quoted && c == '\\':
			size++
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == ' ' || c == '\n' || c == '\t' || c == '\r':
			size-- // is replaced
		case c == '[' || c == '{':
			depth++
			size += 1 + 2*depth
		case c == ']' || c == '}':
			depth--
			size += 1 + 2*max(depth, 0)
		case c == ',':
			size += 1 + 2*max(depth, 0)
		}
	}
	return size
}
