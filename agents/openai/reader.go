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
	lines      lines
	limits     Limits
	hide       *strings.Replacer
	memo       plain.Memo
	held       []byte // the lines of an object that is not whole, if there are any
	whole      []byte // a JSON body that is being collected
	some       bool   // a data line has been seen
	errorEvent bool   // the next data line is an error
	otherEvent bool   // the event has a name that the protocol does not have
	done       bool   // [DONE] has been seen
	err        error  // the error that ends the stream
}

// next returns the next chunk, a JSON object. If it is plain (see plain.Memo), text
// is its text as a JSON string, else nil. Both are valid until the next call.
func (r *reader) next() (object, text []byte, err error) {
	for r.err == nil && object == nil {
		if line, err := r.lines.next(); err == nil {
			object, text = r.read(line)
		} else {
			object = r.end(err)
		}
	}
	if object == nil {
		return nil, nil, r.err
	}
	return object, text, nil
}

// Close ends the call. After [DONE] it first reads the body's end, briefly, so
// that the connection is kept.
func (r *reader) Close() error {
	if r.done && r.lines.ended == nil {
		r.lines.drain()
	}
	return r.lines.body.Close()
}

// holds keeps an object that is not whole, so that the next data line goes on
// with it. False means that the next one cannot.
func (r *reader) holds(object []byte) bool {
	if r.whole != nil || r.lines.cut || len(object) > r.limits.Line {
		return false
	}
	r.held = append(bytes.Clone(object), '\n')
	return true
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
		r.err = protocol("markup instead of an event stream: %.200q", r.hide.Replace(string(line))).without(r.hide)
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
	case r.lines.cut && !r.errorEvent && !json.Valid(payload): // the body was cut off here
	case failed:
		r.err = f.without(r.hide)
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
		f = &fault{message: string(line)}
	}
	r.err = f.without(r.hide)
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
		r.err = f.without(r.hide)
	case r.some || !completion(r.whole):
		r.err = protocol("JSON that is not a completion: %.200q", r.hide.Replace(string(r.whole))).without(r.hide)
	default:
		r.done, r.err = true, io.EOF
		return r.whole
	}
	return nil
}

// end handles the end of the body, which may complete a chunk.
func (r *reader) end(err error) (object []byte) {
	if r.whole != nil && !errors.Is(err, errTooLarge) {
		return r.completion()
	}
	r.err = err
	if !r.some && errors.Is(err, io.EOF) {
		r.err = protocol("an empty body")
	}
	return nil
}
