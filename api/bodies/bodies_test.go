package bodies_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/chattray/chattray/api/bodies"
	"github.com/chattray/chattray/schemas"
)

const mib = 1 << 20

// TestBodiesAreCounted shows what counts while a body arrives, and afterwards.
func TestBodiesAreCounted(t *testing.T) {
	for _, tt := range []struct {
		name          string
		body          io.Reader
		length, limit int64
		held          int64 // when it has been read
		err           error
	}{
		{"as announced", strings.NewReader(strings.Repeat("x", 100_000)), 100_000, mib, 100_000, nil},
		{"in pieces", iotest.OneByteReader(strings.NewReader(strings.Repeat("x", 9000))), 9000, mib, 9000, nil},
		{"not announced", strings.NewReader(strings.Repeat("x", 5000)), -1, mib, 8192, nil},
		{"not announced, as long as it may be", strings.NewReader(strings.Repeat("x", 5000)), -1, 5000, 5000, nil},
		{"much announced, little sent", strings.NewReader("x"), mib, mib, 4096, nil},
		{"empty", strings.NewReader(""), 0, mib, 0, nil},
		{"empty, not announced", strings.NewReader(""), -1, mib, 4096, nil},
		{"too long", strings.NewReader(strings.Repeat("x", 5001)), -1, 5000, 0, bodies.ErrOverLimit},
		{"too long, as announced", strings.NewReader(strings.Repeat("x", 5001)), 5001, 5000, 0, bodies.ErrOverLimit},
		{"broken", iotest.ErrReader(io.ErrUnexpectedEOF), 5000, mib, 0, io.ErrUnexpectedEOF},
		{"broken at its end", io.MultiReader(strings.NewReader(strings.Repeat("x", 5000)), iotest.ErrReader(io.ErrClosedPipe)), -1, 5000, 0, io.ErrClosedPipe},
	} {
		t.Run(tt.name, func(t *testing.T) {
			read, held := bodies.ReadBodies(mib, mib)
			release, err := read("alice", tt.body, tt.length, tt.limit)
			if !errors.Is(err, tt.err) {
				t.Errorf("got the error %v, want %v", err, tt.err)
			}
			if mine, all := held("alice"); mine != tt.held || all != tt.held {
				t.Errorf("%d and %d bytes are held, want %d", mine, all, tt.held)
			}
			release()
			release()
			if mine, all := held("alice"); mine != 0 || all != 0 {
				t.Errorf("%d and %d bytes are held afterwards", mine, all)
			}
		})
	}
}

// TestBodiesAreBounded shows that memory is counted before it is allocated, per
// user and in total.
func TestBodiesAreBounded(t *testing.T) {
	read, held := bodies.ReadBodies(2*mib, 3*mib)
	body := func() io.Reader { return bytes.NewReader(make([]byte, mib)) }
	for i, tt := range []struct{ user, refused string }{
		{"alice", ""}, {"alice", ""}, {"alice", "your requests"}, {"bob", ""}, {"bob", "bytes of requests"}, {"carol", "bytes of requests"},
	} {
		_, err := read(tt.user, body(), mib, mib)
		if tt.refused == "" && err != nil {
			t.Errorf("body %d, of %s, is refused: %v", i, tt.user, err)
		}
		if seen := schemas.Visible(err); tt.refused != "" && (seen.Code != schemas.CodeTooManyRequests || seen.RetryAfter == 0 || !strings.Contains(seen.Message, tt.refused)) {
			t.Errorf("body %d, of %s, gives %v", i, tt.user, err)
		}
	}
	if mine, all := held("alice"); mine != 2*mib || all != 3*mib {
		t.Errorf("%d and %d bytes are held", mine, all)
	}
	first := firstRead{t, held}
	if _, err := read("dave", first, mib, mib); err == nil {
		t.Error("a body beyond the limit of all users was read, want it refused")
	}
}

// firstRead fails when it is read: a refused body must not be.
type firstRead struct {
	t    *testing.T
	held func(string) (int64, int64)
}

func (f firstRead) Read([]byte) (int, error) {
	f.t.Error("a body was read before its memory was counted, want it refused first")
	return 0, io.EOF
}

// A body that would take its user past the limit is refused, also by one byte.
func TestBodiesOfAUserAreBounded(t *testing.T) {
	r := bodies.NewReader(10, 100)
	read := func(user, body string) (*bodies.Held, error) {
		return r.Read(user, strings.NewReader(body), int64(len(body)), 100)
	}
	first, err := read("ann", "123456")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := read("ann", "12345"); schemas.Visible(err).Code != schemas.CodeTooManyRequests {
		t.Errorf("11 bytes give %v, want %s", err, schemas.CodeTooManyRequests)
	}
	for _, user := range []string{"ann", "ben"} {
		if _, err := read(user, "1234"); err != nil {
			t.Errorf("4 bytes of %s: %v", user, err)
		}
	}
	first.Release()
	if _, err := read("ann", "123456"); err != nil {
		t.Errorf("after the first was released: %v", err)
	}
}
