package api_test

import (
	"errors"
	"io"
	"testing"
	"time"
)

// A client that reads slowly, but reads, gets an event which takes longer than
// the deadline of a write.
func TestSlowReaderOfALongEvent(t *testing.T) {
	t.Parallel()
	const size, wait, pause, piece = 2 << 20, 3 * time.Second, 100 * time.Millisecond, 32 << 10
	streams := newLongRun(2, size)
	addr, _ := serveStreams(t, streams, wait)
	conn := dial(t, addr, 64<<10)
	defer conn.Close()
	began, got := time.Now(), 0
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for buf := make([]byte, piece); ; <-tick.C {
		n, err := io.ReadFull(conn, buf)
		got += n
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if got < size {
		t.Errorf("got %d bytes of %d", got, size)
	}
	if took := time.Since(began); took < 2*wait {
		t.Errorf("it took %v, want longer than the deadline of a write", took)
	}
}
