package api_test

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chattray/chattray/api"
	"github.com/chattray/chattray/api/auth"
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

// pipes is a listener whose connections have no buffers.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	if conn, ok := <-p; ok {
		return conn, nil
	}
	return nil, net.ErrClosed
}

func (p pipes) Close() error { return nil }

func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

// A client whose system reports room only now and then gets its stream; one that takes
// nothing for much longer is disconnected.
func TestReaderThatPauses(t *testing.T) {
	const events, size, piece = 100, 10 << 10, 200 << 10
	for pause, whole := range map[time.Duration]bool{100 * time.Second: true, 5 * time.Minute: false} {
		synctest.Test(t, func(t *testing.T) {
			listener := make(pipes, 1)
			server := api.NewServer("", api.New(api.Options{Auth: auth.Local{}, Streams: newLongRun(events, size), Log: slog.New(slog.DiscardHandler)}))
			go func() { _ = server.Serve(listener) }()
			conn, far := net.Pipe()
			listener <- far
			if _, err := io.WriteString(conn, "GET /api/chat/runs/r/stream HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			got, err := 0, error(nil)
			for n, buf := 0, make([]byte, piece); err == nil; got += n {
				<-time.After(pause) // the time of the bubble: it passes at once
				n, err = io.ReadFull(conn, buf)
			}
			if (got >= (events-1)*size) != whole {
				t.Errorf("with pauses of %v: got %d bytes, %v; want all: %t", pause, got, err, whole)
			}
			close(listener)
			_ = server.Close()
		})
	}
}

// lastWrite is a connection that keeps what was written last.
type lastWrite struct {
	net.Conn
	data []byte
}

func (c *lastWrite) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.data = bytes.Clone(p[:n])
	return n, err
}

// A client that pauses before the end of the body gets it: what the server writes when the
// handler has returned has the time of every write to the stream.
func TestEndOfAStreamThatIsReadLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		listener := make(pipes, 1)
		server := api.NewServer("", api.New(api.Options{Auth: auth.Local{}, Log: slog.New(slog.DiscardHandler), Streams: newLongRun(11, 10)}))
		go func() { _ = server.Serve(listener) }()
		conn, far := net.Pipe()
		kept := &lastWrite{Conn: far}
		listener <- kept
		if _, err := io.WriteString(conn, "GET /api/chat/runs/r/stream HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		for buf, err := make([]byte, 32<<10), error(nil); err == nil; _, err = conn.Read(buf) {
			<-time.After(100 * time.Second)
		}
		close(listener)
		_ = server.Close()
		synctest.Wait()
		if want := "0\r\n\r\n"; string(kept.data) != want {
			t.Errorf("the last write is %q, want the end of the body, %q", kept.data, want)
		}
	})
}

// countedDeadlines is a connection that counts how often the deadline of its writes is set.
type countedDeadlines struct {
	net.Conn
	n int
}

func (c *countedDeadlines) SetWriteDeadline(at time.Time) error {
	c.n++
	return c.Conn.SetWriteDeadline(at)
}

// A stream does not set a deadline for each of its writes: they cost about as much as a
// short event.
func TestDeadlinesOfAStream(t *testing.T) {
	const events, size = 400, 10 << 10 // at most two go into a write
	synctest.Test(t, func(t *testing.T) {
		listener := make(pipes, 1)
		server := api.NewServer("", api.New(api.Options{Auth: auth.Local{}, Streams: newLongRun(events, size), Log: slog.New(slog.DiscardHandler)}))
		go func() { _ = server.Serve(listener) }()
		conn, far := net.Pipe()
		counted := &countedDeadlines{Conn: far}
		listener <- counted
		if _, err := io.WriteString(conn, "GET /api/chat/runs/r/stream HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if got, err := io.Copy(io.Discard, conn); got < (events-1)*size {
			t.Errorf("got %d bytes, %v; want all", got, err)
		}
		close(listener)
		_ = server.Close()
		synctest.Wait()
		if most := events / 20; counted.n > most {
			t.Errorf("the deadline was set %d times, want at most %d", counted.n, most)
		}
	})
}
