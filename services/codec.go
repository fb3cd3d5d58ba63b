package services

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/chattray/chattray/schemas/runlog"
)

// errSegment is in the tree of every error of decodeEvents.
var errSegment = errors.New("the stored log cannot be read")

// segmentStart is where a kind would be at the start of a segment. What is
// encoded can so be joined.
const segmentStart = 0

// appendEvents encodes events behind dst as a segment: segmentStart, then for
// each event its kind, as varints the distance in number and time to the event
// before it, the levels, the length of text and data, then both. Frames are not
// stored.
func appendEvents(dst []byte, events []runlog.Event) []byte {
	var seq, at int64
	dst = append(dst, segmentStart)
	for i := range events {
		e := &events[i]
		dst = append(dst, byte(e.Kind))
		dst = binary.AppendVarint(dst, e.Seq-seq)
		dst = binary.AppendVarint(dst, e.Time-at)
		dst = binary.AppendUvarint(dst, uint64(e.Thread))
		dst = binary.AppendUvarint(dst, uint64(e.Block))
		dst = binary.AppendUvarint(dst, uint64(e.Message))
		dst = binary.AppendUvarint(dst, uint64(len(e.Text)))
		dst = binary.AppendUvarint(dst, uint64(len(e.Data)))
		dst = append(dst, e.Text...)
		dst = append(dst, e.Data...)
		seq, at = e.Seq, e.Time
	}
	return dst
}

// decodeEvents is the inverse of appendEvents, for segments one behind the
// other. The events share data's memory.
func decodeEvents(data []byte) ([]runlog.Event, error) {
	d := segmentDecoder{rest: data}
	var events []runlog.Event
	var seq, at int64
	for len(d.rest) > 0 && !d.bad {
		kind := runlog.Kind(d.rest[0])
		d.rest = d.rest[1:]
		if kind == segmentStart {
			seq, at = 0, 0
			continue
		}
		seq += d.varint()
		at += d.varint()
		e := runlog.Event{Kind: kind, Seq: seq, Time: at, Thread: d.level(), Block: d.level(), Message: d.level()}
		text, raw := d.uvarint(), d.uvarint()
		e.Text = string(d.take(text))
		if raw > 0 {
			e.Data = json.RawMessage(d.take(raw))
		}
		if !kind.Valid() {
			return nil, fmt.Errorf("kind %d: %w", kind, errSegment)
		}
		events = append(events, e)
	}
	if d.bad {
		return nil, fmt.Errorf("event %d is cut off: %w", len(events), errSegment)
	}
	return events, nil
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
