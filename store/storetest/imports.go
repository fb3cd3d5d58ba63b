package storetest

import (
	"context"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/store/research"
)

// streamLines are so many streams with the ids from 1.
func streamLines(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"kind":"stream","stream_id":%d,"name":"n"}`+"\n", i+1)
	}
	return b.String()
}

// readTwice are data that are read twice. It calls do once, when the second reading comes
// to a place.
type readTwice struct {
	*strings.Reader
	reading int
	place   int64
	do      func()
}

func (r *readTwice) Seek(offset int64, whence int) (int64, error) {
	if whence == io.SeekStart {
		r.reading++
	}
	return r.Reader.Seek(offset, whence)
}

func (r *readTwice) Read(p []byte) (int, error) {
	if r.reading == 1 && r.do != nil && r.Size()-int64(r.Len()) >= r.place {
		r.do()
		r.do = nil
	}
	return r.Reader.Read(p)
}

// While an import goes on others see what is stored and may write.
func testImportInParts(t *testing.T, url string) {
	s, other := open(t, url), open(t, url)
	f := newFixture(t, other)
	g := f.turn("q", "a")
	const lines = 2000
	data := streamLines(lines)
	halfway := 0
	_, err := s.Import(t.Context(), &readTwice{Reader: strings.NewReader(data), place: int64(len(data) / 2), do: func() {
		streams, err := other.Streams(t.Context())
		must(t, err)
		halfway = len(streams)
		_, err = other.PatchChat(t.Context(), f.owner, g.Run.ConversationID, title("meanwhile"))
		must(t, err)
	}})
	must(t, err)
	if halfway == 0 || halfway == lines {
		t.Errorf("another process finds %d of %d streams halfway, want some", halfway, lines)
	}
	streams, err := other.Streams(t.Context())
	must(t, err)
	equal(t, "streams", len(streams), lines)
}

// A process that waits to write has its turn before an import ends. An import that was
// interrupted is completed by a second one of the same data.
func testImportInterrupted(t *testing.T, url string) {
	s, other := open(t, url), open(t, url)
	f := newFixture(t, other)
	g := f.turn("q", "a")
	const lines = 16_000
	data := streamLines(lines)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	begun, wrote := make(chan struct{}), make(chan error, 1)
	go func() {
		<-begun
		_, err := other.PatchChat(t.Context(), f.owner, g.Run.ConversationID, title("meanwhile"))
		cancel()
		wrote <- err
	}()
	_, err := s.Import(ctx, &readTwice{Reader: strings.NewReader(data), do: func() { close(begun) }})
	must(t, <-wrote)
	fails(t, "the import, which ends when the other process has written", err, context.Canceled)
	counts, err := s.Import(t.Context(), strings.NewReader(data))
	must(t, err)
	equal(t, "counts", counts, research.Counts{Streams: lines})
	_, err = s.Stream(t.Context(), lines)
	must(t, err)
}

// An error after the check of the data says what is stored.
func testImportChanged(t *testing.T, url string) {
	s := open(t, url)
	data := &readTwice{Reader: strings.NewReader(streamLines(1000))}
	data.place, data.do = data.Size()/2, func() { must(t, skip(data.Reader)) }
	_, err := s.Import(t.Context(), data)
	if err == nil || !strings.Contains(err.Error(), "are stored") || !strings.Contains(err.Error(), "changed meanwhile") {
		t.Errorf("the error is %v, want one that says that the data changed, and which lines are stored", err)
	}
}

func skip(r io.Seeker) error {
	_, err := r.Seek(0, io.SeekEnd)
	return err
}

// A line that is invalid long after the first ones leaves nothing behind.
func testLateBadImport(t *testing.T, url string) {
	s := open(t, url)
	_, err := s.Import(t.Context(), strings.NewReader(streamLines(2000)+`{"kind":"report","report_id":1,"stream_id":2001,"title":"t"}`))
	failsWith(t, "stream that does not exist", err, schemas.CodeInvalid)
	streams, err := s.Streams(t.Context())
	must(t, err)
	equal(t, "streams", len(streams), 0)
}

// The error names all lines that are invalid, so that a file is corrected at once, but none
// only because of another one.
func testManyBadLines(t *testing.T, url string) {
	s := open(t, url)
	for data, want := range map[string]string{
		"nope\n" + `{"kind":"cat"}` + "\n\n" + streamLines(1) + `{"kind":"stream","stream_id":"3","name":"n"}`: "these lines are not valid:\nline 1: it is not a JSON object (.*)\nline 2: kind must be stream, report or article\nline 5: the field stream_id must be a whole number, not a JSON string",

		`{"kind":"report","report_id":1,"stream_id":9,"title":"t"}` + "\n" + `{"kind":"report","report_id":2,"stream_id":9,"title":"t"}` + "\n" +
			`{"kind":"article","article_id":3,"report_id":1,"title":"t"}` + "\n" + `{"kind":"article","article_id":3,"report_id":4,"title":"t"}`: "these lines are not valid:\nline 1: stream_id 9 does not exist\nline 4: report_id 4 does not exist",

		`{"kind":"stream","stream_id":9}` + "\n" + `{"kind":"report","report_id":1,"stream_id":9,"title":"t"}`: "line 1: a stream needs stream_id and name",

		strings.Repeat("nope\n", 100): "these lines are not valid:(\nline [0-9]+: it is not a JSON object [^\n]*){20}\nThe lines after line 20 were not read.",
	} {
		_, err := s.Import(t.Context(), strings.NewReader(data))
		failsWith(t, data, err, schemas.CodeInvalid)
		if message := schemas.Visible(err).Message; !regexp.MustCompile("^" + want + "$").MatchString(message) {
			t.Errorf("%s: got %s, want %s", data, message, want)
		}
	}
	streams, err := s.Streams(t.Context())
	must(t, err)
	equal(t, "streams", len(streams), 0)
}

// blank is data of many MiB, of which only the end is a record.
type blank struct {
	io.Reader
	size int64
}

const lastLine = `{"kind":"stream","stream_id":1,"name":"n"}`

func newBlank(size int64) *blank {
	b := &blank{size: size}
	b.Reader = b.again()
	return b
}

func (b *blank) again() io.Reader {
	return io.MultiReader(io.LimitReader(blankLines{}, b.size), strings.NewReader("\n"+lastLine))
}

func (b *blank) Seek(_ int64, whence int) (int64, error) {
	if whence == io.SeekStart {
		b.Reader = b.again()
	}
	return 0, nil
}

type blankLines struct{}

func (blankLines) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	p[0] = '\n'
	return len(p), nil
}

// Import reads data of any size, from pipes, with a byte order mark and long lines.
func testImportSources(t *testing.T, url string) {
	s := open(t, url)
	r, w, err := os.Pipe()
	must(t, err)
	defer r.Close()
	go func() {
		_, _ = io.WriteString(w, sample) // Import finds out
		_ = w.Close()
	}()
	name := func(n int) string { // makes a line of n bytes
		const without = `{"kind":"stream","stream_id":1,"name":""}`
		return strings.Replace(without, `""`, `"`+long("n", n-len(without))+`"`, 1)
	}
	for what, from := range map[string]io.Reader{
		"a pipe":                         r,
		"a byte order mark":              strings.NewReader("\uFEFF" + lastLine),
		"a byte order mark before blank": strings.NewReader("\uFEFF\r\n" + lastLine),
		"257 MiB":                        newBlank(257 << 20),
		"a line of 8 MiB":                strings.NewReader(name(8<<20) + "\r\n" + lastLine),
		"a last line of 8 MiB":           strings.NewReader(name(8 << 20)),
	} {
		if counts, err := s.Import(t.Context(), from); err != nil || counts.Streams == 0 {
			t.Errorf("%s: got %v, %v, want streams", what, counts, err)
		}
	}
	for what, from := range map[string]string{"one byte more": name(8<<20+1) + "\n", "one byte more at the end": name(8<<20 + 1)} {
		_, err := s.Import(t.Context(), strings.NewReader(from))
		failsWith(t, what, err, schemas.CodeInvalid)
		if want := "line 1: it is longer than 8 MiB"; schemas.Visible(err).Message != want {
			t.Errorf("%s: the error is %v, want %q", what, err, want)
		}
	}
	_, err = s.Import(t.Context(), strings.NewReader(lastLine+"\n"+strings.Replace(lastLine, `"n"`, "\"Caf\xe9\"", 1)))
	failsWith(t, "a file in Latin-1", err, schemas.CodeInvalid)
}
