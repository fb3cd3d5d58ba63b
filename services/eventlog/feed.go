package eventlog

import (
	"errors"

	"github.com/chattray/chattray/schemas/runlog"
)

// ErrGap is the error of a Feed whose next event is not there: earlier ones are missing.
var ErrGap = errors.New("events are missing before these")

// Fed is the last event that a Feed has added; its Seq is 0 if there is none.
type Fed struct {
	Seq, Time int64
	Terminal  bool
}

// Feed appends events that another process has written, as they are stored: a segment,
// or several that are joined, all of the log's attempt. Events that the log has are
// skipped, so the same ones may come again and from several sources. The first event
// after a missing one ends it with ErrGap, one over the limits with ErrFull. The
// terminal event closes the log.
func (l *Log) Feed(segments []byte) (last Fed, err error) {
	d := decoder{rest: segments}
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		p, ok := d.next()
		if !ok {
			return last, d.fault()
		}
		next := l.base + int64(l.n) + 1
		if p.seq < next || l.phase >= logGiven {
			continue
		}
		if p.seq > next {
			return last, ErrGap
		}
		if last.Terminal, err = l.feed(&p); err != nil {
			return last, err
		}
		last.Seq, last.Time = p.seq, p.time
		if last.Terminal {
			l.phase = logEnded
		}
		l.put()
	}
}

// feed adds an event and reports whether it is the terminal one. Most are only a text,
// whose bytes are copied.
func (l *Log) feed(p *packedEvent) (terminal bool, err error) {
	if p.onlyText() && len(p.body) < runlog.LargeEvent {
		if err = l.fits(len(p.body), false); err == nil {
			l.packed.copy(p)
		}
		return false, err
	}
	e, err := new(bodies).own(p)
	if err == nil {
		err = l.room(&e)
	}
	switch {
	case err != nil:
		return false, err
	case e.Terminal():
		l.packed.keep(&e)
		return true, nil
	default:
		l.packed.add(&e)
		return false, nil
	}
}

// Bytes returns the size of the events' bodies.
func (l *Log) Bytes() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bytes
}
