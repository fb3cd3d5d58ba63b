package webpage

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// The limits of a page's tree. A tree is built with one node for each tag and
// text of the page; html.Parse makes more of them: it opens formatting elements
// again in each paragraph, and joins texts by copying both.
const (
	maxNodes = 150_000
	maxDepth = 256 // elements further down stand beside each other
	maxAttrs = 16  // of an element
	// pause is how many tokens are read between two looks at the context.
	pause = 1 << 12
)

// builder makes a tree of the tokens of a page. It closes what HTML closes
// without an end tag, and puts what stands between the cells of a table before
// the table.
type builder struct {
	doc, root, body *html.Node
	open            []entry // from the root to the element that takes the next token
	nodes           int
}

// entry is an open element. Its trait is kept with it, so that a search through
// the open elements takes little for each tag.
type entry struct {
	*html.Node
	is trait
}

func entryOf(n *html.Node) entry { return entry{n, traits[n.DataAtom]} }

// tree returns the tree of source, and whether source has more nodes than a
// tree may have.
func tree(ctx context.Context, source string) (doc *html.Node, cut bool, err error) {
	b := &builder{doc: &html.Node{Type: html.DocumentNode}, root: element(atom.Html)}
	b.doc.AppendChild(b.root)
	b.open = []entry{entryOf(b.root)}
	z := html.NewTokenizer(strings.NewReader(source))
	for n := 0; b.nodes < maxNodes; n++ {
		if n%pause == 0 && ctx.Err() != nil {
			return nil, false, context.Cause(ctx)
		}
		switch kind := z.Next(); kind {
		case html.ErrorToken: // the end: a string cannot fail
			if b.body == nil {
				b.content()
			}
			return b.doc, false, nil
		case html.TextToken:
			b.text(z.Text())
		case html.StartTagToken, html.SelfClosingTagToken:
			b.start(startOf(z), kind == html.SelfClosingTagToken)
		case html.EndTagToken:
			name, _ := z.TagName()
			b.end(atom.Lookup(name), string(name))
		default: // comments and the document type are no content
		}
	}
	return b.doc, true, nil
}

func element(kind atom.Atom) *html.Node {
	return &html.Node{Type: html.ElementNode, DataAtom: kind, Data: kind.String()}
}

// startOf returns the element of a start tag. Of attributes with one name, and
// of too many, the first count.
func startOf(z *html.Tokenizer) *html.Node {
	name, more := z.TagName()
	n := element(atom.Lookup(name))
	if n.DataAtom == 0 {
		n.Data = string(name)
	}
	for more && len(n.Attr) < maxAttrs {
		var key, val []byte
		if key, val, more = z.TagAttr(); !has(n, string(key)) {
			n.Attr = append(n.Attr, html.Attribute{Key: string(key), Val: string(val)})
		}
	}
	return n
}

func (b *builder) top() entry { return b.open[len(b.open)-1] }

// push opens n, unless too many are open.
func (b *builder) push(n *html.Node) {
	if len(b.open) < maxDepth {
		b.open = append(b.open, entryOf(n))
	}
}

// add puts n where the next token belongs.
func (b *builder) add(n *html.Node) {
	b.nodes++
	n.Namespace = b.top().Namespace
	if b.top().is&rowish != 0 && traits[n.DataAtom]&inTable == 0 {
		for i := len(b.open) - 1; i > 0; i-- {
			if table := b.open[i]; table.DataAtom == atom.Table {
				table.Parent.InsertBefore(n, table.Node)
				return
			}
		}
	}
	b.top().AppendChild(n)
}

// text adds a text. White space stays between the tags where it is.
func (b *builder) text(raw []byte) {
	if top := b.top(); top.DataAtom == atom.Pre && top.FirstChild == nil {
		raw = bytes.TrimPrefix(raw, []byte("\n"))
	}
	n := &html.Node{Type: html.TextNode, Data: string(raw)}
	if len(bytes.TrimSpace(raw)) == 0 {
		b.nodes++
		b.top().AppendChild(n)
		return
	}
	if b.ahead() {
		b.content()
	}
	b.add(n)
}

// ahead reports whether the next token is outside the body.
func (b *builder) ahead() bool { return len(b.open) == 1 || b.top().DataAtom == atom.Head }

// content opens the body.
func (b *builder) content() {
	if b.body == nil {
		b.body = element(atom.Body)
		b.root.AppendChild(b.body)
	}
	b.open = append(b.open[:1], entryOf(b.body))
}

func (b *builder) start(n *html.Node, closed bool) {
	is := traits[n.DataAtom]
	if b.top().Namespace != "" && is&block != 0 {
		b.leave()
	}
	if b.top().Namespace == "" && !b.ready(n, is) {
		return
	}
	b.add(n)
	if n.DataAtom == atom.Svg || n.DataAtom == atom.Math {
		n.Namespace = n.Data
	}
	if is&void == 0 && (!closed || n.Namespace == "") {
		b.push(n)
	}
}

// leave ends a drawing or formula that was left open, unless it may have text.
func (b *builder) leave() {
	at := len(b.open) - 1
	for b.open[at].Namespace != "" {
		if b.open[at].DataAtom == atom.Foreignobject {
			return
		}
		at--
	}
	b.open = b.open[:at+1]
}

// ready closes the elements that n ends, and opens those that it needs. False
// means that n has no place.
func (b *builder) ready(n *html.Node, is trait) bool {
	switch n.DataAtom {
	case atom.Html, atom.Frameset, atom.Frame, atom.Col, atom.Colgroup:
		return false
	case atom.Body:
		if b.body == nil {
			b.body, b.open = n, b.open[:1]
			return true
		}
		return false
	case atom.Head:
		return b.body == nil && len(b.open) == 1
	default:
	}
	if b.ahead() && is&early == 0 {
		b.content()
	}
	switch n.DataAtom {
	case atom.Tr, atom.Td, atom.Th, atom.Tbody, atom.Thead, atom.Tfoot, atom.Caption:
		return b.row(n.DataAtom)
	case atom.Li:
		b.close(list|cell, atom.Li)
	case atom.Dt, atom.Dd:
		b.close(list|cell, atom.Dt, atom.Dd)
	case atom.A:
		b.close(cell, atom.A)
	default:
	}
	if is&block != 0 {
		b.close(block|cell, atom.P)
	}
	if is&heading != 0 && b.top().is&heading != 0 {
		b.open = b.open[:len(b.open)-1]
	}
	return true
}

// row makes the open table ready for one of its parts.
func (b *builder) row(part atom.Atom) bool {
	at := len(b.open) - 1
	for at > 0 && !takes(b.open[at].DataAtom, part) {
		at--
	}
	if at == 0 {
		return false // there is no table
	}
	b.open = b.open[:at+1]
	if (part == atom.Td || part == atom.Th) && b.top().DataAtom != atom.Tr {
		tr := element(atom.Tr)
		b.add(tr)
		b.push(tr)
	}
	return true
}

// takes reports whether an element of a table takes a part of it.
func takes(in, part atom.Atom) bool {
	switch in {
	case atom.Table:
		return true
	case atom.Tbody, atom.Thead, atom.Tfoot:
		return part == atom.Tr || part == atom.Td || part == atom.Th
	case atom.Tr:
		return part == atom.Td || part == atom.Th
	default:
		return false
	}
}

// close ends the innermost open element of the given kinds, unless one with a
// trait of borders is in between.
func (b *builder) close(borders trait, kinds ...atom.Atom) {
	for i := len(b.open) - 1; i > 0; i-- {
		if e := b.open[i]; slices.Contains(kinds, e.DataAtom) {
			b.open = b.open[:i]
			return
		} else if e.is&borders != 0 {
			return
		}
	}
}

// end takes an end tag. It ends nothing outside of a table or its cell, and one
// of a part of a text ends no block around it.
func (b *builder) end(kind atom.Atom, name string) {
	if kind == atom.Br {
		b.start(element(atom.Br), false)
	}
	is := traits[kind]
	for i := len(b.open) - 1; i > 0; i-- {
		e := b.open[i]
		switch {
		case e.Node == b.body:
			return
		case e.Data == name, e.is&is&heading != 0:
			b.open = b.open[:i]
			return
		case e.DataAtom == atom.Table, e.is&cell != 0 && is&(cell|rowish) == 0:
			return
		case e.is&block != 0 && is&(block|cell|rowish|whole) == 0 && e.Namespace == "":
			return
		}
	}
}

// trait says how an element behaves between others.
type trait uint16

const (
	block   trait = 1 << iota // ends a paragraph
	void                      // has no content
	early                     // belongs into the head
	heading                   // h1 to h6
	list                      // has items
	cell                      // a table, or what holds the content of one
	rowish                    // holds cells and no content
	inTable                   // stands between cells
	whole                     // ends with everything in it
)

var traits = func() map[atom.Atom]trait {
	m := map[atom.Atom]trait{}
	for is, kinds := range map[trait]string{
		block: "address article aside blockquote center dd details dialog dir div dl dt fieldset figcaption figure footer form " +
			"h1 h2 h3 h4 h5 h6 header hgroup hr li main menu nav ol p pre search section summary table ul",
		void:    "area base br col embed hr img input link meta param source track wbr",
		early:   "base link meta noscript script style template title",
		heading: "h1 h2 h3 h4 h5 h6",
		list:    "ul ol menu dir dl",
		cell:    "table td th caption",
		rowish:  "table thead tbody tfoot tr",
		whole:   "button select object template",
		inTable: "thead tbody tfoot tr td th caption form input script style template",
	} {
		for name := range strings.FieldsSeq(kinds) {
			m[atom.Lookup([]byte(name))] |= is
		}
	}
	return m
}()
