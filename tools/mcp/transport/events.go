package transport

import (
	"bytes"
	"errors"
	"io"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chattray/chattray/tools/outbound"
)

// events is an event stream of a remote server, of which the library reads only whole
// events. What the library takes for an error is left out: a line that is no field, and an
// event of the server's own stream that is not a message, such as a greeting.
// Progress is passed to take before the library reads the event. Only one goroutine may
// read. The limit of the response bounds an event.
type events struct {
	body io.ReadCloser
	take func(*sdk.ProgressNotificationParams)
	link *Link
	// call is the call that the stream belongs to, or nil.
	call *activeCall
	bad  *BadAnswer

	line  []byte // the line that is being read, with its end
	cr    bool   // the last byte was a carriage return
	event []byte // the event that is being read
	data  []byte // its data
	other bool   // it is not a message
	id    bool   // it has an id
	// resumable is true once there was an event with an id.
	resumable bool
	ready     bytes.Buffer // what the library may read
	err       error
}

// Read implements io.Reader.
func (b *events) Read(p []byte) (int, error) {
	for b.ready.Len() == 0 {
		if b.err != nil {
			return 0, b.err
		}
		n, err := b.body.Read(p)
		b.add(p[:n])
		if err != nil && b.err == nil {
			b.err = b.ended(err)
		}
	}
	return b.ready.Read(p)
}

// Close implements io.Closer.
func (b *events) Close() error { return b.body.Close() }

// add takes what has been read.
func (b *events) add(p []byte) {
	for len(p) > 0 && b.err == nil {
		if b.cr && p[0] == '\n' { // the second half of a line's end
			if len(b.event) == 0 {
				b.ready.WriteByte('\n')
			} else {
				b.event = append(b.event, '\n')
			}
			b.cr, p = false, p[1:]
			continue
		}
		n := bytes.IndexAny(p, "\r\n") + 1
		if n == 0 {
			b.line, b.cr = append(b.line, p...), false
			return
		}
		b.line, b.cr = append(b.line, p[:n]...), p[n-1] == '\r'
		p = p[n:]
		b.endLine()
		b.line = b.line[:0]
	}
}

// endLine takes a whole line: a field, or the event's end.
func (b *events) endLine() {
	text := b.line[:len(b.line)-1]
	if len(text) == 0 {
		b.endEvent()
		b.event, b.data, b.other, b.id = b.event[:0], b.data[:0], false, false
		return
	}
	field, value, ok := bytes.Cut(text, []byte(":"))
	if !ok {
		return
	}
	b.event = append(b.event, b.line...)
	value = bytes.TrimSpace(value)
	switch string(field) {
	case "data":
		b.data = append(append(b.data, value...), '\n')
	case "event":
		b.other = len(value) > 0 && string(value) != "message"
	case "id":
		b.id = len(value) > 0
	}
}

// endEvent passes the event on, or ends the call if it is no message.
func (b *events) endEvent() {
	// An event with an id and empty data begins a stream that can be resumed.
	if data := bytes.TrimSuffix(b.data, []byte("\n")); len(data) > 0 && !b.other {
		notice(data, b.take)
		m, err := jsonrpc.DecodeMessage(data)
		if err != nil {
			if b.call != nil && !b.call.isAnswered.Load() {
				b.err = b.fail(errNoMessage)
			}
			return
		}
		if a, ok := m.(*jsonrpc.Response); ok {
			b.link.answered(a)
		}
	}
	b.resumable = b.resumable || b.id
	b.ready.Write(b.event)
	b.ready.Write(b.line)
}

// ended returns the error of a stream that has ended with err. The library opens the stream
// of a call again if there was an event with an id.
func (b *events) ended(err error) error {
	if b.call == nil || b.call.isAnswered.Load() || b.resumable && !errors.Is(err, outbound.ErrTooLarge) {
		return err
	}
	if errors.Is(err, io.EOF) {
		err = errCutOff
	}
	return b.fail(err)
}

func (b *events) fail(fault error) error {
	return b.call.fail(&BadAnswer{b.bad.Status, b.bad.kind, fault})
}
