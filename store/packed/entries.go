package packed

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/chattray/chattray/schemas/record"
)

// errJournal is wrapped by every error of Entries.
var errJournal = errors.New("a row of the journal cannot be read")

// Entry is what one write of a run adds to the journal.
type Entry struct {
	Run        string
	Attempt    int
	Segment    *record.Segment
	Checkpoint *record.Checkpoint
}

// The parts that an entry may have, as bits.
const (
	entrySegment = 1 << iota
	entryCheckpoint
)

// maxHead is more than an entry takes beside its run's id and its data.
const maxHead = 8 * binary.MaxVarintLen64

// MaxSize is at least the length of the encoded entry.
func (e Entry) MaxSize() int {
	size := maxHead + len(e.Run)
	if e.Segment != nil {
		size += len(e.Segment.Data)
	}
	if e.Checkpoint != nil {
		size += len(e.Checkpoint.Data)
	}
	return size
}

// AppendEntry appends an encoded entry to dst.
func AppendEntry(dst []byte, e Entry) []byte {
	parts := byte(0)
	if e.Segment != nil {
		parts |= entrySegment
	}
	if e.Checkpoint != nil {
		parts |= entryCheckpoint
	}
	dst = append(dst, parts)
	dst = appendBytes(dst, e.Run)
	dst = binary.AppendVarint(dst, int64(e.Attempt))
	if s := e.Segment; s != nil {
		dst = binary.AppendVarint(dst, s.First)
		dst = binary.AppendVarint(dst, s.Last)
		dst = appendBytes(dst, s.Data)
	}
	if c := e.Checkpoint; c != nil {
		dst = binary.AppendVarint(dst, int64(c.N))
		dst = appendBytes(dst, c.Data)
	}
	return dst
}

func appendBytes[T ~string | ~[]byte](dst []byte, b T) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(b))), b...)
}

// Entries decodes the entries of a row, which share data's memory. If the row is cut off, it
// returns those before the cut and an error.
func Entries(data []byte) ([]Entry, error) {
	d := entryDecoder{rest: data}
	var entries []Entry
	for len(d.rest) > 0 {
		parts := d.rest[0]
		d.rest = d.rest[1:]
		e := Entry{Run: string(d.bytes()), Attempt: int(d.varint())}
		if parts&entrySegment != 0 {
			e.Segment = &record.Segment{First: d.varint(), Last: d.varint(), Data: d.bytes()}
		}
		if parts&entryCheckpoint != 0 {
			e.Checkpoint = &record.Checkpoint{N: int(d.varint()), Data: json.RawMessage(d.bytes())}
		}
		if d.bad {
			return entries, fmt.Errorf("entry %d is cut off: %w", len(entries), errJournal)
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// entryDecoder reads varints and bytes; bad is set if the data ends early.
type entryDecoder struct {
	rest []byte
	bad  bool
}

func (d *entryDecoder) varint() int64 {
	v, n := binary.Varint(d.rest)
	if n <= 0 {
		d.bad, d.rest = true, nil
		return 0
	}
	d.rest = d.rest[n:]
	return v
}

func (d *entryDecoder) bytes() []byte {
	size, n := binary.Uvarint(d.rest)
	d.rest = d.rest[max(n, 0):]
	if n <= 0 || size > uint64(len(d.rest)) {
		d.bad, d.rest = true, nil
		return nil
	}
	b := d.rest[:size:size]
	d.rest = d.rest[size:]
	return b
}
