package eventlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/chattray/chattray/schemas/runlog"
)

// errSegment is in the tree of every error about what is stored.
var errSegment = errors.New("the stored log cannot be read")

// The first byte of a segment is its version. No event begins with such a byte,
// so segments can be joined.
const (
	version1 = 0
	version2 = 255
)

// segmentSize is the approximate size of a segment of a finished log, in bytes;
// a reader holds one segment in memory. A large event has a segment of its own.
const segmentSize = 64 << 10

// appendEvent encodes an event after one of that number and time: the tag of its body,
// as varints the distance in number and time to the event before it, the level and the
// length of the body, then the body (see fields). Frames are not stored.
func appendEvent(dst []byte, e *runlog.Event, seq, at int64) []byte {
	if e.Large() {
		dst = slices.Grow(dst, e.Size()+e.Size()/16)
	}
	tag, text := textOf(e.Body)
	var stored *form
	if tag == 0 {
		stored = formByType[reflect.TypeOf(e.Body)]
		tag = stored.tag
	}
	dst = appendHead(dst, tag, e.Seq-seq, e.Time-at, e.At)
	if stored == nil {
		return append(binary.AppendUvarint(dst, uint64(len(text))), text...)
	}
	dst = append(dst, 0) // the length of most bodies
	begin := len(dst)
	f := fields{dst: dst}
	stored.fields(&f, e.Body)
	var length [binary.MaxVarintLen64]byte
	n := binary.PutUvarint(length[:], uint64(len(f.dst[begin:])))
	f.dst[begin-1] = length[0]
	return slices.Insert(f.dst, begin, length[1:n]...)
}

// appendHead appends what comes before the length of a body.
func appendHead(dst []byte, tag byte, seq, time int64, at runlog.Level) []byte {
	dst = append(dst, tag)
	dst = binary.AppendVarint(dst, seq)
	dst = binary.AppendVarint(dst, time)
	dst = binary.AppendUvarint(dst, uint64(at.Thread))
	dst = binary.AppendUvarint(dst, uint64(at.Group))
	return binary.AppendUvarint(dst, uint64(at.Message))
}

// Decode returns the events of stored segments that are joined one after the
// other. An error has errSegment in its tree. A body of a kind that only a newer release
// knows is runlog.Unknown.
func Decode(data []byte) ([]runlog.Event, error) {
	d, text := decoder{rest: data}, string(data) // one copy for all events
	var b bodies
	var events []runlog.Event
	for {
		p, ok := d.next()
		if !ok {
			return events, d.fault()
		}
		to := len(text) - len(d.rest)
		e, err := b.event(&p, text[to-len(p.body):to])
		if err != nil {
			return events, err
		}
		events = append(events, e)
	}
}

// decoder reads the events of joined segments.
type decoder struct {
	rest    []byte
	bad     bool // the data ends early
	version byte
	seq, at int64
	n       int
	invalid byte // an unknown tag of version 1, which has no more
}

// packedEvent is an event whose body is not decoded yet.
type packedEvent struct {
	seq, time int64
	at        runlog.Level
	version   byte
	tag       byte
	text      int // in version 1, the number of text bytes in body; JSON follows
	body      []byte
}

// next reads an event. It reports false at the end, and after a fault.
func (d *decoder) next() (p packedEvent, ok bool) {
	for len(d.rest) > 0 && (d.rest[0] == version1 || d.rest[0] == version2) {
		d.version = d.rest[0]
		d.rest = d.rest[1:]
		d.seq, d.at = 0, 0
	}
	if len(d.rest) == 0 || d.bad {
		return p, false
	}
	p.version, p.tag = d.version, d.rest[0]
	d.rest = d.rest[1:]
	d.seq += d.varint()
	d.at += d.varint()
	p.seq, p.time = d.seq, d.at
	p.at = runlog.Level{Thread: d.level(), Group: d.level(), Message: d.level()}
	size := d.uvarint()
	if p.version == version1 {
		data := d.uvarint()
		if size > uint64(len(d.rest)) || data > uint64(len(d.rest)) {
			d.bad = true
		}
		p.text = int(size) //nolint:gosec // checked above
		size += data
	}
	p.body = d.take(size)
	if int(p.tag) >= len(bodyOf1) && p.version == version1 {
		d.invalid, d.rest = p.tag, nil
		return p, false
	}
	d.n++
	return p, !d.bad
}

// fault returns why next reported false; nil means the end.
func (d *decoder) fault() error {
	switch {
	case d.invalid != 0:
		return fmt.Errorf("kind %d: %w", d.invalid, errSegment)
	case d.bad:
		return fmt.Errorf("event %d is cut off: %w", d.n, errSegment)
	default:
		return nil
	}
}

func (d *decoder) varint() int64 {
	v, n := binary.Varint(d.rest)
	d.skip(n)
	return v
}

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.rest)
	d.skip(n)
	return v
}

func (d *decoder) level() uint32 {
	v := d.uvarint()
	if v > 1<<32-1 {
		d.bad = true
	}
	return uint32(v) //nolint:gosec // checked above
}

func (d *decoder) skip(n int) {
	if n <= 0 {
		d.bad, d.rest = true, nil
		return
	}
	d.rest = d.rest[n:]
}

func (d *decoder) take(n uint64) []byte {
	if d.bad || n > uint64(len(d.rest)) {
		d.bad, d.rest = true, nil
		return nil
	}
	out := d.rest[:n:n]
	d.rest = d.rest[n:]
	return out
}
