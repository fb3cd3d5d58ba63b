// Package exchange carries the events of runs between the processes that serve one
// database, and hints at what to look for in it. A message may be lost, repeated or late;
// it says "look", or has events with their numbers.
package exchange

import (
	"encoding/binary"
	"errors"
)

// version is the first byte of a message.
const version = 1

// maxItems bounds the items of a message.
const maxItems = 4096

// Kind is what a message says.
type Kind byte

// The kinds of messages. They are sent, so they never change.
const (
	// Ask asks the owner of runs for their events after a number, and Leave says that
	// nobody reads them here any more.
	Ask Kind = iota + 1
	Leave
	// Events has segments of runs; NotMine names runs that are not the sender's.
	Events
	NotMine
	// Look says that something is stored for a run.
	Look
	// Free names chats in which a run has ended, Started those in which one was accepted.
	// Loose says that runs were let go, and Moved names runs that are the sender's now.
	Free
	Started
	Loose
	Moved
)

// String returns the name of the kind in metrics.
func (k Kind) String() string {
	return [...]string{"", "ask", "leave", "events", "not_mine", "look", "free", "started", "loose", "moved"}[k]
}

// The flags of items.
const (
	// Gap asks for the events after the number again; Stored is an event that has to be
	// read from the store.
	Gap = 1 << iota
	Stored
)

// Message is one message. From is the id of the sending process. Total is, in Events, how
// many bytes of events it has sent to the receiver, and in Ask, the last such number that
// it has received.
type Message struct {
	Kind  Kind
	From  string
	Total int64
	Items []Item
}

// Item is about one run, or about a chat in Free and Started; what a kind does not need
// is empty.
type Item struct {
	ID      string
	Attempt int
	// After is, in Ask, the number of the last event that the sender has, and in Events,
	// that of the last event which was sent.
	After int64
	Flags byte
	// Data are segments of events; in Started it is the chat's owner.
	Data []byte
}

// errMessage is the error of a message that is cut off or of another version or kind.
var errMessage = errors.New("exchange: the message cannot be read")

// Append appends the encoded message to dst.
func (m *Message) Append(dst []byte) []byte {
	dst = append(dst, version, byte(m.Kind))
	dst = appendBytes(dst, m.From)
	dst = binary.AppendUvarint(dst, uint64(max(m.Total, 0)))
	for i := range m.Items {
		dst = m.Items[i].append(dst)
	}
	return dst
}

func (it *Item) append(dst []byte) []byte {
	dst = appendBytes(dst, it.ID)
	dst = binary.AppendUvarint(dst, uint64(max(it.Attempt, 0)))
	dst = binary.AppendUvarint(dst, uint64(max(it.After, 0)))
	dst = append(dst, it.Flags)
	return appendBytes(dst, it.Data)
}

func appendBytes[T ~string | ~[]byte](dst []byte, b T) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(b))), b...)
}

// Decode reads a message. Its data shares the memory of raw. Every part of the result is
// at most as long as raw.
func Decode(raw []byte) (Message, error) {
	if len(raw) < 2 || raw[0] != version || raw[1] == 0 || Kind(raw[1]) > Moved {
		return Message{}, errMessage
	}
	d := decoder{rest: raw[2:]}
	m := Message{Kind: Kind(raw[1]), From: string(d.bytes()), Total: int64(d.number(1 << 62))} //nolint:gosec // number bounds it
	for len(d.rest) > 0 && !d.bad {
		it := Item{ID: string(d.bytes()), Attempt: int(d.number(1 << 31)), After: int64(d.number(1 << 62))} //nolint:gosec // number bounds them
		it.Flags = d.flags()
		it.Data = d.bytes()
		m.Items = append(m.Items, it)
	}
	if d.bad {
		return Message{}, errMessage
	}
	return m, nil
}

// decoder reads the parts of a message; bad is set if it ends early.
type decoder struct {
	rest []byte
	bad  bool
}

func (d *decoder) fail() { d.bad, d.rest = true, nil }

// number reads a number below the limit.
func (d *decoder) number(limit uint64) uint64 {
	v, n := binary.Uvarint(d.rest)
	if n <= 0 || v >= limit {
		d.fail()
		return 0
	}
	d.rest = d.rest[n:]
	return v
}

func (d *decoder) flags() byte {
	if len(d.rest) == 0 {
		d.fail()
		return 0
	}
	f := d.rest[0]
	d.rest = d.rest[1:]
	return f
}

func (d *decoder) bytes() []byte {
	n := d.number(1 << 31)
	if n > uint64(len(d.rest)) {
		d.fail()
		return nil
	}
	b := d.rest[:n:n]
	d.rest = d.rest[n:]
	return b
}
