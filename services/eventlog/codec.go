package eventlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"

	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/runlog"
)

// ErrSegment is in the tree of every error about what is stored.
var ErrSegment = errors.New("the stored log cannot be read")

// segmentStart is where a kind would be at the start of a segment. What is
// encoded can so be joined.
const segmentStart = 0

// segmentSize is about how many bytes a segment of a finished log has: what a
// reader has to have in memory at a time. A large event has one to itself.
const segmentSize = 64 << 10

// appendEvents appends events to dst as a segment: segmentStart, then for
// each event its kind, as varints the distance in number and time to the event
// before it, the levels, the length of text and data, then both. Frames are not
// stored.
func appendEvents(dst []byte, events []runlog.Event) []byte {
	var seq, at int64
	dst = append(dst, segmentStart)
	for i := range events {
		dst = appendEvent(dst, &events[i], seq, at)
		seq, at = events[i].Seq, events[i].Time
	}
	return dst
}

// packedSize is about how much events take as a segment.
func packedSize(events []runlog.Event) (n int) {
	const head = 12
	for i := range events {
		n += head + len(events[i].Text) + len(events[i].Data)
	}
	return n + head
}

// appendEvent encodes an event after one of that number and time.
func appendEvent(dst []byte, e *runlog.Event, seq, at int64) []byte {
	dst = append(dst, byte(e.Kind))
	dst = binary.AppendVarint(dst, e.Seq-seq)
	dst = binary.AppendVarint(dst, e.Time-at)
	dst = binary.AppendUvarint(dst, uint64(e.Thread))
	dst = binary.AppendUvarint(dst, uint64(e.Block))
	dst = binary.AppendUvarint(dst, uint64(e.Message))
	dst = binary.AppendUvarint(dst, uint64(len(e.Text)))
	dst = binary.AppendUvarint(dst, uint64(len(e.Data)))
	dst = append(dst, e.Text...)
	return append(dst, e.Data...)
}

// segmentsOf encodes events and the one after them as segments of about
// segmentSize, one at a time: the data of one is valid until the next.
func segmentsOf(events []runlog.Event, last *runlog.Event) iter.Seq[record.Segment] {
	return func(yield func(record.Segment) bool) {
		size := min(packedSize(events)+packedSize([]runlog.Event{*last}), segmentSize+segmentSize/4)
		s := record.Segment{Data: append(make([]byte, 0, size), segmentStart)}
		var at int64
		end := func() bool {
			more := len(s.Data) == 1 || yield(s)
			s, at = record.Segment{Data: s.Data[:1]}, 0
			return more
		}
		add := func(e *runlog.Event) bool {
			if (e.Large() || len(s.Data) >= segmentSize) && !end() {
				return false
			}
			if s.First == 0 {
				s.First = e.Seq
			}
			s.Data = appendEvent(s.Data, e, s.Last, at)
			s.Last, at = e.Seq, e.Time
			return !e.Large() || end()
		}
		for i := range events {
			if !add(&events[i]) {
				return
			}
		}
		_ = add(last) && end()
	}
}

// Decode returns the events of stored segments that are joined one after the
// other. The data of the events shares data's memory. An error has ErrSegment in
// its tree.
func Decode(data []byte) ([]runlog.Event, error) {
	d := eventDecoder{segmentDecoder: segmentDecoder{rest: data}}
	var events []runlog.Event
	for {
		p, ok := d.next()
		if !ok {
			return events, d.fault()
		}
		events = append(events, p.event(string(p.text)))
	}
}

// eventDecoder reads the events of segments, one after the other.
type eventDecoder struct {
	segmentDecoder
	seq, at int64
	n       int
	invalid runlog.Kind
}

// packedEvent is an event whose text and data are still those of its segment.
type packedEvent struct {
	runlog.Event
	text, data []byte
}

func (p *packedEvent) size() int { return len(p.text) + len(p.data) }

// event is the event with that text.
func (p *packedEvent) event(text string) runlog.Event {
	p.Text = text
	if len(p.data) > 0 {
		p.Data = p.data
	}
	return p.Event
}

// next reads an event; false is the end, or what fault says.
func (d *eventDecoder) next() (p packedEvent, ok bool) {
	for len(d.rest) > 0 && d.rest[0] == segmentStart {
		d.rest = d.rest[1:]
		d.seq, d.at = 0, 0
	}
	if len(d.rest) == 0 || d.bad {
		return p, false
	}
	p.Kind = runlog.Kind(d.rest[0])
	d.rest = d.rest[1:]
	d.seq += d.varint()
	d.at += d.varint()
	p.Seq, p.Time, p.Thread, p.Block, p.Message = d.seq, d.at, d.level(), d.level(), d.level()
	text, data := d.uvarint(), d.uvarint()
	p.text, p.data = d.take(text), d.take(data)
	if !p.Kind.Valid() {
		d.invalid, d.rest = p.Kind, nil
		return p, false
	}
	d.n++
	return p, !d.bad
}

// fault says why there is no next event; nil is the end.
func (d *eventDecoder) fault() error {
	switch {
	case d.invalid != 0:
		return fmt.Errorf("kind %d: %w", d.invalid, ErrSegment)
	case d.bad:
		return fmt.Errorf("event %d is cut off: %w", d.n, ErrSegment)
	default:
		return nil
	}
}

// segmentDecoder reads varints and bytes; bad is set where the data ends early.
type segmentDecoder struct {
	rest []byte
	bad  bool
}

func (d *segmentDecoder) varint() int64 {
	v, n := binary.Varint(d.rest)
	d.skip(n)
	return v
}

func (d *segmentDecoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.rest)
	d.skip(n)
	return v
}

func (d *segmentDecoder) level() uint32 {
	v := d.uvarint()
	if v > 1<<32-1 {
		d.bad = true
	}
	return uint32(v) //nolint:gosec // checked above
}

func (d *segmentDecoder) skip(n int) {
	if n <= 0 {
		d.bad, d.rest = true, nil
		return
	}
	d.rest = d.rest[n:]
}

func (d *segmentDecoder) take(n uint64) []byte {
	if d.bad || n > uint64(len(d.rest)) {
		d.bad, d.rest = true, nil
		return nil
	}
	out := d.rest[:n:n]
	d.rest = d.rest[n:]
	return out
}
