package webpage

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/chattray/chattray/schemas/text"
)

// mainContent is the default Extractor. It removes elements without text
// (scripts, styles, controls, hidden parts) and elements around the content
// (navigation, banners, footers), and shows formulas as their TeX or as plain text. It returns the
// element that holds most of the prose: the page's main or article element if that
// has enough text, else the container with the most text in paragraphs, else the body.
type mainContent struct{}

const (
	// minMain is how many characters a main or article element needs.
	minMain = 200
	// minText is the length of a paragraph that counts as prose.
	minText = 25
)

// Extract implements Extractor.
func (mainContent) Extract(doc *html.Node) (title string, content *html.Node) {
	title = titleOf(doc)
	body := find(doc, func(n *html.Node) bool { return n.DataAtom == atom.Body })
	if body == nil {
		return title, nil
	}
	strip(body)
	sizes := measure{}
	sizes.take(body)
	own := sizes.biggest(body, func(n *html.Node) bool { return n.DataAtom == atom.Main || attr(n, "role") == "main" })
	if own == nil {
		own = sizes.biggest(body, func(n *html.Node) bool { return n.DataAtom == atom.Article })
	}
	if own != nil && sizes[own].text >= minMain {
		return title, own
	}
	if best := sizes.densest(body); best != nil {
		return title, best
	}
	return title, body
}

// titleOf returns the page's title, else its first heading.
func titleOf(doc *html.Node) string {
	for _, kind := range []atom.Atom{atom.Title, atom.H1} {
		if n := find(doc, func(n *html.Node) bool { return n.DataAtom == kind && n.Namespace == "" }); n != nil {
			if t := strings.TrimSpace(content(n)); t != "" {
				return t
			}
		}
	}
	return ""
}

// strip removes everything below n that is not content.
func strip(n *html.Node) {
	for c := n.FirstChild; c != nil; {
		next := c.NextSibling
		switch formula := formulaOf(c); {
		case formula != "":
			code := element(atom.Code)
			code.AppendChild(&html.Node{Type: html.TextNode, Data: formula})
			n.InsertBefore(code, c)
			n.RemoveChild(c)
		case c.Type == html.CommentNode || (c.Type == html.ElementNode && useless(c)):
			n.RemoveChild(c)
		case c.Type == html.ElementNode:
			strip(c)
		}
		c = next
	}
}

// formulaOf returns a formula as its TeX, else as plain text; "" if it has no text, is hidden or n is no formula.
func formulaOf(n *html.Node) string {
	if n.DataAtom != atom.Math || hidden(n) {
		return ""
	}
	if alt := strings.TrimSpace(attr(n, "alttext")); alt != "" {
		return alt
	}
	if source := find(n, func(c *html.Node) bool { return c.Data == "annotation" && attr(c, "encoding") == "application/x-tex" }); source != nil {
		return strings.TrimSpace(content(source))
	}
	strip(n)
	var flat text.Flat
	flatten(&flat, n)
	return flat.String()
}

// flatten writes what is below n, without notes on a formula.
func flatten(to *text.Flat, n *html.Node) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch {
		case c.Type == html.TextNode:
			to.Text(c.Data)
		case !strings.HasPrefix(c.Data, "annotation"):
			to.Start(c.Data)
			flatten(to, c)
			to.End()
		}
	}
}

func useless(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Iframe, atom.Svg, atom.Canvas, atom.Object, atom.Embed,
		atom.Input, atom.Select, atom.Textarea, atom.Dialog, atom.Nav, atom.Aside, atom.Footer,
		atom.Link, atom.Meta, atom.Audio, atom.Video, atom.Map, atom.Math:
		return true
	case atom.Button: // in a heading it opens what the heading is of
		return !nested(n, func(p *html.Node) bool { return traits[p.DataAtom]&heading != 0 })
	case atom.Header: // an article's own header has its title
		return !within(n, atom.Article) && !within(n, atom.Main)
	default:
	}
	switch attr(n, "role") {
	case "navigation", "banner", "contentinfo", "complementary", "search", "dialog", "alert", "menu":
		return true
	}
	return hidden(n)
}

// hidden reports whether n is not shown to anybody. What is hidden until it is found is shown
// to those who look for it.
func hidden(n *html.Node) bool {
	style := strings.ReplaceAll(strings.ToLower(attr(n, "style")), " ", "")
	return has(n, "hidden") && !strings.EqualFold(attr(n, "hidden"), "until-found") || attr(n, "aria-hidden") == "true" && (n.DataAtom != atom.Img || attr(n, "alt") == "") || // the picture of a formula
		strings.Contains(style, "display:none") || strings.Contains(style, "visibility:hidden")
}

// size is the length of an element's text, and of the part of it in links.
type size struct{ text, linked int }

// measure holds the sizes of all elements, taken in one pass.
type measure map[*html.Node]size

// take measures n and everything below it; white space at the ends of texts
// does not count.
func (m measure) take(n *html.Node) size {
	var s size
	if n.Type == html.TextNode {
		s.text = len(strings.TrimSpace(n.Data))
		return s
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		below := m.take(c)
		s.text += below.text
		s.linked += below.linked
	}
	if n.DataAtom == atom.A {
		s.linked = s.text
	}
	m[n] = s
	return s
}

// densest returns the container with the most prose. Each paragraph counts for
// its parent and half for its grandparent; links count against it.
func (m measure) densest(body *html.Node) *html.Node {
	scores := map[*html.Node]int{}
	var best *html.Node
	add := func(n *html.Node, points int) {
		if n == nil || n.Type != html.ElementNode {
			return
		}
		scores[n] += points
		if best == nil || scores[n] > scores[best] {
			best = n
		}
	}
	walk(body, func(n *html.Node) {
		switch n.DataAtom {
		case atom.P, atom.Pre, atom.Blockquote, atom.Td, atom.Li:
		default:
			return
		}
		s := m[n]
		if s.text < minText {
			return
		}
		add(n.Parent, 2*(s.text-s.linked))
		if n.Parent != nil {
			add(n.Parent.Parent, s.text-s.linked)
		}
	})
	// A container with less than half of the text would lose too much.
	if best == nil || m[best].text*2 < m[body].text {
		return nil
	}
	return best
}

func (m measure) biggest(n *html.Node, is func(*html.Node) bool) *html.Node {
	var best *html.Node
	walk(n, func(c *html.Node) {
		if c.Type == html.ElementNode && is(c) && !nested(c, is) && (best == nil || m[c].text > m[best].text) {
			best = c
		}
	})
	return best
}

// nested reports whether an element of the same kind contains n; then the outer
// one counts.
func nested(n *html.Node, is func(*html.Node) bool) bool {
	for p := n.Parent; p != nil; p = p.Parent {
		if p.Type == html.ElementNode && is(p) {
			return true
		}
	}
	return false
}

func within(n *html.Node, kind atom.Atom) bool {
	return nested(n, func(p *html.Node) bool { return p.DataAtom == kind })
}

func walk(n *html.Node, visit func(*html.Node)) {
	visit(n)
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		walk(c, visit)
	}
}

func find(n *html.Node, is func(*html.Node) bool) *html.Node {
	if is(n) {
		return n
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if f := find(c, is); f != nil {
			return f
		}
	}
	return nil
}

// content returns all text below n.
func content(n *html.Node) string {
	var b strings.Builder
	walk(n, func(c *html.Node) {
		if c.Type == html.TextNode {
			b.WriteString(c.Data)
		}
	})
	return b.String()
}

func has(n *html.Node, key string) bool {
	for _, a := range n.Attr {
		if a.Key == key {
			return true
		}
	}
	return false
}

func attr(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}
