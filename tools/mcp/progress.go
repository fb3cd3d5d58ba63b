package mcp

import (
	"bytes"
	"encoding/json"
	"io"
	"mime"
	"net/http"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxNotice is the largest progress notification that is read, in bytes.
const maxNotice = 64 << 10

// progressMethod is the method of a progress notification.
const progressMethod = "notifications/progress"

// The library queues notifications but delivers an answer at once, so an answer
// would overtake earlier progress. Here notifications are taken where the
// connection is read, before the library gets the answer.

// notice passes the progress notification of a message to take. Other messages and
// those that are too large are left to the library, which ignores progress.
func notice(message []byte, take func(*sdk.ProgressNotificationParams)) {
	if len(message) > maxNotice || !bytes.Contains(message, []byte(progressMethod)) {
		return
	}
	type notification struct {
		Method string                          `json:"method"`
		Params *sdk.ProgressNotificationParams `json:"params"`
	}
	var list []notification
	if text := bytes.TrimLeft(message, " \t\r"); len(text) > 0 && text[0] == '[' {
		if json.Unmarshal(message, &list) != nil {
			return
		}
	} else {
		list = make([]notification, 1)
		if json.Unmarshal(message, &list[0]) != nil {
			return
		}
	}
	for _, n := range list {
		if n.Method == progressMethod && n.Params != nil {
			take(n.Params)
		}
	}
}

// noticed returns the body of a response, with the progress in it passed to take
// as it is read. Only event streams have progress besides an answer.
func noticed(resp *http.Response, take func(*sdk.ProgressNotificationParams)) io.ReadCloser {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if kind != "text/event-stream" {
		return resp.Body
	}
	return &noticedBody{ReadCloser: resp.Body, take: take}
}

// noticedBody is an event stream. Only one goroutine may read.
type noticedBody struct {
	io.ReadCloser
	take func(*sdk.ProgressNotificationParams)
	line []byte // the line that is being read
	some bool   // the line is not empty
	data []byte // the event's data so far
	long bool   // the event is over maxNotice
	cr   bool   // the last byte was a carriage return
}

// Read implements io.Reader.
func (b *noticedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	for rest := p[:n]; len(rest) > 0; {
		if b.cr && rest[0] == '\n' { // the second half of a line's end
			b.cr, rest = false, rest[1:]
			continue
		}
		b.cr = false
		end := bytes.IndexAny(rest, "\r\n")
		if end < 0 {
			b.some = true
			b.hold(&b.line, rest)
			break
		}
		b.some = b.some || end > 0
		b.hold(&b.line, rest[:end])
		b.endLine()
		b.cr, rest = rest[end] == '\r', rest[end+1:]
	}
	return n, err
}

// hold appends to a part of the event, unless that is too long.
func (b *noticedBody) hold(part *[]byte, text []byte) {
	if b.long = b.long || len(*part)+len(text) > maxNotice; !b.long {
		*part = append(*part, text...)
	}
}

// endLine takes a whole line: a piece of the event's data, or the event's end.
func (b *noticedBody) endLine() {
	if !b.some {
		if !b.long {
			notice(b.data, b.take)
		}
		b.data, b.line, b.long = b.data[:0], b.line[:0], false
		return
	}
	if data, ok := bytes.CutPrefix(b.line, []byte("data:")); ok {
		if len(b.data) > 0 {
			b.hold(&b.data, []byte("\n"))
		}
		b.hold(&b.data, bytes.TrimPrefix(data, []byte(" ")))
	}
	b.line, b.some = b.line[:0], false
}
