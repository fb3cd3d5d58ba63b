package pdftext_test

import (
	"bytes"
	"cmp"
	"compress/flate"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/services/pdftext"
)

// file returns a PDF file of these objects, the first of which is the catalog. More goes
// into its trailer.
func file(more string, objects ...string) []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.7\n")
	places := make([]int, len(objects))
	for i, o := range objects {
		places[i] = b.Len()
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for _, at := range places {
		fmt.Fprintf(&b, "%010d 00000 n \n", at)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R %s>>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, more, start)
	return b.Bytes()
}

func stream(dict, content string) string {
	return fmt.Sprintf("<< %s /Length %d >>\nstream\n%s\nendstream", dict, len(content), content)
}

const (
	catalog = "<< /Type /Catalog /Pages 2 0 R >>"
	font    = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"
)

// pages returns a file whose pages have these contents.
func pages(contents ...string) []byte {
	objects := []string{catalog, "", font}
	var kids []string
	for _, c := range contents {
		n := len(objects)
		kids = append(kids, fmt.Sprintf("%d 0 R", n+1))
		objects = append(objects, fmt.Sprintf("<< /Type /Page /Parent 2 0 R /Contents %d 0 R /Resources << /Font << /F 3 0 R >> >> >>", n+2), stream("", c))
	}
	objects[1] = fmt.Sprintf("<< /Type /Pages /Count %d /Kids [%s] >>", len(contents), strings.Join(kids, " "))
	return file("", objects...)
}

// read reads a file under the limits that the test is about; a busy machine keeps the others.
func read(t *testing.T, l pdftext.Limits, f []byte) (string, error) {
	t.Helper()
	l.Pages, l.Time = cmp.Or(l.Pages, 20), cmp.Or(l.Time, 3*time.Minute)
	texts, _, err := pdftext.New(l).Texts(t.Context(), "alice", [][]byte{f}, 10_000)
	if err != nil {
		return "", err
	}
	return texts[0], nil
}

func TestText(t *testing.T) {
	sample, err := os.ReadFile("testdata/report.pdf")
	if err != nil {
		t.Fatal(err)
	}
	form := file("", catalog, "<< /Type /Pages /Count 1 /Kids [4 0 R] >>", font,
		"<< /Type /Page /Parent 2 0 R /Contents [5 0 R 6 0 R] /Resources << /XObject << /X 7 0 R >> >> >>",
		stream("", "/X Do"), stream("", "BT ET"), stream("/Subtype /Form /Resources << /Font << /F 3 0 R >> /XObject << /X 7 0 R >> >>", "BT /F 12 Tf (in a form) Tj ET /X Do"))
	of := func(font, content string) []byte {
		return file("", catalog, "<< /Type /Pages /Count 1 /Kids [4 0 R] >>", font,
			"<< /Type /Page /Parent 2 0 R /Contents 5 0 R /Resources << /Font << /F 3 0 R >> >> >>", stream("", "BT /F 12 Tf "+content+" Tj ET"),
			stream("", "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /A def 1 begincodespacerange <00> <FF> endcodespacerange\n"+
				"2 beginbfchar <01> <2264> <02> <D835 DC00>\nendbfchar 2 beginbfrange <03> <05> <0061> <06> <07> [<0078> <00660069>] endbfrange endcmap end end"),
			stream("", "1 beginbfchar <01> <0000> <02> <E001> <5A> <005"), stream("/Filter /Unknown", "x"), stream("", "3 beginbfrange <40> <5A> <0061> <01> <02> <0078> <03> <03> <D835DC00> endbfrange"))
	}
	beside := func(meaning string) []byte {
		return file("", catalog, "<< /Type /Pages /Count 1 /Kids [4 0 R] >>", font,
			"<< /Type /Page /Parent 2 0 R /Contents 5 0 R /Resources << /Font << /F 3 0 R /G << /Type /Font /Subtype /Type0 /Encoding /Identity-H "+meaning+" >> >> >> >>",
			stream("", "BT /F 12 Tf (known) Tj /G 12 Tf <0002> Tj ET"), stream("", "1 beginbfchar <0002> <F0B7> endbfchar"))
	}
	// Many fonts, as of files that were joined, say that all their codes are Unicode.
	joined := func() []byte {
		fonts, shown := "", ""
		for i := range 300 {
			fonts += fmt.Sprintf("/F%d << /Type /Font /Subtype /Type0 /Nr %d /Encoding /Identity-H /ToUnicode 6 0 R >> ", i, i)
			shown += fmt.Sprintf("/F%d 12 Tf <0041> Tj ", i)
		}
		return file("", catalog, "<< /Type /Pages /Count 1 /Kids [4 0 R] >>", font,
			"<< /Type /Page /Parent 2 0 R /Contents 5 0 R /Resources << /Font << "+fonts+">> >> >>", stream("", "BT "+shown+"ET"),
			stream("", "1 beginbfrange <0000> <FFFF> <0000> endbfrange"))
	}
	differs := func(base, names, more string) string {
		return "<< /Type /Font /Subtype /Type1 /BaseFont /ABCDEF+Times /Encoding << /Type /Encoding " + base + " /Differences [" + names + "] >> " + more + " >>"
	}
	var packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	fmt.Fprint(z, "BT /F 12 Tf (packed) Tj ET")
	z.Close()
	for name, tc := range map[string]struct {
		file []byte
		want string
	}{
		"a page that a browser printed":          {sample, "[page 1 of 2]\nBase editing of gold\n"},
		"the second page of it":                  {sample, "[page 2 of 2]\nSecond page: Zürich and Ελληνικά."},
		"a table of it":                          {sample, "Year Patients"},
		"lines":                                  {pages("BT /F 12 Tf 72 700 Td (One) Tj 0 -14 Td (Two) Tj 0 -40 Td (Three) Tj ET"), "One\nTwo\n\nThree"},
		"words without spaces":                   {pages("BT /F 12 Tf [(Base)-300(editing)-10(s)] TJ ET"), "Base editings"},
		"the shorter operators":                  {pages("BT /F 12 Tf 14 TL (a) Tj T* (b) Tj (c) ' 0 0 (d) \" ET"), "a\nb\nc\nd"},
		"a form in a form":                       {form, "in a form"},
		"an exponent":                            {pages("BT /F 12 Tf (10) Tj /F 8 Tf 13.5 5 Td (-) Tj (6) Tj /F 12 Tf 12 -5 Td (M) Tj 0 -14 Td (next) Tj ET"), "10^-6 M\nnext"},
		"an exponent that is raised only":        {pages("BT /F 12 Tf (10) Tj /F 8 Tf 4 Ts (6) Tj 0 Ts /F 12 Tf ( cells, 19) Tj /F 8 Tf 4 Ts (th) Tj ET"), "10^6 cells, 19th"},
		"a small line above":                     {pages("BT /F 12 Tf (10) Tj /F 8 Tf 0 5 Td (6) Tj ET"), "10\n6"},
		"a page that lies on its side":           {pages("BT /F 12 Tf 0 1 -1 0 300 72 Tm (One) Tj 40 0 Td (10) Tj /F 8 Tf 4 Ts (6) Tj 0 Ts /F 12 Tf ( and) Tj 20 -14 Td (three) Tj ET"), "One 10^6 and\nthree"},
		"a page that is upside down in the file": {pages("1 0 0 -1 0 800 cm BT /F 12 Tf 1 0 0 -1 72 72 Tm (10) Tj /F 8 Tf 4 Ts (6) Tj ET"), "10^6"},
		"slanted letters":                        {pages("BT /F 12 Tf 1 0 0.33 1 72 700 Tm (One) Tj 40 0 Td (two) Tj ET"), "One two"},
		"an index":                               {pages("BT /F 12 Tf (CO) Tj /F 8 Tf 13 -3 Td (2) Tj /F 12 Tf 7 3 Td (of) Tj ET"), "CO2 of"},
		"an exponent after an index":             {pages("BT /F 12 Tf (SO) Tj /F 8 Tf 13 -4 Td (4) Tj 4 9 Td (2) Tj (-) Tj /F 12 Tf 9 -5 Td (, x) Tj ET"), "SO4^2-, x"},
		"an exponent above an index":             {pages("BT /F 12 Tf (x) Tj /F 8 Tf 7 -4 Td (i) Tj 0 9 Td (2) Tj /F 12 Tf 5 -5 Td (, y) Tj /F 8 Tf 18 5 Td (2) Tj 0 -9 Td (i) Tj /F 12 Tf -30 -10 Td (next) Tj ET"), "xi^2, y^2_i\nnext"},
		"letters without a size":                 {pages("BT /F 0 Tf (a) Tj (1) Tj /F 12 Tf (b) Tj ET"), "a1b"},
		"a range and an apostrophe, of Windows":  {of(differs("/BaseEncoding /WinAnsiEncoding", "31 /fi 45 /minus", ""), `(5\22610 mg, don\222t, -\037n)`), "5–10 mg, don’t, −ﬁn"},
		"a range and an accent, of a Mac":        {of(differs("/BaseEncoding /MacRomanEncoding", "", ""), `(5\32010 mg, caf\216)`), "5–10 mg, café"},
		"glyphs named by their number":           {of(differs("", "1 /uni2264 /u1D400 /A /uni00660069.alt", ""), `(\001\002\003\004)`), "≤𝐀Afi"},
		"what the file says of its own glyphs":   {of(differs("", "1 /g1 /g2 /g3 /g4 /g5 /g6 /g7", "/ToUnicode 6 0 R"), `(\001\002\003\004\005\006\007)`), "≤𝐀abcxfi"},
		"ranges in any order":                    {of(differs("", "", "/ToUnicode 9 0 R"), `(\001\002\003\004@Z)`), "xy𝐀a{"},
		"the same beside an encoding":            {of(`<< /Type /Font /Subtype /TrueType /Encoding /WinAnsiEncoding /ToUnicode 6 0 R >>`, `(\001Q)`), "≤Q"},
		"the same in another writing":            {of(`<< /Type /Font /Subtype /Type0 /Encoding /Identity-V /ToUnicode 6 0 R >>`, `<00010004>`), "≤b"},
		"numbers of glyphs without a meaning":    {beside(""), "[page 1 of 1, a part of which cannot be read]\nknown"},
		"a meaning by name only":                 {beside("/ToUnicode /Identity-H"), "[page 1 of 1, a part of which cannot be read]\nknown"},
		"a bullet of the file's own":             {beside("/ToUnicode 6 0 R"), "[page 1 of 1]\nknown"},
		"many fonts with all letters":            {joined(), strings.Repeat("A", 300)},
		"codes that are Unicode":                 {of(`<< /Type /Font /Subtype /Type0 /Encoding /UniJIS-UTF16-H >>`, `<65E5672C>`), "日本"},
		"nothing of use said of them":            {of(differs("", "1 /a /b", "/ToUnicode 7 0 R"), `(\001\002Z)`), "abZ"},
		"something unreadable said of them":      {of(differs("", "1 /a /b", "/ToUnicode 8 0 R"), `(\001\002Z)`), "abZ"},
		"pages":                                  {pages("BT /F 9 Tf (a) Tj ET", "BT /F 9 Tf (b) Tj ET"), "[page 1 of 2]\na\n\n[page 2 of 2]\nb"},
		"what comes before an error":             {pages("BT /F 9 Tf (before) Tj ET >> ] (after", "BT /F 9 Tf (next) Tj ET"), "before\n\n[page 2 of 2]\nnext"},
		"what hides the text after it":           {pages("BT /F 9 Tf (a) Tj ET q BI /W 2 /H 2 /BPC 8 /CS /G ID ((x\xff EI Q BT /F 9 Tf (b) Tj ET", "BT /F 9 Tf (c) Tj ET"), "[page 1 of 2, a part of which cannot be read]\na\n\n[page 2 of 2]\nc"},
		"what ends the reading":                  {pages("BT /F 9 Tf (a) Tj ET end BT /F 9 Tf (b) Tj ET"), "[page 1 of 1, a part of which cannot be read]\na"},
		"an image in a page":                     {pages("BT /F 9 Tf (a) Tj ET q BI /W 2 /H 2 /BPC 8 /CS /G ID \x01<<x\xff>> EI Q BT /F 9 Tf (b) Tj ET"), "[page 1 of 1]\nab"},
		"version 2":                              {bytes.Replace(pages("BT /F 9 Tf (new) Tj ET"), []byte("1.7"), []byte("2.0"), 1), "new"},
		"something before and after":             {append(pages("BT /F 9 Tf (mid) Tj ET"), strings.Repeat("\x00", 200)...), "mid"},
		"control characters":                     {pages(`BT /F 9 Tf (a\001\033b) Tj ET`), "ab"},
		"compressed":                             {file("", catalog, "<< /Type /Pages /Count 1 /Kids [4 0 R] >>", font, "<< /Type /Page /Contents 5 0 R /Resources << /Font << /F 3 0 R >> >> >>", stream("/Filter /FlateDecode", packed.String())), "packed"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := read(t, pdftext.Limits{}, tc.file)
			if err != nil || !strings.Contains(got, tc.want) {
				t.Errorf("got %q, %v, want %q in it", got, err, tc.want)
			}
		})
	}
}

// Whatever a file does to its reader, the service reports what is wrong with
// it, in bounded time.
func TestUnreadable(t *testing.T) {
	// A page of copies of one compressed piece; nobody comes to the checksum at its end.
	bomb := func(copies int) []byte {
		var piece bytes.Buffer
		z, err := flate.NewWriter(&piece, flate.BestSpeed)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = z.Write([]byte(strings.Repeat("BT /F 9 Tf (x) Tj ET ", 50_000)))
		if err := z.Flush(); err != nil {
			t.Fatal(err)
		}
		content := "\x78\x01" + strings.Repeat(piece.String(), copies)
		return file("", catalog, "<< /Type /Pages /Count 1 /Kids [4 0 R] >>", font, "<< /Type /Page /Contents 5 0 R /Resources << /Font << /F 3 0 R >> >> >>", stream("/Filter /FlateDecode", content))
	}
	good := pages("BT /F 9 Tf (a) Tj ET", "BT /F 9 Tf (b) Tj ET")
	for name, tc := range map[string]struct {
		file   []byte
		limits pdftext.Limits
		want   string
	}{
		"no PDF":            {[]byte("PK\x03\x04"), pdftext.Limits{}, string(pdftext.Broken)},
		"cut off":           {good[:len(good)/2], pdftext.Limits{}, string(pdftext.Broken)},
		"no pages":          {pages(), pdftext.Limits{}, string(pdftext.Broken)},
		"encrypted":         {file("/Encrypt << /Filter /Standard /V 2 /R 3 /Length 128 /P -4 /O ("+strings.Repeat("o", 32)+") /U ("+strings.Repeat("u", 32)+") >> /ID [(0123456789abcdef) (0123456789abcdef)] ", catalog, "<< /Type /Pages /Count 0 /Kids [] >>"), pdftext.Limits{}, string(pdftext.Encrypted)},
		"newer encryption":  {file("/Encrypt << /Filter /Standard /V 5 /R 6 >> ", catalog), pdftext.Limits{}, string(pdftext.Encrypted)},
		"a scan":            {pages("q Q", "BT /F 9 Tf ( ) Tj ET"), pdftext.Limits{}, string(pdftext.Textless)},
		"too many pages":    {good, pdftext.Limits{Pages: 1}, "has 2 pages; it may have 1"},
		"false count":       {file("", catalog, "<< /Type /Pages /Count 999999999 /Kids [] >>"), pdftext.Limits{}, "has 999999999 pages; it may have 20"},
		"too much text":     {pages("BT /F 9 Tf " + strings.Repeat("(0123456789) Tj ", 1_100) + "ET"), pdftext.Limits{}, "has too much text: more than 10000 bytes"},
		"too much nesting":  {file("", strings.Repeat("[", 3<<20)), pdftext.Limits{}, string(pdftext.Broken)},
		"a table of places": {file("", "<< /Type /Catalog >>", stream("/Type /XRef /Size 1 /W [1 2 99999999999] /Index [0 1]", "x")), pdftext.Limits{}, string(pdftext.Broken)},
		"pages in a ring":   {file("", catalog, "<< /Type /Pages /Count 2 /Kids [2 0 R] >>"), pdftext.Limits{Time: 300 * time.Millisecond}, string(pdftext.Costly)},
		"a bomb":            {bomb(128), pdftext.Limits{Time: 100 * time.Millisecond}, string(pdftext.Costly)},
		"memory":            {pages("(" + strings.Repeat("x", 40<<20) + ")"), pdftext.Limits{Memory: 64 << 20}, string(pdftext.Costly)},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := read(t, tc.limits, tc.file)
			why, ok := errors.AsType[pdftext.Unreadable](err)
			if !ok || string(why) != tc.want {
				t.Errorf("got %q, %v, want %q", got, err, tc.want)
			}
		})
	}
	if _, _, err := pdftext.New(pdftext.Limits{}).Texts(t.Context(), "alice", [][]byte{good}, 100); !errors.Is(err, pdftext.Refused) {
		t.Errorf("a service that takes no PDF files gives %v, want refused", err)
	}
}

// A reader reads a limited number of files at a time. A file that waits too
// long is refused, and may be sent again.
func TestTurns(t *testing.T) {
	r := pdftext.New(pdftext.Limits{Pages: 5, Processes: 1, Time: 400 * time.Millisecond})
	ring := file("", catalog, "<< /Type /Pages /Count 2 /Kids [2 0 R] >>")
	over := r.Busy()
	_, _, err := r.Texts(t.Context(), "alice", [][]byte{ring}, 100)
	if e, ok := errors.AsType[*schemas.Error](err); !ok || e.Code != schemas.CodeTooManyRequests || e.RetryAfter == 0 {
		t.Errorf("a file that waits for its turn gets %v, want too_many_requests", err)
	}
	over()
	for range 2 { // each gives its turn back
		if _, _, err := r.Texts(t.Context(), "alice", [][]byte{ring}, 100); !errors.Is(err, pdftext.Costly) {
			t.Errorf("a file whose turn it is gets %v, want that it is read", err)
		}
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := r.Texts(gone, "alice", [][]byte{ring}, 100); !errors.Is(err, context.Canceled) {
		t.Errorf("a client that is gone gets %v, want context.Canceled", err)
	}
}

// Of each user one file is read at a time, so that a user whose files take long leaves the
// others a process.
func TestTurnsOfUsers(t *testing.T) {
	r := pdftext.New(pdftext.Limits{Pages: 5, Processes: 2, Time: time.Minute})
	ctx, leave := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			_, _, _ = r.Texts(ctx, "mallory", [][]byte{file("", catalog, "<< /Type /Pages /Count 2 /Kids [2 0 R] >>")}, 100)
		})
	}
	for r.Reading() == 0 {
		runtime.Gosched()
	}
	if texts, _, err := r.Texts(t.Context(), "alice", [][]byte{pages("BT /F 9 Tf (a) Tj ET")}, 10_000); err != nil || len(texts) != 1 {
		t.Errorf("another user's file gives %q, %v, want its text", texts, err)
	}
	if n := r.Reading(); n != 1 {
		t.Errorf("%d files of one user are being read, want 1", n)
	}
	leave()
	all.Wait()
}

func FuzzText(f *testing.F) {
	f.Add(pages("BT /F 12 Tf [(a)-300(b)] TJ ET"))
	f.Add(pages("/X Do q Q Q cm Tm Td"))
	f.Fuzz(func(t *testing.T, data []byte) {
		text, err := read(t, pdftext.Limits{Time: 2 * time.Second}, data)
		if _, ok := errors.AsType[pdftext.Unreadable](err); err != nil && !ok {
			t.Errorf("%q: %v", data, err)
		}
		if len(text) > 10_000 {
			t.Errorf("%d bytes of text", len(text))
		}
	})
}

// What a child writes is bounded, whatever happens in it; a text within the limit fits.
func TestOutputIsBounded(t *testing.T) {
	for size, ok := range map[int64]bool{1000: true, 1001: false, 1 << 20: false} {
		endless := struct{ io.Reader }{strings.NewReader(strings.Repeat("x", 1<<20))}
		if err := pdftext.Kept(1000, io.LimitReader(endless, size)); (err == nil) != ok {
			t.Errorf("%d bytes: got %v", size, err)
		}
	}
	if got, err := read(t, pdftext.Limits{}, pages("BT /F 9 Tf (a"+strings.Repeat("<&>", 3000)+") Tj ET")); err != nil || !strings.HasSuffix(got, "<&>") {
		t.Errorf("a text of signs: got %d bytes, %v", len(got), err)
	}
}
