package pdftext

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/ledongthuc/pdf"
)

// textOf returns the text of a file, with a line before each page, or why there is
// none.
func textOf(file []byte, maxPages, maxText int) (text string, why Unreadable) {
	defer func() {
		if recover() != nil {
			text, why = "", broken
		}
	}()
	file = tidy(file)
	doc, err := pdf.NewReader(bytes.NewReader(file), int64(len(file)))
	switch {
	case errors.Is(err, pdf.ErrInvalidPassword), err != nil && bytes.Contains(file, []byte("/Encrypt")):
		return "", encrypted
	case err != nil:
		return "", broken
	}
	pages := doc.NumPage()
	if pages < 1 {
		return "", broken
	}
	if pages > maxPages {
		return "", Unreadable(fmt.Sprintf("has %d pages; it may have %d", pages, maxPages))
	}
	var b strings.Builder
	fonts, found := make(map[string]*font), false
	for n := 1; n <= pages; n++ {
		w := &walker{fonts: fonts, room: maxText - b.Len()}
		w.page(doc.Page(n))
		page := strings.TrimSpace(w.out.String())
		found = found || strings.ContainsFunc(page, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
		if n > 1 {
			b.WriteString("\n\n")
		}
		missing := ""
		if w.lost || w.inImage {
			missing = ", a part of which cannot be read"
		}
		fmt.Fprintf(&b, "[page %d of %d%s]\n%s", n, pages, missing, page)
		if b.Len() > maxText {
			return "", Unreadable(fmt.Sprintf("has too much text: more than %d bytes", maxText))
		}
	}
	if !found {
		return "", textless
	}
	return b.String(), ""
}

// tidy makes a file begin and end as the library wants it: with a version that it
// knows, and with the mark of the end. The places of objects stay.
func tidy(file []byte) []byte {
	const header, end, search = "%PDF-", "%%EOF", 1024
	at := bytes.Index(file[:min(search, len(file))], []byte(header))
	if at < 0 || len(file) < at+len(header)+4 {
		return file
	}
	file = bytes.Clone(file[at:])
	copy(file[len(header):], "1.7\n")
	if last := bytes.LastIndex(file, []byte(end)); last >= 0 {
		return file[:last+len(end)]
	}
	return append(file, "\n"+end...)
}

// page reads a page. An unreadable part ends the page: the text before it still
// counts, and lost is set.
func (w *walker) page(p pdf.Page) {
	defer func() {
		if recover() != nil {
			w.lost = true
		}
	}()
	w.content(p.V.Key("Contents"), p.Resources(), 0)
}
