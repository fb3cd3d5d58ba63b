package eventlog

import (
	"strings"
	"sync"

	"github.com/chattray/chattray/schemas/runlog"
)

const (
	// batchEvents bounds the events that a Tail returns at a time.
	batchEvents = 128
	// textRoom is how much memory for the texts of events is allocated at a time, in bytes.
	textRoom = 512
)

type batch [batchEvents]runlog.Event

var batches = sync.Pool{New: func() any { return new(batch) }}

// Tail reads the events of a log in order, and then the new ones. A log holds events only
// as they are stored: to decode them for each reader costs less than to hold them for all.
// It is used by one goroutine.
type Tail struct {
	log    *Log
	after  int64  // events up to here are skipped
	at     place  // after the last event that was read
	batch  *batch // nil while it waits
	used   int    // events in batch
	bodies bodies
	text   strings.Builder // texts of events; what was taken from it does not change
}

// Tail returns a reader of the events after the number.
func (l *Log) Tail(after int64) *Tail {
	l.mu.Lock()
	defer l.mu.Unlock()
	return &Tail{log: l, after: after, at: place{part: l.packed.with(after + 1)}}
}

// Next returns the next events but not always all, and whether more may come; none are left
// when it returns none. The slice is valid until the next call, what the events refer to
// does not change.
func (t *Tail) Next() (events []runlog.Event, open bool) {
	for events = nil; len(events) == 0; {
		var p part
		if p, open = t.log.next(&t.at); p.last <= t.at.seq {
			t.Rest()
			return nil, open
		}
		if t.batch == nil {
			t.batch = batches.Get().(*batch)
		}
		if p.whole == nil {
			events = t.decode(t.batch[:0], p.data)
			continue
		}
		t.at.seq = p.last
		if p.last > t.after {
			events = append(t.batch[:0], *p.whole)
		}
	}
	t.used = max(t.used, len(events))
	return events, open
}

// Rest gives back the memory of the last events: a reader that waits has none.
func (t *Tail) Rest() {
	if t.batch != nil {
		clear(t.batch[:t.used])
		batches.Put(t.batch)
		t.batch, t.used = nil, 0
	}
}

// next moves the place to the part with the next event, and returns that part.
func (l *Log) next(at *place) (p part, open bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.packed.move(at), l.phase < logGiven
}

// decode appends the next events of a part, at most about batchSize. What this process has
// encoded has no fault.
func (t *Tail) decode(events []runlog.Event, data []byte) []runlog.Event {
	d := decoder{rest: data[t.at.at:], version: version2, seq: t.at.seq, at: t.at.time}
	for size := 0; size < batchSize && len(events) < batchEvents; {
		p, ok := d.next()
		if !ok {
			break
		}
		t.at = place{seq: p.seq, part: t.at.part, at: len(data) - len(d.rest), time: p.time}
		if p.seq <= t.after {
			continue
		}
		size += len(p.body)
		e, _ := t.bodies.event(&p, t.keep(p.body))
		events = append(events, e)
	}
	return events
}

// keep returns the bytes as a string.
func (t *Tail) keep(b []byte) string {
	if len(b) > textRoom/2 {
		return string(b)
	}
	if t.text.Cap()-t.text.Len() < len(b) {
		t.text.Reset()
		t.text.Grow(textRoom)
	}
	start := t.text.Len()
	t.text.Write(b)
	return t.text.String()[start:]
}
