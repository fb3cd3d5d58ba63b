package eventlog

import (
	"errors"

	"github.com/chattray/chattray/schemas/runlog"
)

// ErrGap is the error of a Feed whose next event is not there: earlier ones are missing.
var ErrGap = errors.New("events are missing before these")

// Feed appends events that another process has written, as they are stored: a segment,
// or several that are joined, all of the log's attempt. Events that the log has are
// skipped, so the same ones may come again and from several sources. The first event
// after a missing one ends it with ErrGap, one over the limits with ErrFull. The
// terminal event closes the log. Feed returns the last event that it has added, nil for
// none.
func (l *Log) Feed(segments []byte) (last *runlog.Event, err error) {
	d, text := decoder{rest: segments}, ""
	var b bodies
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		p, ok := d.next()
		if !ok {
			return last, d.fault()
		}
		next := l.base + int64(l.n) + 1
		if p.seq < next || l.closed {
			continue
		}
		if p.seq > next {
			return last, ErrGap
		}
		if text == "" {
			text = string(segments) // one copy for all events
		}
		to := len(text) - len(d.rest)
		e, err := b.event(&p, text[to-len(p.body):to])
		if err != nil {
			return last, err
		}
		if err := l.room(&e); err != nil {
			return last, err
		}
		if l.closed = e.Terminal(); l.closed {
			l.packed.keep(&e)
		} else {
			l.packed.add(&e)
		}
		l.put(&e)
		last = &e
	}
}

// Bytes returns the size of the events' bodies.
func (l *Log) Bytes() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bytes
}
