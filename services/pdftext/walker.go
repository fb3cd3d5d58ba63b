package pdftext

import (
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ledongthuc/pdf"

	"github.com/chattray/chattray/schemas/text"
)

// maxForms is how deep forms may be within each other.
const maxForms = 8

// Gaps between two texts on a page, as fractions of the size of the letters.
const (
	wordGap = 0.2 // to the right: another word
	lineGap = 0.4 // down or up: another line
	paraGap = 1.7 // another paragraph

	// Of an exponent or an index: the least and the most that it is above or below the line, and the most of its size.
	leastShift, mostShift, shiftedSize = 0.15, 0.8, 0.9
)

// walker writes the text of a page in the order in which the page shows it. A PDF
// file has no words and no lines, only places of letters: gaps between them say where
// a word and a line end.
type walker struct {
	out   strings.Builder
	room  int // bytes that out may have; further text is cut
	fonts map[string]*font
	state
	saved     []state
	line      matrix // where the line of text begins
	at        matrix // where the next letter comes
	drawn     bool   // lastX, lastY and lastSize are set; the last two are not those of an exponent or an index
	shift     shift  // of the last text
	lastX     float64
	lastY     float64
	lastSize  float64
	resources pdf.Value
	lost      bool // a part of the page cannot be read
	// inImage is true while the bytes of an image are read. The library takes them for
	// operators: a bracket among them may hide the image's end, and all that follows.
	inImage bool
}

// state is what the operators q and Q save and restore.
type state struct {
	page                   matrix
	font                   *font
	size, leading, charGap float64
	wordGap, stretch, rise float64
}

// matrix is a, b, c, d, e and f of a transformation.
type matrix [6]float64

var identity = matrix{1, 0, 0, 1, 0, 0}

// times returns the transformation that does m first and then n.
func (m matrix) times(n matrix) matrix {
	return matrix{
		m[0]*n[0] + m[1]*n[2], m[0]*n[1] + m[1]*n[3],
		m[2]*n[0] + m[3]*n[2], m[2]*n[1] + m[3]*n[3],
		m[4]*n[0] + m[5]*n[2] + n[4], m[4]*n[1] + m[5]*n[3] + n[5],
	}
}

// content reads a content stream, or an array of them.
func (w *walker) content(c, resources pdf.Value, depth int) {
	if depth == 0 {
		w.state = state{page: identity, stretch: 1}
		w.line, w.at = identity, identity
	}
	w.resources = resources
	if c.Kind() == pdf.Array {
		for i := range c.Len() {
			w.stream(c.Index(i), depth)
		}
		return
	}
	w.stream(c, depth)
}

func (w *walker) stream(s pdf.Value, depth int) {
	if s.Kind() != pdf.Stream {
		return
	}
	pdf.Interpret(s, func(stack *pdf.Stack, op string) {
		args := make([]pdf.Value, stack.Len())
		for i := len(args) - 1; i >= 0; i-- {
			args[i] = stack.Pop()
		}
		if op == "Do" {
			w.form(args, depth)
			return
		}
		w.operator(op, args)
	})
}

// form reads the text of a form that the page shows.
func (w *walker) form(args []pdf.Value, depth int) {
	if len(args) != 1 || depth == maxForms {
		return
	}
	form := w.resources.Key("XObject").Key(args[0].Name())
	if form.Key("Subtype").Name() != "Form" {
		return
	}
	outer, resources := w.state, w.resources
	if m := form.Key("Matrix"); m.Len() == 6 {
		w.state.page = matrixOf(values(m)).times(w.state.page)
	}
	inner := form.Key("Resources")
	if inner.Kind() != pdf.Dict {
		inner = resources
	}
	w.content(form, inner, depth+1)
	w.state, w.resources = outer, resources
}

// operator does one operator of a content stream; those that place no text have no
// effect.
func (w *walker) operator(op string, args []pdf.Value) {
	switch op {
	case "BI", "EI":
		w.inImage = op == "BI"
	case "q":
		w.saved = append(w.saved, w.state)
	case "Q":
		if n := len(w.saved) - 1; n >= 0 {
			w.state, w.saved = w.saved[n], w.saved[:n]
		}
	case "cm":
		w.state.page = matrixOf(args).times(w.state.page)
	case "BT":
		w.line, w.at = identity, identity
	case "Tf":
		w.font, w.size = w.fontNamed(argument(args, 0).Name()), number(args, 1)
	case "TL":
		w.leading = number(args, 0)
	case "Tc":
		w.charGap = number(args, 0)
	case "Tw":
		w.wordGap = number(args, 0)
	case "Ts":
		w.rise = number(args, 0)
	case "Tz":
		w.stretch = number(args, 0) / 100
	case "Tm":
		w.line = matrixOf(args)
		w.at = w.line
	case "TD":
		w.leading = -number(args, 1)
		w.move(number(args, 0), number(args, 1))
	case "Td":
		w.move(number(args, 0), number(args, 1))
	case "T*":
		w.move(0, -w.leading)
	case "Tj":
		w.show(argument(args, 0).RawString())
	case "'":
		w.move(0, -w.leading)
		w.show(argument(args, 0).RawString())
	case "\"":
		w.wordGap, w.charGap = number(args, 0), number(args, 1)
		w.move(0, -w.leading)
		w.show(argument(args, 2).RawString())
	case "TJ":
		w.showAll(argument(args, 0))
	}
}

// move begins a line at a place that is relative to the beginning of the last one.
func (w *walker) move(x, y float64) {
	w.line = matrix{1, 0, 0, 1, x, y}.times(w.line)
	w.at = w.line
}

// showAll shows strings, with numbers between them that move what follows to the left.
func (w *walker) showAll(list pdf.Value) {
	for i := range list.Len() {
		if v := list.Index(i); v.Kind() == pdf.String {
			w.show(v.RawString())
		} else {
			w.advance(-v.Float64() / 1000 * w.size * w.stretch)
		}
	}
}

// here is where the next letter comes on the page.
func (w *walker) here() matrix { return matrix{1, 0, 0, 1, 0, w.rise}.times(w.at).times(w.state.page) }

func (w *walker) advance(x float64) { w.at = matrix{1, 0, 0, 1, x, 0}.times(w.at) }

// show writes a string, after a space or a line end if there is room between it and
// the last one.
func (w *walker) show(raw string) {
	if w.font == nil || raw == "" {
		return
	}
	here := w.here()
	size := w.size * math.Hypot(here[2], here[3])
	shown := w.font.text(raw)
	if strings.TrimSpace(shown) != "" {
		right, up := w.since(here)
		w.separate(right, up, size, shown)
	}
	w.write(shown)
	w.lost = w.lost || w.font.mute
	w.advance((w.font.width(raw)*w.size + w.charGap*float64(w.font.codes(raw)) + w.wordGap*float64(strings.Count(raw, " "))) * w.stretch)
	end := w.here()
	if along, _ := w.since(end); w.shift != onLine { // where the line goes on
		x, y := direction(end)
		w.lastX, w.lastY = w.lastX+along*x, w.lastY+along*y
		return
	}
	w.drawn, w.lastX, w.lastY, w.lastSize = true, end[4], end[5], size
}

// direction returns where the letters at a place follow one another: pages may lie on their side.
func direction(at matrix) (x, y float64) {
	if n := math.Hypot(at[0], at[1]); n > 0 {
		return at[0] / n, at[1] / n
	}
	return 1, 0
}

// since returns how far a place is after the last text, and above its line.
func (w *walker) since(at matrix) (right, up float64) {
	x, y := direction(at)
	dx, dy := at[4]-w.lastX, at[5]-w.lastY
	right, up = dx*x+dy*y, dy*x-dx*y
	if at[0]*at[3] < at[1]*at[2] { // the letters are mirrored
		up = -up
	}
	return right, up
}

// shift is the position of a text relative to the line that it belongs to.
type shift int

const (
	onLine shift = iota
	above        // an exponent
	below        // an index
)

// shifted returns the shift of a text that is so far after and above the last one. An exponent and
// an index may stand one above the other.
func (w *walker) shifted(right, up, size float64) shift {
	em := w.lastSize
	switch aside := math.Abs(up); {
	case size >= shiftedSize*em, aside <= leastShift*em, aside >= mostShift*em,
		right >= wordGap*em, right <= -em, right <= -wordGap*em && w.shift == onLine:
		return onLine
	case up < 0:
		return below
	default:
		return above
	}
}

// separate writes what is between the last text and one that is so far after and above it.
func (w *walker) separate(right, up, size float64, next string) {
	if !w.drawn {
		return
	}
	before := w.shift
	w.shift = w.shifted(right, up, size)
	switch {
	case w.shift == above && before != above:
		w.write(text.Raised(next))
	case w.shift == below && before == above:
		w.write(text.Lowered)
	}
	if w.shift != onLine {
		return
	}
	size = max(size, w.lastSize)
	switch down := math.Abs(up); {
	case down > paraGap*size:
		w.write("\n\n")
	case down > lineGap*size:
		w.write("\n")
	case right > wordGap*size, right < -size:
		w.write(" ")
	}
}

// write adds text without what cannot be shown and without spaces that follow one.
func (w *walker) write(text string) {
	for _, r := range text {
		if w.out.Len() > w.room {
			return
		}
		last := w.last()
		switch {
		case r == '\n' && last == ' ':
			w.out.WriteRune(r)
		case unicode.IsSpace(r) && r != '\n':
			if last != ' ' && last != '\n' && last != 0 {
				w.out.WriteByte(' ')
			}
		case r == '\n' || r != utf8.RuneError && unicode.IsPrint(r):
			w.out.WriteRune(r)
		}
	}
}

// last returns the last byte written, 0 at the beginning.
func (w *walker) last() byte {
	s := w.out.String()
	if s == "" {
		return 0
	}
	return s[len(s)-1]
}

func values(list pdf.Value) []pdf.Value {
	all := make([]pdf.Value, list.Len())
	for i := range all {
		all[i] = list.Index(i)
	}
	return all
}

func matrixOf(args []pdf.Value) matrix {
	var m matrix
	for i := range m {
		m[i] = number(args, i)
	}
	return m
}

func argument(args []pdf.Value, i int) pdf.Value {
	if i >= len(args) {
		return pdf.Value{}
	}
	return args[i]
}

func number(args []pdf.Value, i int) float64 { return argument(args, i).Float64() }
