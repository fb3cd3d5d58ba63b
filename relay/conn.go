package relay

import (
	"net"
	"time"
)

// dialer makes the connections to NATS.
type dialer struct{}

// Dial connects to a server.
func (dialer) Dial(network, address string) (net.Conn, error) {
	c, err := (&net.Dialer{Timeout: dialWait}).Dial(network, address)
	if err != nil {
		return nil, err
	}
	return &boundConn{Conn: c}, nil
}

// boundConn is a connection that fails if it takes nothing: a write ends after writeWait
// to twice that. The deadline is not set for each write, because that costs as much as a
// short message.
type boundConn struct {
	net.Conn
	bound time.Time // when the deadline was set; writes are made one at a time
}

// SetDeadline sets the deadline of reads and writes. The library removes it after the
// handshake, with that of the writes before.
func (c *boundConn) SetDeadline(at time.Time) error {
	c.bound = time.Time{}
	return c.Conn.SetDeadline(at)
}

// Write writes to the connection.
func (c *boundConn) Write(p []byte) (int, error) {
	if now := time.Now(); now.Sub(c.bound) >= writeWait {
		if err := c.SetWriteDeadline(now.Add(2 * writeWait)); err != nil {
			return 0, err
		}
		c.bound = now
	}
	return c.Conn.Write(p)
}
