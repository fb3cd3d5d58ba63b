package pdftext

import (
	"cmp"
	"encoding/hex"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/ledongthuc/pdf"
	"golang.org/x/net/html/charset"
)

// Limits of what a file says of the glyphs of a font.
const (
	maxGlyphs = 1 << 17
	maxCMap   = 4 << 20 // bytes
)

// glyphs are the meanings of a font's codes for which the library has none, or a wrong one. It reads
// either what the file says of its own glyphs or the encoding, and of an encoding only the names that
// differ: it loses each code that these do not have, such as a dash in "5–10".
type glyphs struct {
	own   map[int]string               // what the file says
	runs  []run                        // what it says of codes that follow one another, in their order
	names map[int]string               // the glyphs that differ from the base encoding
	base  func(string) (string, error) // reads the base encoding; nil if the library does
	utf16 bool                         // a code of two bytes is UTF-16, else the number of a glyph
}

// run is a range of codes whose texts differ by their last letter.
type run struct {
	first, last uint64
	text        []uint16 // of the first
}

// baseEncodings are those that names may differ from.
var baseEncodings = map[string]string{"WinAnsiEncoding": "windows-1252", "MacRomanEncoding": "macintosh"}

// readGlyphs reads the meanings of the codes of a font.
func readGlyphs(font pdf.Value) glyphs {
	g := glyphs{own: make(map[int]string), names: make(map[int]string)}
	g.readOwn(font.Key("ToUnicode"))
	slices.SortStableFunc(g.runs, func(a, b run) int { return cmp.Compare(a.first, b.first) })
	of := font.Key("Encoding")
	g.utf16 = strings.HasPrefix(of.Name(), "Uni")
	if of.Kind() == pdf.Dict {
		if base, _ := charset.Lookup(baseEncodings[of.Key("BaseEncoding").Name()]); base != nil {
			g.base = base.NewDecoder().String
		}
		g.readNames(of.Key("Differences"))
	}
	return g
}

// text returns the text of a code, and whether it is known.
func (g *glyphs) text(raw string) (string, bool) {
	code := 0
	for _, b := range []byte(raw) {
		code = code<<8 | int(b)
	}
	if text := g.said(code); text != "" {
		return text, true
	}
	if name, ok := g.names[code]; ok {
		text := numbered(name)
		return text, text != ""
	}
	switch {
	case len(raw) > 1 && g.utf16:
		return string(utf16.Decode([]uint16{uint16(code)})), true
	case len(raw) > 1: // the library would show the bytes as letters
		return "", true
	case g.base == nil:
		return "", false
	}
	text, err := g.base(raw)
	return text, err == nil
}

// said returns what the file says of a code, "" if nothing. A font may have one range of all codes.
func (g *glyphs) said(code int) string {
	if text, ok := g.own[code]; ok {
		return text
	}
	n := uint64(code) //nolint:gosec // G115: it has 16 bits
	at, _ := slices.BinarySearchFunc(g.runs, n+1, func(r run, after uint64) int { return cmp.Compare(r.first, after) })
	if at == 0 || n > g.runs[at-1].last {
		return ""
	}
	r := g.runs[at-1]
	units := slices.Clone(r.text)
	units[len(units)-1] += uint16(n - r.first) //nolint:gosec // G115: it has 16 bits
	if text := string(utf16.Decode(units)); legible(text) {
		return text
	}
	return ""
}

// readNames reads a list of codes, each followed by the names of the glyphs from there on.
func (g *glyphs) readNames(list pdf.Value) {
	code := 0
	for i := range min(list.Len(), maxGlyphs) {
		switch v := list.Index(i); v.Kind() {
		case pdf.Integer:
			code = int(v.Int64())
		case pdf.Name:
			g.names[code] = v.Name()
			code++
		default:
		}
	}
}

// numbered returns the text of a glyph whose name has its numbers in Unicode, "" for other names.
func numbered(name string) string {
	name, _, _ = strings.Cut(name, ".") // a variant follows
	text := ""
	if digits, ok := strings.CutPrefix(name, "uni"); ok && len(digits)%4 == 0 {
		text = string(utf16.Decode(units(digits)))
	} else if n, err := strconv.ParseUint(strings.TrimPrefix(name, "u"), 16, 32); err == nil && len(name) >= len("u0000") && name[0] == 'u' {
		text = string(rune(min(n, utf8.MaxRune+1)))
	}
	if !legible(text) {
		return ""
	}
	return text
}

// cmapToken finds the parts of what a file says of its glyphs that matter.
var cmapToken = regexp.MustCompile(`<[0-9A-Fa-f\s]*>|[\[\]]|(?:begin|end)bf(?:char|range)`)

// readOwn reads the texts of codes (beginbfchar) and of ranges of codes (beginbfrange), whose texts
// follow one another or are in a list. What cannot be read says nothing.
func (g *glyphs) readOwn(v pdf.Value) {
	defer func() { _ = recover() }() // the library panics
	if v.Kind() != pdf.Stream {
		return
	}
	content, _ := io.ReadAll(io.LimitReader(v.Reader(), maxCMap)) // its beginning counts
	left := maxGlyphs
	say := func(code uint64, text []uint16) {
		if s := string(utf16.Decode(text)); legible(s) {
			g.own[int(code)] = s //nolint:gosec // G115: it has 32 bits
		}
		left--
	}
	section, listed, args := "", uint64(0), []string(nil)
	for _, token := range cmapToken.FindAllString(string(content), -1) {
		switch {
		case left <= 0:
			return
		case token == "[":
			listed = 0
		case token == "]":
			args = nil
		case token[0] != '<':
			section, args = token, nil
		case section == "beginbfchar":
			if args = append(args, token); len(args) == 2 {
				say(number16(args[0]), units(args[1]))
				args = nil
			}
		case section == "beginbfrange" && len(args) < 2:
			args, listed = append(args, token), notListed
		case section == "beginbfrange" && listed != notListed:
			say(number16(args[0])+listed, units(token))
			listed++
		case section == "beginbfrange":
			if r := (run{number16(args[0]), number16(args[1]), units(token)}); r.first <= r.last && len(r.text) > 0 {
				g.runs = append(g.runs, r)
			}
			left--
			args = nil
		}
	}
}

// notListed means that the texts of a range are not in a list.
const notListed = 1 << 40

// number16 reads a number of at most 32 bits between < and >.
func number16(token string) uint64 {
	n, _ := strconv.ParseUint(strings.Join(strings.Fields(strings.Trim(token, "<>")), ""), 16, 32)
	return n
}

// units reads UTF-16 in hexadecimal digits. One byte is a letter, too.
func units(token string) []uint16 {
	raw, err := hex.DecodeString(strings.Join(strings.Fields(strings.Trim(token, "<>")), ""))
	if len(raw) == 1 {
		raw = []byte{0, raw[0]}
	}
	if err != nil {
		return nil
	}
	list := make([]uint16, len(raw)/2)
	for i := range list {
		list[i] = uint16(raw[2*i])<<8 | uint16(raw[2*i+1])
	}
	return list
}

// legible reports whether a text means something to a reader. Files say of glyphs that they have no
// text, or one of their own.
func legible(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return r == utf8.RuneError || !unicode.IsPrint(r) && !unicode.IsSpace(r)
	})
}
