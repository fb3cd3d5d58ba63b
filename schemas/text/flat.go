package text

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
)

// Raised returns the mark with which a superscript begins in plain text: "^" for one that begins with a
// digit or a sign, which would else be read as a part of the number before it, and none for others.
func Raised(superscript string) string {
	if strings.IndexFunc(strings.TrimSpace(superscript), func(r rune) bool {
		return unicode.IsNumber(r) || unicode.Is(unicode.Pd, r) || r == '+' || r == '−'
	}) == 0 {
		return "^"
	}
	return ""
}

// Lowered is the mark with which a subscript begins that comes right after a superscript.
const Lowered = "_"

// Flat makes plain text of a text with mark-up, HTML's or MathML: exponents and fractions keep a mark.
// Its zero value is ready.
type Flat struct {
	out    []byte
	around part // of all elements
	open   []part
	raised bool // a superscript begins
	beside int  // where one ended
}

// part is an element.
type part struct {
	place
	at       int  // where it begins
	marked   bool // a mark stands before or after it
	compound bool // it is more than one number or name
}

// place is a name of an element, and how many others have begun in it.
type place struct {
	name  string
	parts int
}

// marks are what comes before a part of a formula, by its place in the element around it.
var marks = map[place]string{{"msup", 2}: "^", {"msubsup", 3}: "^", {"mfrac", 1}: "", {"mfrac", 2}: "/"}

// maxBrackets is how deep a part of a formula may be that gets brackets.
const maxBrackets = 64

func (f *Flat) top() *part {
	if len(f.open) == 0 {
		return &f.around
	}
	return &f.open[len(f.open)-1]
}

// Start begins an element.
func (f *Flat) Start(name string) {
	in := f.top()
	in.parts++
	mark, marked := marks[in.place]
	f.out = append(f.out, mark...)
	in.compound = in.compound || mark == "/" || name == "mo" && len(bytes.TrimSpace(f.out[in.at:])) > 0
	f.raised = f.raised || name == "sup"
	if name == "sub" && f.beside == len(f.out) && f.beside > 0 {
		f.out = append(f.out, Lowered...)
	}
	f.open = append(f.open, part{place: place{name: name}, at: len(f.out), marked: marked})
}

// Text adds text.
func (f *Flat) Text(s string) {
	if f.raised && strings.TrimSpace(s) != "" {
		f.out = append(f.out, Raised(s)...)
		f.raised = false
	}
	f.out = append(f.out, s...)
}

// End ends the last element that has begun.
func (f *Flat) End() {
	p := *f.top()
	f.open, f.raised = f.open[:len(f.open)-1], false
	if p.name == "sup" {
		f.beside = len(f.out)
	}
	switch {
	case p.compound && p.marked && len(f.open) < maxBrackets:
		f.out = append(slices.Insert(f.out, p.at, '('), ')')
	case p.compound:
		f.top().compound = true
	}
}

// String returns the text. Each run of white space is one space.
func (f *Flat) String() string { return strings.Join(strings.Fields(string(f.out)), " ") }
