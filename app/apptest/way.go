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

// Way is a way to a database that can be cut.
type Way struct {
	// URL is the database at the other end.
	URL    string
	t      testing.TB
	server string
	tries  atomic.Int64

	mu    sync.Mutex
	cut   bool
	conns map[net.Conn]bool
}

// NewWay makes a way to a Postgres; it ends with the test.
func NewWay(t testing.TB, database string) *Way {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	w := &Way{t: t, server: u.Host, conns: map[net.Conn]bool{}}
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

func (w *Way) serve(near net.Conn) {
	defer near.Close()
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
	pipe := func(to, from net.Conn) {
		_, _ = io.Copy(to, from) // ends when either side does
		done <- struct{}{}
	}
	go pipe(near, far)
	go pipe(far, near)
	<-done
}

// keep takes connections into the way, unless it is cut.
func (w *Way) keep(conns ...net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
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
