package relay

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// A write to a server that takes nothing ends, also when the connection was idle for long
// before or has just been opened; one that it takes at once never fails.
func TestBoundConn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, server := net.Pipe()
		defer server.Close()
		c := &boundConn{Conn: ours}
		defer c.Close()
		taken := func(idle time.Duration) {
			<-time.After(idle)
			go func() { _, _ = io.ReadFull(server, make([]byte, 5)) }()
			if _, err := c.Write([]byte("taken")); err != nil {
				t.Errorf("after %v without a write: %v", idle, err)
			}
			synctest.Wait()
		}
		for _, idle := range []time.Duration{0, writeWait / 2, writeWait, 3 * writeWait, time.Hour} {
			taken(idle)
		}
		for _, idle := range []time.Duration{0, writeWait / 2, time.Hour} {
			if idle == 0 {
				taken(time.Hour)
				_ = c.SetDeadline(time.Time{}) // as the library does after the handshake
			}
			<-time.After(idle)
			began := time.Now()
			_, err := c.Write([]byte("not taken"))
			if took := time.Since(began); !errors.Is(err, os.ErrDeadlineExceeded) || took < writeWait || took > 2*writeWait {
				t.Errorf("a write that is not taken ends after %v with %v, want the deadline after %v to %v", took, err, writeWait, 2*writeWait)
			}
		}
	})
}
