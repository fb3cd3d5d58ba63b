package api_test

import (
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"time"
)

// A client that reads slowly, but reads, gets an event which takes longer than
// the deadline of a write.
func TestSlowReaderOfALongEvent(t *testing.T) {
	t.Parallel()
	const size, wait = 2 << 20, 3 * time.Second
	addr, _ := serveStreams(t, newLongRun(2, size), wait)
	for began := time.Now(); ; {
		got, took, held := readSlowly(t, dial(t, addr, 0, 64<<10))
		if got >= size {
			if took < 2*wait {
				t.Errorf("it took %v, want longer than the deadline of a write", took)
			}
			return
		}
		if held < wait || time.Since(began) > patience {
			t.Fatalf("got %d bytes of %d", got, size)
		} // else a busy machine has kept the client from reading
	}
}

// readSlowly reads an answer in small pieces. It returns how many bytes came, how
// long that took, and the longest time without a read.
func readSlowly(t *testing.T, conn net.Conn) (got int, took, held time.Duration) {
	t.Helper()
	const pause, piece = 100 * time.Millisecond, 32 << 10
	defer conn.Close()
	tick := time.NewTicker(pause)
	defer tick.Stop()
	began := time.Now()
	for last, buf := began, make([]byte, piece); ; <-tick.C {
		n, err := io.ReadFull(conn, buf)
		got, held, last = got+n, max(held, time.Since(last)), time.Now()
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) {
			return got, time.Since(began), held
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
