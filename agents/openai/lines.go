package openai

import (
	"bytes"
	"fmt"
	"io"
)

// lines are the lines of a body.
type lines struct {
	body  io.ReadCloser
	watch *watch
	limit int // of a line, in bytes

	buf      []byte // raw bytes; buf[from:to] is not yet read
	from, to int
	scan     int   // buf[from:scan] has no line end
	eol      byte  // what ends a line; 0 until it is known
	cut      bool  // the last line had no line end
	ended    error // the error that ended the body
}

const (
	// startBuffer is the size of a buffer of lines. It grows for a longer line;
	// a buffer larger than keepBuffer is freed after that line.
	startBuffer = 1 << 10
	keepBuffer  = 64 << 10
	// maxEmptyReads is how many reads in a row may return no bytes.
	maxEmptyReads = 100
)

// next returns the next line, which is valid until the next call. The error is why there
// is none: the one that ended the body, or errTooLarge.
func (l *lines) next() ([]byte, error) {
	for empty := 0; ; {
		if line, ok := l.take(); ok {
			return line, nil
		}
		if l.ended != nil {
			return nil, l.ended
		}
		if l.to-l.from == len(l.buf) && len(l.buf) > l.limit {
			return nil, fmt.Errorf("%w: a line of more than %d bytes", errTooLarge, l.limit)
		}
		if l.fill() {
			empty = 0
		} else if empty++; empty > maxEmptyReads {
			l.ended = io.ErrNoProgress
		}
	}
}

// drain reads the end of the body, briefly.
func (l *lines) drain() {
	l.watch.phase(errTail, drainWait)
	for n := 0; l.ended == nil && n < maxEmptyReads; n++ {
		l.from, l.to, l.scan = 0, 0, 0
		l.fill()
	}
}

// lineEnd finds out what ends a line: a newline, also after a carriage return,
// or a carriage return alone. False means that it is not known yet.
func (l *lines) lineEnd() bool {
	i := bytes.IndexAny(l.buf[l.scan:l.to], "\r\n")
	if i < 0 {
		i = l.to - l.scan
	}
	l.scan += i
	rest := l.buf[l.scan:l.to]
	switch {
	case bytes.HasPrefix(rest, []byte("\n")), bytes.HasPrefix(rest, []byte("\r\n")), len(rest) == 0 && l.ended != nil:
		l.eol = '\n'
	case len(rest) > 1, l.ended != nil:
		l.eol = '\r'
	}
	return l.eol != 0
}

// take takes the next line from the buffer. The last one may end without a
// line end.
func (l *lines) take() ([]byte, bool) {
	if l.eol == 0 && !l.lineEnd() {
		return nil, false
	}
	if i := bytes.IndexByte(l.buf[l.scan:l.to], l.eol); i >= 0 {
		line := l.buf[l.from : l.scan+i]
		l.from = l.scan + i + 1
		l.scan = l.from
		return line, true
	}
	l.scan = l.to
	if l.ended != nil && l.from < l.to {
		line := l.buf[l.from:l.to]
		l.from, l.cut = l.to, true
		return line, true
	}
	return nil, false
}

// fill reads more of the body and reports whether there was any.
func (l *lines) fill() bool {
	switch {
	case l.from == l.to:
		l.from, l.to, l.scan = 0, 0, 0
		if l.buf == nil || len(l.buf) > keepBuffer {
			l.buf = make([]byte, startBuffer)
		}
	case l.to == len(l.buf) && l.from > 0:
		l.to = copy(l.buf, l.buf[l.from:l.to])
		l.from, l.scan = 0, l.scan-l.from
	case l.to == len(l.buf):
		l.buf = append(l.buf, make([]byte, len(l.buf))...)
	}
	l.watch.wait()
	defer l.watch.got()
	n, err := l.body.Read(l.buf[l.to:])
	l.to += n
	l.ended = err
	return n > 0 || err != nil
}
