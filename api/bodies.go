package api

import (
	"errors"
	"io"
	"net/http"

	"github.com/chattray/chattray/api/limits"
	"github.com/chattray/chattray/schemas"
)

// The buffer of a body starts at firstRead bytes and doubles as bytes arrive.
const firstRead = 4 << 10

// bodies counts the bytes of the bodies in flight, per user and in total, from
// before a body is read until it is released. It is safe for concurrent use.
type bodies struct {
	perUser, all int64
	held         limits.Bytes
}

func newBodies(perUser, all int64) *bodies {
	return &bodies{perUser: perUser, all: all}
}

var (
	errUserBodies = &schemas.Error{Code: schemas.CodeTooManyRequests, Message: "too many bytes of your requests are under way; wait for some to end", RetryAfter: 1}
	errAllBodies  = &schemas.Error{Code: schemas.CodeTooManyRequests, Message: "too many bytes of requests are under way; try again soon", RetryAfter: 1}
)

// hold counts n more bytes of the user, or returns the limit that refuses them.
func (b *bodies) hold(user string, n int64) error {
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

func (b *bodies) letGo(user string, n int64) { _ = b.held.Add(user, -n, nil) } // nothing refuses

// heldBody is a body that was read. It counts until release. Nil is no body.
type heldBody struct {
	raw    []byte
	user   string
	counts int64
	in     *bodies
	// withoutFiles is the largest size of a body without attachments; 0 means
	// no limit.
	withoutFiles int64
}

// bytes returns the body; nil after release.
func (h *heldBody) bytes() []byte {
	if h == nil {
		return nil
	}
	return h.raw
}

// over reports whether the body is too large for one without attachments.
func (h *heldBody) over() bool {
	return h != nil && h.withoutFiles > 0 && int64(len(h.raw)) > h.withoutFiles
}

// release frees the body. It may be called more than once.
func (h *heldBody) release() {
	if h == nil {
		return
	}
	h.in.letGo(h.user, h.counts)
	h.raw, h.counts = nil, 0
}

// errOverLimit says that a body is longer than it may be.
var errOverLimit = errors.New("the body is longer than its limit")

// read reads a body of at most limit bytes; a longer one is errOverLimit.
// Length is the announced length, -1 for none. Memory is counted before it is
// allocated, and is allocated only as bytes arrive: a client that announces
// much and sends nothing holds little.
func (b *bodies) read(user string, r io.Reader, length, limit int64) (_ *heldBody, err error) {
	if length >= 0 {
		limit = min(limit, length)
	}
	h := &heldBody{user: user, in: b}
	defer func() {
		if err != nil {
			h.release()
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
func (h *heldBody) grow(size int64) error {
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

// atEnd returns nil at the end of a body, errOverLimit before it.
func atEnd(r io.Reader) error {
	switch n, err := io.ReadFull(r, make([]byte, 1)); {
	case n > 0:
		return errOverLimit
	case errors.Is(err, io.EOF):
		return nil
	default:
		return err
	}
}

// arrivingBody calls arrived when the body has been read to its end.
type arrivingBody struct {
	io.ReadCloser
	arrived func()
}

// Read implements io.Reader.
func (b *arrivingBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		b.arrived()
	}
	return n, err
}

// withBody returns a copy of the request with another body: the server still needs its own.
func withBody(r *http.Request, body io.ReadCloser) *http.Request {
	r = r.WithContext(r.Context())
	r.Body = body
	return r
}
