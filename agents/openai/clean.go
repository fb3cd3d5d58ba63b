package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"sync"
)

// cleaning is a round tripper that lets go-openai see only what it reads
// rightly: a response that is no success becomes a *fault, and a success's body
// goes through a cleaner.
type cleaning struct {
	next   http.RoundTripper
	limits Limits
	query  string // of the base URL
	key    string
	azure  bool
}

func (t *cleaning) RoundTrip(req *http.Request) (*http.Response, error) {
	if t.query != "" || t.azure {
		req = req.Clone(req.Context())
		req.URL.RawQuery = t.query
		if t.azure && t.key != "" {
			req.Header.Del("Authorization")
			req.Header.Set("Api-Key", t.key)
		}
	}
	req, err := putRequest(req)
	if err != nil {
		return nil, err
	}
	var sent *sentBody
	if req.Body != nil && req.ContentLength > 0 {
		sent = &sentBody{ReadCloser: req.Body, again: req.GetBody}
		copied := *req
		req = &copied
		req.Body, req.GetBody = sent, sent.get
	}
	resp, err := t.next.RoundTrip(req)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnreachable, err)
	}
	if sent != nil {
		sent.drop()
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")) // no type is no HTML
	if resp.StatusCode/100 == 2 && kind != "text/html" {
		w, _ := req.Context().Value(watchKey{}).(*watch)
		resp.Body = &cleaner{body: resp.Body, watch: w, limits: t.limits, key: t.key}
		return resp, nil
	}
	defer resp.Body.Close() // it has been read
	f := responseFault(resp)
	if resp.StatusCode/100 == 2 {
		f = protocol("HTML instead of an event stream: %.200q", f.message)
	}
	return nil, f.without(t.key)
}

// sentBody is a request's body that is let go of once the answer has begun: the
// transport keeps the request for as long as the reply streams, and a prompt is
// long.
type sentBody struct {
	mu sync.Mutex
	io.ReadCloser
	again func() (io.ReadCloser, error)
}

func (b *sentBody) get() (io.ReadCloser, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.again == nil {
		return nil, errors.New("the body has been sent")
	}
	return b.again()
}

// Read is of io.Reader.
func (b *sentBody) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ReadCloser.Read(p)
}

// Close is of io.Closer.
func (b *sentBody) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ReadCloser.Close()
}

// drop lets go of the bytes; the answer has begun, so nobody reads them again.
func (b *sentBody) drop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ReadCloser, b.again = http.NoBody, nil
}

// without returns f with the key, should the upstream have repeated it, taken
// out.
func (f *fault) without(key string) *fault {
	if key != "" {
		f.message = strings.ReplaceAll(f.message, key, "[key]")
	}
	return f
}

// cleaner reads an event stream and gives on one line for each chunk, "data: "
// and one JSON object, and at the end "data: [DONE]": no comments, no other
// fields, no blank lines, the last line complete. A chunk that holds nothing
// but a piece of text is given on in its short form (see plain). An error in
// any shape, a line that is too long, or a body that is no event stream end it
// with a *fault. A body that is one JSON completion becomes one chunk.
//
// What it gives does not depend on how the body's bytes are split over reads.
type cleaner struct {
	body   io.ReadCloser
	watch  *watch // may be nil
	limits Limits
	key    string

	buf        []byte // raw bytes; buf[r:w] is not yet cleaned
	r, w, scan int    // buf[r:scan] has no newline
	ended      error  // how the body ended
	rest       []byte // cleaned bytes that the last read had no room for

	memo       memo
	whole      []byte // a JSON body that is being collected
	some       bool   // a data line has been seen
	errorEvent bool   // the next data line is an error
	cut        bool   // the last line had no newline
	done       bool   // [DONE] has been seen
	err        error  // how the cleaned stream ends
}

const (
	// startBuffer is a cleaner's buffer; it grows for a longer line, and one
	// that has grown beyond keepBuffer is given up afterwards.
	startBuffer = 1 << 10
	keepBuffer  = 64 << 10
	// maxEmptyReads ends a body that gives neither bytes nor an end.
	maxEmptyReads = 100
)

// Read gives as many cleaned bytes as are there without waiting, but at least
// one.
func (c *cleaner) Read(p []byte) (int, error) {
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	for empty := 0; n < len(p); {
		if c.err != nil {
			if n > 0 {
				return n, nil
			}
			return 0, c.err
		}
		if line, ok := c.line(); ok {
			out := c.clean(p[:n:len(p)], line)
			if len(out) > len(p) { // it has moved to memory of its own
				copy(p[n:], out[n:])
				c.rest = out[len(p):]
				return len(p), nil
			}
			n = len(out)
			continue
		}
		if n > 0 {
			return n, nil
		}
		if c.ended != nil {
			c.rest = c.end(nil)
			n = copy(p, c.rest)
			c.rest = c.rest[n:]
			continue
		}
		if c.fill() {
			empty = 0
		} else if empty++; empty > maxEmptyReads {
			c.ended = io.ErrNoProgress
		}
	}
	return n, nil
}

// Close ends the call. After [DONE] it first reads the body's end, briefly, so
// that the connection is kept.
func (c *cleaner) Close() error {
	if c.done && c.ended == nil && c.watch != nil {
		c.watch.phase(errTail, drainWait)
		for n := 0; c.ended == nil && n < maxEmptyReads; n++ {
			c.r, c.w, c.scan = 0, 0, 0
			c.fill()
		}
	}
	return c.body.Close()
}

// line takes the next line out of the buffer. The last one may end without a
// newline.
func (c *cleaner) line() ([]byte, bool) {
	if i := bytes.IndexByte(c.buf[c.scan:c.w], '\n'); i >= 0 {
		line := c.buf[c.r : c.scan+i]
		c.r = c.scan + i + 1
		c.scan = c.r
		return line, true
	}
	c.scan = c.w
	if c.ended != nil && c.r < c.w {
		line := c.buf[c.r:c.w]
		c.r, c.cut = c.w, true
		return line, true
	}
	return nil, false
}

// fill reads more of the body; it says whether there was any.
func (c *cleaner) fill() bool {
	switch {
	case c.r == c.w:
		c.r, c.w, c.scan = 0, 0, 0
		if c.buf == nil || len(c.buf) > keepBuffer {
			c.buf = make([]byte, startBuffer)
		}
	case c.w == len(c.buf) && c.r > 0:
		c.w = copy(c.buf, c.buf[c.r:c.w])
		c.r, c.scan = 0, c.w
	case c.w == len(c.buf) && len(c.buf) > c.limits.Line:
		c.err = fmt.Errorf("%w: a line of more than %d bytes", errTooLarge, c.limits.Line)
		return true
	case c.w == len(c.buf):
		c.buf = append(c.buf, make([]byte, len(c.buf))...)
	}
	if c.watch != nil {
		c.watch.wait()
		defer c.watch.got()
	}
	n, err := c.body.Read(c.buf[c.w:])
	c.w += n
	c.ended = err
	return n > 0 || err != nil
}

// clean appends to dst what of the line is given on.
func (c *cleaner) clean(dst, line []byte) []byte {
	if payload, ok := bytes.CutPrefix(line, []byte("data:")); ok && c.whole == nil {
		return c.data(dst, bytes.TrimSpace(payload))
	}
	line = bytes.TrimSpace(line)
	switch {
	case c.whole != nil || bytes.HasPrefix(line, []byte("{")):
		return c.collect(dst, line)
	case !c.some && bytes.HasPrefix(line, []byte("\uFEFF")):
		return c.clean(dst, line[len("\uFEFF"):])
	case len(line) == 0:
		c.errorEvent = false
	case bytes.HasPrefix(line, []byte("event:")):
		c.errorEvent = string(bytes.TrimSpace(line[len("event:"):])) == "error"
	case bytes.HasPrefix(line, []byte("error:")):
		c.fail(line[len("error:"):])
	case !c.some && line[0] == '<':
		c.err = protocol("markup instead of an event stream: %.200q", line).without(c.key)
	}
	return dst
}

// data appends a data line's payload.
func (c *cleaner) data(dst, payload []byte) []byte {
	if len(payload) == 0 {
		return dst
	}
	c.some = true
	if !c.errorEvent {
		if content, ok := c.memo.match(payload); ok {
			return appendShort(dst, content)
		}
		if string(payload) == "[DONE]" {
			c.done, c.err = true, io.EOF
			return append(dst, "data: [DONE]\n"...)
		}
		if content, ok := c.memo.learn(payload); ok {
			return appendShort(dst, content)
		}
	}
	switch f, failed := errorBody(payload); {
	case c.cut && !c.errorEvent && !json.Valid(payload): // the body broke off here
	case failed:
		c.err = f.without(c.key)
	case c.errorEvent || payload[0] != '{':
		c.fail(payload)
	default: // the space keeps go-openai from taking {"error":null,…} for an error
		dst = append(append(append(dst, "data: { "...), payload[1:]...), '\n')
	}
	return dst
}

// fail ends the stream with what an error line says.
func (c *cleaner) fail(said []byte) {
	f, ok := errorBody(said)
	if !ok {
		f = protocol("%s", strings.ToValidUTF8(string(said[:min(len(said), maxErrorText)]), "\uFFFD"))
	}
	c.err = f.without(c.key)
}

// collect takes a line of a body in JSON. A body on one line is whole at once.
func (c *cleaner) collect(dst, line []byte) []byte {
	if len(c.whole)+len(line) > c.limits.Reply {
		c.err = fmt.Errorf("%w: a body of more than %d bytes", errTooLarge, c.limits.Reply)
		return dst
	}
	first := c.whole == nil
	c.whole = append(append(c.whole, line...), '\n')
	if first && json.Valid(line) {
		return c.completion(dst)
	}
	return dst
}

// completion appends the collected body, if it is a completion.
func (c *cleaner) completion(dst []byte) []byte {
	var b bytes.Buffer
	f, failed := errorBody(c.whole)
	switch {
	case failed:
		c.err = f.without(c.key)
	case c.some || !completion(c.whole, &b):
		c.err = protocol("JSON that is no completion: %.200q", c.whole).without(c.key)
	default:
		c.done, c.err = true, io.EOF
		dst = fmt.Appendf(dst, "data: %s\ndata: [DONE]\n", b.Bytes())
	}
	return dst
}

// end appends what stands for the end of the body.
func (c *cleaner) end(dst []byte) []byte {
	if c.whole != nil {
		return c.completion(dst)
	}
	c.err = c.ended
	if !c.some && errors.Is(c.ended, io.EOF) {
		c.err = protocol("an empty body")
	}
	return dst
}
