package transport

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// lineBuffer is the size in bytes of the pieces in which output is read; a line
// buffer larger than keptBuffer is freed after use.
const (
	lineBuffer = 32 << 10
	keptBuffer = 256 << 10
)

// ErrLongMessage ends the connection to a server that sends a message over MaxMessage.
var ErrLongMessage = errors.New("mcp: the server sent a message that is too large")

// messageLines is the output of a local server without the lines that are not
// JSON-RPC messages: many programs also print banners and logs. Those lines are
// logged at debug. Only one goroutine may read.
type messageLines struct {
	io.Closer
	from  *bufio.Reader
	other *lineLog
	take  func(*sdk.ProgressNotificationParams) // is called with progress
	line  []byte                                // the line that is being read
	rest  []byte                                // the part of line that Read has not returned
	err   error
}

func newMessageLines(out io.ReadCloser, other *lineLog, take func(*sdk.ProgressNotificationParams)) *messageLines {
	return &messageLines{
		Closer: out, take: take, from: bufio.NewReaderSize(out, lineBuffer), other: other,
	}
}

// Read implements io.Reader.
func (m *messageLines) Read(p []byte) (int, error) {
	for len(m.rest) == 0 {
		if m.err != nil {
			return 0, m.err
		}
		m.next()
	}
	n := copy(p, m.rest)
	m.rest = m.rest[n:]
	return n, nil
}

// next reads a line, and leaves it in rest if it is a message. It buffers no
// line that does not begin like a message.
func (m *messageLines) next() {
	if cap(m.line) > keptBuffer {
		m.line = nil
	}
	m.line = m.line[:0]
	for begun, maybe := false, false; ; {
		part, err := m.from.ReadSlice('\n')
		if text := bytes.TrimLeft(part, " \t\r\n"); !begun && len(text) > 0 {
			begun, maybe = true, text[0] == '{' || text[0] == '['
		}
		switch {
		case maybe:
			m.line = append(m.line, part...)
		case begun:
			_, _ = m.other.Write(part)
		}
		if len(m.line) > MaxMessage {
			m.err = ErrLongMessage
			return
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			m.err = err
			break
		}
	}
	switch {
	case len(m.line) == 0:
	case isMessage(m.line):
		m.rest = m.line
		notice(m.line, m.take)
	default:
		_, _ = m.other.Write(m.line)
	}
}

// message is what tells a JSON-RPC message from other JSON.
type message struct {
	Version json.RawMessage `json:"jsonrpc"`
	Method  json.RawMessage `json:"method"`
	ID      any             `json:"id"`
}

// readable reports whether it is a request or belongs to one. An error without an id, which
// servers send for what they could not parse, would end the connection.
func (m message) readable() bool { return m.Version != nil && (m.Method != nil || m.ID != nil) }

// isMessage reports whether a line is one JSON-RPC message or several. Logs can be JSON too.
func isMessage(line []byte) bool {
	if bytes.TrimLeft(line, " \t\r")[0] == '[' {
		var all []message
		return json.Unmarshal(line, &all) == nil && len(all) > 0 &&
			!slices.ContainsFunc(all, func(m message) bool { return !m.readable() })
	}
	var one message
	return json.Unmarshal(line, &one) == nil && one.readable()
}
