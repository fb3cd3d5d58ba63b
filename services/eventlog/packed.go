package eventlog

import (
	"encoding/binary"
	"iter"
	"slices"
	"sort"
	"sync"

	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/runlog"
)

const (
	// firstPart is the capacity with which the first part of a log begins, in bytes.
	firstPart = 256
	// packedHead is more than an event takes beside its body.
	packedHead = 32
)

// packedLog holds the events of a log as they are stored, each encoded once.
type packedLog struct {
	parts []part
	end   place // after the last event
}

// part is a segment of events of a log, or one event that is kept as it is because it is
// large. What has been added to a part does not change.
type part struct {
	first, last int64
	data        []byte
	whole       *runlog.Event
}

// place is a place in a packed log: after the event of that number, in the part of that
// index. At is how many bytes of the part come before it, and time that of the event.
type place struct {
	seq      int64
	part, at int
	time     int64
}

// add adds an event.
func (l *packedLog) add(e *runlog.Event) {
	if e.Large() {
		l.keep(e)
		return
	}
	p := l.open(e.Seq)
	p.data = appendEvent(double(p.data, packedSize(e)), e, l.end.seq, l.end.time)
	l.added(p, e.Seq, e.Time)
}

// copy adds an event that is not large and only a text, as it is stored.
func (l *packedLog) copy(e *packedEvent) {
	p := l.open(e.seq)
	p.data = appendHead(double(p.data, len(e.body)+packedHead), e.tag, e.seq-l.end.seq, e.time-l.end.time, e.at)
	p.data = append(binary.AppendUvarint(p.data, uint64(len(e.body))), e.body...)
	l.added(p, e.seq, e.time)
}

// open returns the part to which the event of that number is added.
func (l *packedLog) open(seq int64) *part {
	if l.end.part == len(l.parts) {
		room := firstPart
		if len(l.parts) > 0 {
			room = segmentSize / 4
		}
		l.parts = append(l.parts, part{first: seq, data: append(make([]byte, 0, room), version2)})
		l.end = place{part: l.end.part}
	}
	return &l.parts[l.end.part]
}

// added notes that the part has an event more.
func (l *packedLog) added(p *part, seq, time int64) {
	p.last = seq
	l.end.seq, l.end.time, l.end.at = seq, time, len(p.data)
	if len(p.data) >= segmentSize {
		l.close(seq)
	}
}

// double makes room for n more bytes; a long slice would otherwise grow by quarters, and
// be copied four times as often.
func double(b []byte, n int) []byte {
	if cap(b)-len(b) >= n {
		return b
	}
	return slices.Grow(b, max(n, min(len(b), segmentSize+packedHead-len(b))))
}

// keep adds an event as it is: a large one, or the last one of a run. Its readers encode
// it once for all of them.
func (l *packedLog) keep(e *runlog.Event) {
	whole := *e
	whole.Shared = new(runlog.Frames)
	l.parts = append(l.parts, part{first: e.Seq, last: e.Seq, whole: &whole})
	l.close(e.Seq)
}

// close ends the last part, with the event of that number at its end.
func (l *packedLog) close(seq int64) { l.end = place{seq: seq, part: len(l.parts)} }

// with returns the index of the part with the event of that number, or of the part to come.
func (l *packedLog) with(seq int64) int {
	return min(l.end.part, sort.Search(len(l.parts), func(i int) bool { return l.parts[i].last >= seq }))
}

// move moves the place to the part with the next event, or to the one to which it will be
// added, and returns that part.
func (l *packedLog) move(at *place) (p part) {
	for at.part < len(l.parts) {
		p = l.parts[at.part]
		if p.last > at.seq || at.part == l.end.part {
			break
		}
		*at = place{seq: at.seq, part: at.part + 1}
	}
	return p
}

// appendTo appends the part as a segment.
func (p *part) appendTo(dst []byte) []byte {
	if p.whole != nil {
		return appendEvent(append(dst, version2), p.whole, 0, 0)
	}
	return append(dst, p.data...)
}

// appendParts returns the events after the place as segments that are joined; parts
// begin with that of the place.
func appendParts(parts []part, from place) []byte {
	size := 0
	for i := range parts {
		size += len(parts[i].data)
		if e := parts[i].whole; e != nil {
			size += packedSize(e)
		}
	}
	dst := make([]byte, 0, size-from.at+packedHead)
	for i := range parts {
		if i == 0 && from.at > 0 {
			dst = appendRest(dst, parts[0].data[from.at:], from)
			continue
		}
		dst = parts[i].appendTo(dst)
	}
	return dst
}

// appendRest appends the rest of a segment after the place as one by itself: the number
// and the time of its first event are given whole.
func appendRest(dst, rest []byte, from place) []byte {
	if len(rest) == 0 {
		return dst
	}
	dst = append(dst, version2, rest[0])
	for _, before := range []int64{from.seq, from.time} {
		distance, n := binary.Varint(rest[1:])
		dst, rest = binary.AppendVarint(dst, before+distance), rest[n:]
	}
	return append(dst, rest[1:]...)
}

// lastSegments has buffers for the last segments of logs, which take segmentSize and an
// event that is not large at most.
var lastSegments = sync.Pool{New: func() any { return new([]byte) }}

// sealed returns the parts of a log that ends at the place, and the event after it, as
// segments of about segmentSize, one at a time: the data of one is valid until the next.
func sealed(parts []part, end place, last *runlog.Event) iter.Seq[record.Segment] {
	return func(yield func(record.Segment) bool) {
		for i := range parts {
			p := &parts[i]
			s := record.Segment{First: p.first, Last: p.last, Data: p.data}
			switch {
			case p.whole != nil:
				s.Data = p.appendTo(nil)
			case i == end.part && !last.Large(): // there is room in it
				buf := lastSegments.Get().(*[]byte) //nolint:forcetypeassert // it makes only those
				*buf = appendEvent(append((*buf)[:0], p.data...), last, end.seq, end.time)
				s.Last, s.Data = last.Seq, *buf
				yield(s)
				lastSegments.Put(buf)
				return
			}
			if !yield(s) {
				return
			}
		}
		alone := part{whole: last}
		yield(record.Segment{First: last.Seq, Last: last.Seq, Data: alone.appendTo(nil)})
	}
}

// packedSize is about how many bytes an event takes in a segment.
func packedSize(e *runlog.Event) int {
	return e.Size() + e.Size()/16 + packedHead
}
