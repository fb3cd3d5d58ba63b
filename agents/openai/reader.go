package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/chattray/chattray/agents/openai/plain"
)

// reader returns the chunks of an event stream, without comments, other fields
// and blank lines. An error of any shape, a line that is too long, or a body
// that is not an event stream ends it with a *fault; [DONE] and the end of the
// body end it with io.EOF. A body that is one JSON completion is one chunk.
//
// The chunks do not depend on how the body's bytes are split over reads.
type reader struct {
	body   io.ReadCloser
	watch  *watch
	limits Limits
	key    string

	buf        []byte // raw bytes; buf[from:to] is not yet read
	from, to   int
	scan       int   // buf[from:scan] has no line end
	ended      error // the error that ended the body
	eol        byte  // what ends a line; 0 until it is known
	memo       plain.Memo
	held       []byte // the lines of an object that is not whole, if there are any
	whole      []byte // a JSON body that is being collected
	some       bool   // a data line has been seen
	errorEvent bool   // the next data line is an error
	otherEvent bool   // the event has a name that the protocol does not have
	cut        bool   // the last line had no line end
	done       bool   // [DONE] has been seen
	err        error  // the error that ends the stream
}

const (
	// startBuffer is the size of a reader's buffer. It grows for a longer line;
	// a buffer larger than keepBuffer is freed after that line.
	startBuffer = 1 << 10
	keepBuffer  = 64 << 10
	// maxEmptyReads is how many reads in a row may return no bytes.
	maxEmptyReads = 100
)

// next returns the next chunk, a JSON object. If it is plain (see plain.Memo), text
// is its text as a JSON string, else nil. Both are valid until the next call.
func (r *reader) next() (object, text []byte, err error) {
	for empty := 0; r.err == nil; {
		if line, ok := r.line(); ok {
			if object, text = r.read(line); object != nil {
				return object, text, nil
			}
			continue
		}
		if r.ended != nil {
			if object = r.end(); object != nil {
				return object, nil, nil
			}
			continue
		}
		if r.fill() {
			empty = 0
		} else if empty++; empty > maxEmptyReads {
			r.ended = io.ErrNoProgress
		}
	}
	return nil, nil, r.err
}

// Close ends the call. After [DONE] it first reads the body's end, briefly, so
// that the connection is kept.
func (r *reader) Close() error {
	if r.done && r.ended == nil {
		r.watch.phase(errTail, drainWait)
		for n := 0; r.ended == nil && n < maxEmptyReads; n++ {
			r.from, r.to, r.scan = 0, 0, 0
			r.fill()
		}
	}
	return r.body.Close()
}

// holds keeps an object that is not whole, so that the next data line goes on
// with it. False means that the next one cannot.
func (r *reader) holds(object []byte) bool {
	if r.whole != nil || r.cut || len(object) > r.limits.Line {
		return false
	}
	r.held = append(bytes.Clone(object), '\n')
	return true
}

// lineEnd finds out what ends a line: a newline, also after a carriage return,
// or a carriage return alone. False means that it is not known yet.
func (r *reader) lineEnd() bool {
	i := bytes.IndexAny(r.buf[r.scan:r.to], "\r\n")
	if i < 0 {
		i = r.to - r.scan
	}
	r.scan += i
	rest := r.buf[r.scan:r.to]
	switch {
	case bytes.HasPrefix(rest, []byte("\n")), bytes.HasPrefix(rest, []byte("\r\n")), len(rest) == 0 && r.ended != nil:
		r.eol = '\n'
	case len(rest) > 1, r.ended != nil:
		r.eol = '\r'
	}
	return r.eol != 0
}

// line takes the next line from the buffer. The last one may end without a
// line end.
func (r *reader) line() ([]byte, bool) {
	if r.eol == 0 && !r.lineEnd() {
		return nil, false
	}
	if i := bytes.IndexByte(r.buf[r.scan:r.to], r.eol); i >= 0 {
		line := r.buf[r.from : r.scan+i]
		r.from = r.scan + i + 1
		r.scan = r.from
		return line, true
	}
	r.scan = r.to
	if r.ended != nil && r.from < r.to {
		line := r.buf[r.from:r.to]
		r.from, r.cut = r.to, true
		return line, true
	}
	return nil, false
}

// fill reads more of the body and reports whether there was any.
func (r *reader) fill() bool {
	switch {
	case r.from == r.to:
		r.from, r.to, r.scan = 0, 0, 0
		if r.buf == nil || len(r.buf) > keepBuffer {
			r.buf = make([]byte, startBuffer)
		}
	case r.to == len(r.buf) && r.from > 0:
		r.to = copy(r.buf, r.buf[r.from:r.to])
		r.from, r.scan = 0, r.scan-r.from
	case r.to == len(r.buf) && len(r.buf) > r.limits.Line:
		r.err = fmt.Errorf("%w: a line of more than %d bytes", errTooLarge, r.limits.Line)
		return true
	case r.to == len(r.buf):
		r.buf = append(r.buf, make([]byte, len(r.buf))...)
	}
	r.watch.wait()
	defer r.watch.got()
	n, err := r.body.Read(r.buf[r.to:])
	r.to += n
	r.ended = err
	return n > 0 || err != nil
}

// read returns the chunk that the line holds, if it holds one.
func (r *reader) read(line []byte) (object, text []byte) {
	if payload, ok := bytes.CutPrefix(line, []byte("data:")); ok && r.whole == nil {
		return r.data(bytes.TrimSpace(payload))
	}
	line = bytes.TrimSpace(line)
	switch {
	case r.whole != nil || bytes.HasPrefix(line, []byte("{")):
		return r.collect(line), nil
	case !r.some && bytes.HasPrefix(line, []byte("\uFEFF")):
		return r.read(line[len("\uFEFF"):])
	case len(line) == 0:
		r.errorEvent, r.otherEvent = false, false
		if r.held != nil {
			r.fail(r.held)
		}
	case bytes.HasPrefix(line, []byte("event:")):
		name := string(bytes.TrimSpace(line[len("event:"):]))
		r.errorEvent, r.otherEvent = name == "error", name != "error" && name != "message"
	case bytes.HasPrefix(line, []byte("error:")):
		r.fail(line[len("error:"):])
	case !r.some && line[0] == '<':
		r.err = protocol("markup instead of an event stream: %.200q", line).without(r.key)
	}
	return nil, nil
}

// data returns the chunk in a data line, or that ends with it.
func (r *reader) data(payload []byte) (object, text []byte) {
	if len(payload) == 0 {
		return nil, nil
	}
	r.some = true
	if r.held != nil {
		payload, r.held = append(r.held, payload...), nil
	}
	if !r.errorEvent {
		if text, ok := r.memo.Match(payload); ok {
			return payload, text
		}
		if string(payload) == "[DONE]" {
			r.done, r.err = true, io.EOF
			return nil, nil
		}
		if text, ok := r.memo.Learn(payload); ok {
			return payload, text
		}
	}
	switch f, failed := errorBody(payload); {
	case r.cut && !r.errorEvent && !json.Valid(payload): // the body was cut off here
	case failed:
		r.err = f.without(r.key)
	case r.errorEvent && payload[0] == '{' && !json.Valid(payload) && r.holds(payload):
	case r.otherEvent && payload[0] != '{': // such as a ping
	case r.errorEvent || payload[0] != '{':
		r.fail(payload)
	default:
		return payload, nil
	}
	return nil, nil
}

// fail ends the stream with the error of an error line.
func (r *reader) fail(line []byte) {
	f, ok := errorBody(line)
	if !ok {
		f = protocol("%s", strings.ToValidUTF8(string(line[:min(len(line), maxErrorText)]), "\uFFFD"))
	}
	r.err = f.without(r.key)
}

// collect takes a line of a JSON body. A body on one line is complete at once.
func (r *reader) collect(line []byte) (object []byte) {
	if len(r.whole)+len(line) > r.limits.Reply {
		r.err = fmt.Errorf("%w: a body of more than %d bytes", errTooLarge, r.limits.Reply)
		return nil
	}
	first := r.whole == nil
	r.whole = append(append(r.whole, line...), '\n')
	if first && json.Valid(line) {
		return r.completion()
	}
	return nil
}

// completion returns the collected body as a chunk, if it is a completion.
func (r *reader) completion() (object []byte) {
	f, failed := errorBody(r.whole)
	switch {
	case failed:
		r.err = f.without(r.key)
	case r.some || !completion(r.whole):
		r.err = protocol("JSON that is not a completion: %.200q", r.whole).without(r.key)
	default:
		r.done, r.err = true, io.EOF
		return r.whole
	}
	return nil
}

// end handles the end of the body, which may complete a chunk.
func (r *reader) end() (object []byte) {
	if r.whole != nil {
		return r.completion()
	}
	r.err = r.ended
	if !r.some && errors.Is(r.ended, io.EOF) {
		r.err = protocol("an empty body")
	}
	return nil
}
