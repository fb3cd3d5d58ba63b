package openai

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"io"
	"net/http"
	"strings"
)

// uncompressed is the value of Accept-Encoding. Without the header a server may compress as
// it likes.
var uncompressed = []string{"identity"}

// unpack makes the body of a response what it was before it was compressed: some servers and
// proxies compress although the request asks for no compression. A body that cannot be read
// fails with a *fault.
func unpack(resp *http.Response) {
	var open func(r *bufio.Reader) (io.Reader, error)
	switch coding := strings.ToLower(strings.Join(resp.Header.Values("Content-Encoding"), ",")); strings.TrimSpace(coding) {
	case "", "identity":
		return
	case "gzip", "x-gzip":
		open = func(r *bufio.Reader) (io.Reader, error) { return gzip.NewReader(r) }
	case "deflate":
		open = inflate
	default:
		open = func(*bufio.Reader) (io.Reader, error) {
			return nil, protocol("a body that is compressed with %.100q", coding)
		}
	}
	resp.Body = &unpacked{Closer: resp.Body, packed: bufio.NewReader(resp.Body), open: open}
}

// inflate reads the coding deflate: the format of zlib, or the same without its header, which
// some servers send under this name.
func inflate(r *bufio.Reader) (io.Reader, error) {
	head, err := r.Peek(2)
	if err == nil && head[0]&0x0f == 8 && (int(head[0])<<8|int(head[1]))%31 == 0 {
		return zlib.NewReader(r)
	}
	return flate.NewReader(r), nil
}

// unpacked is a body that is decompressed as it is read. Its user bounds how much of it is
// read.
type unpacked struct {
	io.Closer

	packed *bufio.Reader
	open   func(r *bufio.Reader) (io.Reader, error)
	reader io.Reader // nil before the first read
}

// Read implements io.Reader.
func (u *unpacked) Read(p []byte) (n int, err error) {
	if u.reader == nil {
		if _, err := u.packed.Peek(1); err != nil {
			return 0, err // an empty body is not compressed
		}
		u.reader, err = u.open(u.packed)
		switch {
		case errors.Is(err, gzip.ErrHeader):
			return 0, protocol("a body that is not compressed as its header says")
		case err != nil:
			return 0, err
		}
	}
	return u.reader.Read(p)
}
