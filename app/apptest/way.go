package apptest

import (
	"io"
	"net"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// Way is a way to a database, or to a NATS server, that can be cut and stalled.
type Way struct {
	// URL is the server at the other end.
	URL    string
	t      testing.TB
	server string
	tries  atomic.Int64

	mu    sync.Mutex
	cut   bool
	conns map[net.Conn]bool
	// open are closed while bytes pass to the server, and to its client.
	open   [2]chan struct{}
	armed  *armed  // nil for nothing
	strike *strike // nil for nothing
	passed int     // see Passed
}

// The directions of a way.
const (
	toServer = iota
	toClient
)

// NewWay makes a way to a server; it ends with the test.
func NewWay(t testing.TB, database string) *Way {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	w := &Way{t: t, server: u.Host, conns: map[net.Conn]bool{}, open: [2]chan struct{}{make(chan struct{}), make(chan struct{})}}
	close(w.open[toServer])
	close(w.open[toClient])
	q := u.Query()
	if host := q.Get("host"); host != "" {
		w.server = net.JoinHostPort(host, q.Get("port"))
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	q.Del("host")
	q.Del("port")
	u.Host, u.RawQuery = listener.Addr().String(), q.Encode()
	w.URL = u.String()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go w.serve(conn)
		}
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		w.Cut()
		w.Stall(false, false)
	})
	return w
}

// dial connects to the server, or to its socket if the host is a folder.
func (w *Way) dial() (net.Conn, error) {
	if host, port, err := net.SplitHostPort(w.server); err == nil && strings.HasPrefix(host, "/") {
		return net.Dial("unix", host+"/.s.PGSQL."+port)
	}
	return net.Dial("tcp", w.server)
}

// serve passes the bytes of a connection. The server does not learn of a connection that is
// made while the way is cut, and of one that is made while it is stalled only once bytes
// pass again: they would keep its processes busy, or waiting, beside other tests.
func (w *Way) serve(near net.Conn) {
	defer near.Close()
	for direction := range w.open {
		<-w.passing(direction)
	}
	if !w.keep(near) {
		return
	}
	far, err := w.dial()
	if err != nil {
		w.t.Error(err)
		return
	}
	defer far.Close()
	if !w.keep(near, far) {
		return
	}
	done := make(chan struct{}, 2)
	var ends atomic.Bool
	pipe := func(to, from net.Conn, direction int) {
		_, _ = io.Copy(stalled{to, w, direction, &scanner{way: w, server: direction == toServer}, &ends}, from) // ends when either side does
		done <- struct{}{}
	}
	go pipe(near, far, toClient)
	go pipe(far, near, toServer)
	<-done
}

// stalled is a connection that takes bytes only while its way is not stalled.
type stalled struct {
	net.Conn
	way       *Way
	direction int
	scanner   *scanner
	ends      *atomic.Bool // its connection ends with the server's answer, see Strike
}

func (s stalled) Write(p []byte) (int, error) {
	<-s.way.passing(s.direction)
	if pass, err := s.struck(p); err != nil || !pass {
		return len(p), err
	}
	s.scanner.pass(p)
	return s.Conn.Write(p)
}

// passing returns a channel that is closed while bytes pass in that direction.
func (w *Way) passing(direction int) <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.open[direction]
}

// Stall lets no bytes pass from now on, without ending connections: none to the server if
// there is set, none to its client if back is. Without either all pass again.
func (w *Way) Stall(there, back bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for direction, stall := range []bool{toServer: there, toClient: back} {
		select {
		case <-w.open[direction]:
			if stall {
				w.open[direction] = make(chan struct{})
			}
		default:
			if !stall {
				close(w.open[direction])
			}
		}
	}
}

// keep takes connections into the way, unless it is cut.
func (w *Way) keep(conns ...net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.strike.refuses() {
		return false
	}
	if w.cut {
		w.tries.Add(1)
		return false
	}
	for _, c := range conns {
		w.conns[c] = true
	}
	return true
}

// Cut ends all connections and refuses others.
func (w *Way) Cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = true
	for c := range w.conns {
		_ = c.Close()
	}
	clear(w.conns)
}

// Restore takes connections again.
func (w *Way) Restore() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = false
	w.tries.Store(0)
}

// Refused counts the connections that were refused since the way was cut.
func (w *Way) Refused() int64 { return w.tries.Load() }
