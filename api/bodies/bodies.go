// Package bodies reads and decodes the JSON that clients send. It counts the bytes in
// flight, compares what is sent with the Go type that it should be, more strictly than
// encoding/json does, and checks the values. It knows no routes and no HTTP.
package bodies

import (
	"errors"
	"io"

	"github.com/chattray/chattray/api/limits"
	"github.com/chattray/chattray/schemas"
)

// The buffer of a body starts at firstRead bytes and doubles as bytes arrive.
const firstRead = 4 << 10

// Reader reads bodies. It counts the bytes of those in flight, per user and in total, from
// before a body is read until it is released. It is safe for concurrent use.
type Reader struct {
	perUser, all int64
	held         limits.Bytes
}

// NewReader returns a reader for so many bytes of each user, and of all, at the same time.
func NewReader(perUser, all int64) *Reader {
	return &Reader{perUser: perUser, all: all}
}

var (
	errUserBodies = &schemas.Error{Code: schemas.CodeTooManyRequests, Message: "too many bytes of your requests are under way; wait for some to end", RetryAfter: 1}
	errAllBodies  = &schemas.Error{Code: schemas.CodeTooManyRequests, Message: "too many bytes of requests are under way; try again soon", RetryAfter: 1}
)

// hold counts n more bytes of the user, or returns the limit that refuses them.
func (b *Reader) hold(user string, n int64) error {
	return b.held.Add(user, n, func(own, all int64) error {
		switch {
		case own+n > b.perUser:
			return errUserBodies
		case all+n > b.all:
			return errAllBodies
		}
		return nil
	})
}

func (b *Reader) letGo(user string, n int64) { _ = b.held.Add(user, -n, nil) } // nothing refuses

// Held is a body that was read. It counts until Release. Nil is no body.
type Held struct {
	raw    []byte
	user   string
	counts int64
	in     *Reader
	// WithoutFiles is the largest size of a body without attachments; 0 means
	// no limit.
	WithoutFiles int64
}

// Bytes returns the body; nil after Release.
func (h *Held) Bytes() []byte {
	if h == nil {
		return nil
	}
	return h.raw
}

// over reports whether the body is too large for one without attachments.
func (h *Held) over() bool {
	return h != nil && h.WithoutFiles > 0 && int64(len(h.raw)) > h.WithoutFiles
}

// Release frees the body. It may be called more than once.
func (h *Held) Release() {
	if h == nil {
		return
	}
	h.in.letGo(h.user, h.counts)
	h.raw, h.counts = nil, 0
}

// ErrOverLimit says that a body is longer than it may be.
var ErrOverLimit = errors.New("the body is longer than its limit")

// Read reads a body of at most limit bytes; a longer one is ErrOverLimit.
// Length is the announced length, -1 for none. Memory is counted before it is
// allocated, and is allocated only as bytes arrive: a client that announces
// much and sends nothing holds little.
func (b *Reader) Read(user string, r io.Reader, length, limit int64) (_ *Held, err error) {
	if length >= 0 {
		limit = min(limit, length)
	}
	h := &Held{user: user, in: b}
	defer func() {
		if err != nil {
			h.Release()
		}
	}()
	for {
		if len(h.raw) == cap(h.raw) {
			if int64(len(h.raw)) >= limit {
				return h, atEnd(r)
			}
			if err := h.grow(min(max(2*int64(cap(h.raw)), firstRead), limit)); err != nil {
				return nil, err
			}
		}
		n, err := r.Read(h.raw[len(h.raw):cap(h.raw)])
		h.raw = h.raw[:len(h.raw)+n]
		if errors.Is(err, io.EOF) {
			return h, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// grow counts and allocates a buffer of that size, and copies the bytes into it.
func (h *Held) grow(size int64) error {
	more := size - h.counts
	if err := h.in.hold(h.user, more); err != nil {
		return err
	}
	h.counts = size
	raw := make([]byte, len(h.raw), size)
	copy(raw, h.raw)
	h.raw = raw
	return nil
}

// atEnd returns nil at the end of a body, ErrOverLimit before it.
func atEnd(r io.Reader) error {
	switch n, err := io.ReadFull(r, make([]byte, 1)); {
	case n > 0:
		return ErrOverLimit
	case errors.Is(err, io.EOF):
		return nil
	default:
		return err
	}
}
