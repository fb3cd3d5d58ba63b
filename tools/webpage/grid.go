package webpage

import (
	"strconv"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// grid has the measures of a table, as the converter lays it out.
type grid struct {
	// rows has for each row the cells that it gets: its own and those of spans,
	// also of earlier rows.
	rows   []int
	widest int // the most cells that a row has of its own
	at     int // the row that is being measured
	// inner is not 0 if there is in a row another row or a table, which would count
	// for each row that it is in, or code with lines, which would end the row.
	inner atom.Atom
}

// measure takes the rows below n.
func (g *grid) measure(n *html.Node) {
	for c := n.FirstChild; c != nil && g.inner == 0; c = c.NextSibling {
		switch c.DataAtom {
		case atom.Table:
			g.inner = c.DataAtom
		case atom.Tr:
			g.row(c)
		default:
			g.measure(c)
		}
	}
}

func (g *grid) row(tr *html.Node) {
	own := g.cells(tr)
	g.at++
	g.grow(g.at)
	g.widest = max(g.widest, own)
}

// cells takes the cells below n and returns their number.
func (g *grid) cells(n *html.Node) (own int) {
	for c := n.FirstChild; c != nil && g.inner == 0; c = c.NextSibling {
		switch c.DataAtom {
		case atom.Table, atom.Tr, atom.Pre:
			g.inner = c.DataAtom
		case atom.Td, atom.Th:
			own++
			across := span(c, "colspan")
			for i := range span(c, "rowspan") {
				g.grow(g.at + i + 1)
				g.rows[g.at+i] += across
			}
		default:
		}
		own += g.cells(c)
	}
	return own
}

func (g *grid) grow(rows int) {
	for len(g.rows) < rows {
		g.rows = append(g.rows, 0)
	}
}

// span returns how many rows or columns a cell takes.
func span(n *html.Node, key string) int {
	val := attr(n, key)
	if val == "" {
		return 1
	}
	if v, err := strconv.Atoi(val); err == nil && v > 1 && v <= maxSpan {
		return v
	}
	return 1
}

// spanned returns how many cells the table has when each row is as wide as the
// widest. A cell that spans rows may stand right of a short row's end: then the
// row is filled up to it.
func (g *grid) spanned() int {
	most := 0
	for _, n := range g.rows {
		most = max(most, n)
	}
	if most > g.widest {
		most += g.widest + maxSpan
	}
	return (len(g.rows) + 1) * most
}
