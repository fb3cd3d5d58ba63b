package webpage

import (
	"context"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/chattray/chattray/schemas/text"
)

// The limits of the tree that is converted. The converter writes a text again
// at each level of lists and quotes, with marks before each line, and fills the
// rows of a table up: what it writes is a product of sizes in the page. These
// limits hold before it begins, because it cannot be stopped in between.
const (
	// maxConvert is how many bytes of Markdown the tree makes, as estimated. It is
	// above maxContent: an estimate may be too high.
	maxConvert = maxContent * 3 / 2
	// maxNesting is how many quotes, lists, headings and marks of a text may
	// contain each other. Deeper ones are shown as plain text.
	maxNesting = 16
	// maxCells is how many cells the tables have together, with empty ones for
	// spans and short rows. A table beyond it is shown as plain rows.
	maxCells = 20_000
	// maxSpan bounds the rows or columns that a table's cell may span.
	maxSpan = 20
	// maxLink is the length of an address in the page; a longer one is left out.
	maxLink  = 2048
	maxStart = 999_999 // the first number of a list
	maxClass = 100     // the class of code, which names its language
)

// bounds makes a tree small enough to be converted.
type bounds struct {
	from  *url.URL // of relative addresses; nil means that they lead nowhere
	left  int      // of maxConvert
	cells int      // left of maxCells
	cut   bool     // the rest of the tree was removed
}

// place is where a node is.
type place struct {
	nesting int
	line    int // bytes that each line may get
	code    bool
	cells   bool // in a table
	rows    bool // in a table that is shown as plain rows
}

// bound removes from content what is no content or more than the limits allow,
// and resolves its addresses. It reports whether it removed text.
func bound(ctx context.Context, content *html.Node, base *url.URL) (cut bool, err error) {
	b := &bounds{from: base, left: maxConvert, cells: maxCells}
	if base != nil && len(base.String()) > maxLink {
		b.from = nil
	}
	b.children(ctx, content, b.enter(content, place{}))
	return b.cut, context.Cause(ctx)
}

// children bounds what is below n, and joins texts that stand side by side: the
// converter would copy both for each.
func (b *bounds) children(ctx context.Context, n *html.Node, at place) {
	var joined strings.Builder
	var first *html.Node // the text that gets the joined ones
	flush := func() {
		if first != nil {
			first.Data = joined.String()
		}
		first = nil
		joined.Reset()
	}
	for c := n.FirstChild; c != nil; {
		next := c.NextSibling
		switch {
		case b.cut || b.left < 0 || ctx.Err() != nil:
			b.cut = true
			n.RemoveChild(c)
		case c.Type == html.TextNode:
			joined.WriteString(b.text(c.Data, at))
			if first == nil {
				first = c
			} else {
				n.RemoveChild(c)
			}
		case c.Type != html.ElementNode || unread[c.DataAtom]:
			n.RemoveChild(c)
		default:
			inner := b.enter(c, at)
			if c.DataAtom == atom.Span { // its content takes its place
				next = splice(c)
				break
			}
			flush()
			b.children(ctx, c, inner)
		}
		c = next
	}
	flush()
}

// splice puts what is below n in its place and returns the node that is there now.
func splice(n *html.Node) *html.Node {
	next := n.NextSibling
	if n.FirstChild != nil {
		next = n.FirstChild
	}
	for c := n.FirstChild; c != nil; c = n.FirstChild {
		n.RemoveChild(c)
		n.Parent.InsertBefore(c, n)
	}
	n.Parent.RemoveChild(n)
	return next
}

// text takes what s costs from the rest, and returns s without the characters
// that the converter uses as marks. A text that does not fit is cut.
func (b *bounds) text(s string, at place) string {
	s = strings.ReplaceAll(clean(s), "\uF002", "")
	if at.code && at.cells && !at.rows { // else it would end the cell
		s = strings.ReplaceAll(s, "|", `\|`)
	}
	space, i := false, 0
	for ; i < len(s) && b.left >= 0; i++ {
		switch c := s[i]; {
		case at.code && c == '\n':
			b.left -= 1 + at.line
		case !at.code && (c == ' ' || c == '\n' || c == '\t'):
			if !space {
				b.left--
			}
			space = true
			continue
		case c == '<' || c == '>':
			b.left -= len("&lt;")
		default:
			b.left--
		}
		space = false
	}
	if i < len(s) {
		b.cut = true
		return strings.ToValidUTF8(s[:i], "")
	}
	return s
}

// enter bounds n itself and returns the place of what is below it. An element
// that is not to be shown as such becomes a span or, as a block, a div.
func (b *bounds) enter(n *html.Node, at place) place {
	kind := n.DataAtom
	lines := 0
	if traits[kind]&block != 0 || kind == atom.Br || kind == atom.Tr || kind == atom.Legend {
		lines = 2
	}
	wide, nests := nesters[kind]
	b.left -= len("\n\n") + lines*at.line
	if nests {
		b.left -= 2 * len("**")
	}
	if at.rows {
		nests = b.plain(n) && nests
	}
	if nests && at.nesting == maxNesting {
		nests = false
		become(n, atom.Span)
		if lines > 0 {
			become(n, atom.Div)
		}
	}
	b.attributes(n)
	if kind == atom.A && attr(n, "href") == "" {
		become(n, atom.Span)
	}
	if nests {
		at.nesting++
		at.line += wide
	}
	switch {
	case kind == atom.Sup:
		raise(n)
	case kind == atom.Sub && n.PrevSibling != nil && n.PrevSibling.DataAtom == atom.Sup:
		mark(n, text.Lowered)
	case kind == atom.Kbd && n.PrevSibling != nil && n.PrevSibling.DataAtom == atom.Kbd && !at.code: // the page shows two keys
		mark(n, " ")
	case (kind == atom.Del || kind == atom.S || kind == atom.Strike) && n.FirstChild != nil && !at.code:
		mark(n, "~~")
		n.AppendChild(&html.Node{Type: html.TextNode, Data: "~~"})
	case kind == atom.Center || kind == atom.Legend || kind == atom.Summary: // the converter takes them for parts of a text
		become(n, atom.Div)
	}
	at.code = at.code || kind == atom.Pre || kind == atom.Code
	if kind == atom.Table {
		at.cells = true
		if at.rows = !nests || !b.table(n); at.rows {
			become(n, atom.Div)
		}
	}
	return at
}

// raise marks a superscript that is an exponent; one that is a link is a note.
func raise(n *html.Node) {
	if is := n.Parent; is.DataAtom == atom.A && is.FirstChild == is.LastChild || find(n, func(c *html.Node) bool { return c.DataAtom == atom.A }) != nil {
		return
	}
	first := find(n, func(c *html.Node) bool { return c.Type == html.TextNode && strings.TrimSpace(c.Data) != "" })
	if first == nil {
		return
	}
	mark(n, text.Raised(first.Data))
}

// mark writes a mark before what is in n.
func mark(n *html.Node, s string) {
	n.InsertBefore(&html.Node{Type: html.TextNode, Data: s}, n.FirstChild)
}

// become makes n an element of another kind.
func become(n *html.Node, kind atom.Atom) { n.DataAtom, n.Data, n.Attr = kind, kind.String(), nil }

// plain makes a part of a table a block or a part of a text. False means that
// it was one.
func (b *bounds) plain(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Thead, atom.Tbody, atom.Tfoot, atom.Tr, atom.Caption:
		become(n, atom.Div)
	case atom.Td, atom.Th:
		become(n, atom.Span)
		n.AppendChild(&html.Node{Type: html.TextNode, Data: " "})
	default:
		return true
	}
	return false
}

// attributes keeps the attributes of n that the converter reads.
func (b *bounds) attributes(n *html.Node) {
	kept := n.Attr[:0]
	for _, a := range n.Attr {
		ok := false
		switch a.Key {
		case "href", "src":
			a.Val, ok = b.resolve(a.Val)
		case "title", "alt":
			a.Val, ok = strings.ReplaceAll(clean(a.Val), "\uF002", ""), n.DataAtom == atom.A || n.DataAtom == atom.Img
		case "class":
			ok = len(a.Val) <= maxClass
		case "start":
			v, err := strconv.Atoi(a.Val)
			ok = err == nil && v >= 0 && v <= maxStart
		case "colspan", "rowspan":
			v, err := strconv.Atoi(a.Val)
			ok = err == nil && v > 1 && v <= maxSpan
		case "role", "align":
			ok = true
		}
		if ok && len(a.Val) > b.left { // what does not fit is left out whole
			b.cut, ok = true, false
		}
		if ok {
			b.left -= len(a.Val)
			kept = append(kept, a)
		}
	}
	n.Attr = kept
}

// resolve returns the whole address of a link or an image. False means that it
// does not lead to a page: code, embedded data; or that it is too long.
func (b *bounds) resolve(ref string) (string, bool) {
	ref = strings.TrimSpace(ref)
	if len(ref) > maxLink {
		return "", false
	}
	to, err := url.Parse(ref)
	if err == nil && b.from != nil {
		to = b.from.ResolveReference(to)
	}
	if err != nil || (to.Scheme != "http" && to.Scheme != "https" && to.Scheme != "mailto") {
		return "", false
	}
	whole := to.String()
	return whole, len(whole) <= maxLink
}

// table takes the cells of a table from the rest. False means that it has too
// many of them, also without spans, or another table or code with lines in a cell.
func (b *bounds) table(n *html.Node) bool {
	var g grid
	g.measure(n)
	if g.inner != 0 { // the converter would show it as plain rows
		return false
	}
	all := g.spanned()
	if all > b.cells {
		walk(n, func(c *html.Node) {
			if c.DataAtom == atom.Td || c.DataAtom == atom.Th {
				c.Attr = nil
			}
		})
		all = (len(g.rows) + 1) * g.widest
	}
	if all > b.cells {
		return false
	}
	b.cells -= all
	b.left -= all * len("|  ")
	return true
}

var (
	// nesters are the elements whose content is written first and changed then, and
	// how many bytes each line of it may get: marks around it, a number before it.
	nesters = map[atom.Atom]int{
		atom.Blockquote: 2, atom.Ul: 2, atom.Ol: len("1000000. "), atom.Dl: 0, atom.Menu: 0, atom.Table: 0,
		atom.H1: 4, atom.H2: 4, atom.H3: 4, atom.H4: 4, atom.H5: 4, atom.H6: 4,
		atom.B: 4, atom.Strong: 4, atom.I: 2, atom.Em: 2, atom.A: 3,
		atom.Code: 0, atom.Var: 0, atom.Samp: 0, atom.Kbd: 0, atom.Tt: 0, atom.Pre: 0,
	}
	// unread are the elements that have no text.
	unread = map[atom.Atom]bool{
		atom.Head: true, atom.Script: true, atom.Style: true, atom.Link: true, atom.Meta: true, atom.Iframe: true,
		atom.Noscript: true, atom.Input: true, atom.Textarea: true,
	}
)
