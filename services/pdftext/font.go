package pdftext

import (
	"strings"

	"github.com/ledongthuc/pdf"
)

// usualWidth is the width of a letter whose width the font does not give, as a
// fraction of the font's size.
const usualWidth = 0.5

// maxWidths is how many widths of a font are read.
const maxWidths = 1 << 16

// font maps the codes in a string to text and widths.
type font struct {
	pdf.Font
	glyphs
	wide   bool // codes have two bytes
	mute   bool // the file does not say what the codes mean
	widths map[int]float64
	other  float64           // the width of codes without one, in thousandths
	texts  map[string]string // text of the codes that have been read
}

// fontNamed returns the font with that name on the page or form. The pages of a
// file share fonts, because reading one may take long.
func (w *walker) fontNamed(name string) *font {
	v := w.resources.Key("Font").Key(name)
	if v.IsNull() {
		return nil
	}
	key := v.String() // names the objects that the font consists of
	if known := w.fonts[key]; known != nil {
		return known
	}
	f := &font{Font: pdf.Font{V: v}, glyphs: readGlyphs(v), widths: make(map[int]float64), texts: make(map[string]string), other: usualWidth * 1000}
	if v.Key("Subtype").Name() == "Type0" {
		f.wide = true
		f.mute = !f.utf16 && v.Key("ToUnicode").Kind() != pdf.Stream
		f.readWide(v.Key("DescendantFonts").Index(0))
	} else if first := f.FirstChar(); first >= 0 {
		for i, width := range f.Widths() {
			f.widths[first+i] = width
		}
	}
	if m := v.Key("FontMatrix"); m.Len() == 6 { // the font has its own unit of width
		for code := range f.widths {
			f.widths[code] *= m.Index(0).Float64() * 1000
		}
	}
	w.fonts[key] = f
	return f
}

// readWide reads the widths of a font whose codes have two bytes: a list of a code with
// the widths from there on, or of a range of codes with their width.
func (f *font) readWide(descendant pdf.Value) {
	f.other = 1000
	if d := descendant.Key("DW"); !d.IsNull() {
		f.other = d.Float64()
	}
	list := descendant.Key("W")
	for i := 0; i+1 < list.Len() && len(f.widths) < maxWidths; {
		first := int(list.Index(i).Int64())
		if each := list.Index(i + 1); each.Kind() == pdf.Array {
			for n := range min(each.Len(), maxWidths) {
				f.widths[first+n] = each.Index(n).Float64()
			}
			i += 2
			continue
		}
		last, width := int(list.Index(i+1).Int64()), list.Index(i+2).Float64()
		for code := first; code <= last && code < maxWidths; code++ {
			f.widths[code] = width
		}
		i += 3
	}
}

// text returns the text of a string. The library looks for each code in lists, so what
// it finds is kept.
func (f *font) text(raw string) string {
	size := 1
	if f.wide {
		size = 2
	}
	var b strings.Builder
	for ; len(raw) >= size; raw = raw[size:] {
		text, known := f.texts[raw[:size]]
		if !known {
			if text, known = f.glyphs.text(raw[:size]); !known {
				text = f.Encoder().Decode(raw[:size])
			}
			f.texts[raw[:size]] = text
		}
		b.WriteString(text)
	}
	return b.String()
}

// codes returns how many codes a string has.
func (f *font) codes(raw string) int {
	if f.wide {
		return len(raw) / 2
	}
	return len(raw)
}

// width returns the width of a string in parts of the font's size.
func (f *font) width(raw string) float64 {
	sum := 0.0
	for i := range f.codes(raw) {
		code := int(raw[i])
		if f.wide {
			code = int(raw[2*i])<<8 | int(raw[2*i+1])
		}
		width, ok := f.widths[code]
		if !ok {
			width = f.other
		}
		sum += width
	}
	return sum / 1000
}
