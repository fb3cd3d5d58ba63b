// Package connections bounds how many connections a server has: one that sends nothing of
// use makes room for the next. It reads no requests.
package connections

import (
	"container/list"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/chattray/chattray/schemas/seldom"
)

// beginTime is how long a connection has to send a request, and then its body, before it
// may be closed for another one: one that was just accepted may have sent them already.
const beginTime = 500 * time.Millisecond

// Limit returns a listener for the server that lets at most limit
// connections be open; the server must have its handler, and no ConnState of its
// own. At the limit the next connection waits, and one that has no request in
// the handler is closed for it: first one that for beginTime has sent nothing, the
// beginning of a header, or a header without all of its body, else one that is
// between two requests, of either the one that waits for longest. Further connections
// wait in the kernel. The logger is told when all connections have a request, and when
// none can be accepted, as when the process has no file descriptor left.
func Limit(server *http.Server, l net.Listener, limit int, logger *slog.Logger) net.Listener {
	c := &connections{
		Listener: l, limit: limit, logger: logger, idle: list.New(), begun: list.New(), places: map[net.Conn]place{},
		closeBelow: sync.OnceValue(l.Close),
	}
	c.room.L = &c.mu
	server.ConnState = c.changed
	inner, handler := server.ConnContext, server.Handler
	server.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
		if inner != nil {
			ctx = inner(ctx, conn)
		}
		return context.WithValue(ctx, connKey{}, conn)
	}
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, ok := r.Context().Value(connKey{}).(net.Conn)
		switch {
		case ok && HasBody(r):
			r = OnArrival(r, func() { c.busy(conn) })
		case ok:
			c.busy(conn)
		}
		handler.ServeHTTP(w, r)
	})
	return c
}

// connKey is the key of a request's connection in its context.
type connKey struct{}

type connections struct {
	net.Listener
	limit      int
	logger     *slog.Logger
	lines      seldom.Log
	closeBelow func() error // closes the listener once; a later call gets the result of the first

	mu      sync.Mutex
	room    sync.Cond // a connection has closed, or the listener, or beginTime is over
	open    int
	closed  bool
	waiting bool               // a connection for which there is no room
	idle    *list.List         // net.Conn that wait for their next request, the longest idle first
	begun   *list.List         // waiter: those whose first bytes, header or body are awaited, the oldest first
	places  map[net.Conn]place // in one of the two
}

// waiter is a connection that is not closed for another one until a time.
type waiter struct {
	net.Conn
	until time.Time
}

// place is where a connection is in a list.
type place struct {
	list *list.List
	at   *list.Element
}

// Accept waits for a connection, and then for room.
func (c *connections) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err != nil {
		if !errors.Is(err, net.ErrClosed) { // the server tries again, and logs that at debug
			c.lines.Write(context.Background(), c.logger, slog.LevelError, "connections of clients cannot be accepted, also those of /healthz and /metrics", slog.String("error", err.Error()))
		}
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = true
	for c.open >= c.limit && !c.closed {
		if !c.shed() {
			c.await()
		}
	}
	c.waiting = false
	if c.closed {
		_ = conn.Close()
		return nil, net.ErrClosed
	}
	c.open++
	return &countedConn{Conn: conn, release: sync.OnceFunc(c.release)}, nil
}

// Close ends the wait of Accept too. The server closes its listener when Accept
// fails, so two calls may come at once: both get the same result.
func (c *connections) Close() error {
	c.mu.Lock()
	c.closed = true
	c.room.Broadcast()
	c.mu.Unlock()
	return c.closeBelow()
}

func (c *connections) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open--
	c.room.Broadcast()
}

// shed closes the connection that has sent nothing of use for longest, if there is
// one. The caller holds the lock; shed releases it while it closes.
func (c *connections) shed() bool {
	var conn net.Conn
	if first := c.begun.Front(); first != nil && !time.Now().Before(first.Value.(waiter).until) {
		conn = first.Value.(waiter).Conn
	} else if first := c.idle.Front(); first != nil {
		conn = first.Value.(net.Conn)
	} else {
		return false
	}
	c.remove(conn)
	c.mu.Unlock()
	_ = conn.Close()
	c.mu.Lock()
	return true
}

// await waits until there may be room. The caller holds the lock.
func (c *connections) await() {
	if first := c.begun.Front(); first != nil {
		timer := time.AfterFunc(time.Until(first.Value.(waiter).until), func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.room.Broadcast()
		})
		defer timer.Stop()
	} else {
		c.lines.Write(context.Background(), c.logger, slog.LevelWarn, "all connections of clients are in use; new ones, also for /healthz and /metrics, wait",
			slog.Int("limits.connections", c.limit))
	}
	c.room.Wait()
}

// changed keeps the lists. A connection that is reading a request stays in begun until
// the request is in the handler and its body has arrived.
func (c *connections) changed(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(conn) // from idle; or the server has read the body, not the handler
	switch state {
	case http.StateNew, http.StateActive:
		c.places[conn] = place{c.begun, c.begun.PushBack(waiter{conn, time.Now().Add(beginTime)})}
	case http.StateIdle:
		c.places[conn] = place{c.idle, c.idle.PushBack(conn)}
	case http.StateHijacked, http.StateClosed:
		return
	}
	if c.waiting {
		c.room.Broadcast()
	}
}

// busy takes a connection out of the lists.
func (c *connections) busy(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(conn)
}

// remove takes a connection out of its list. The caller holds the lock.
func (c *connections) remove(conn net.Conn) {
	if p, ok := c.places[conn]; ok {
		p.list.Remove(p.at)
		delete(c.places, conn)
	}
}

// countedConn is a connection that counts until it is closed.
type countedConn struct {
	net.Conn
	release func()
}

// NetConn returns the connection below.
func (c *countedConn) NetConn() net.Conn { return c.Conn }

// Close closes the connection and makes room.
func (c *countedConn) Close() error {
	defer c.release()
	return c.Conn.Close()
}

// HasBody reports whether a request has a body.
func HasBody(r *http.Request) bool { return r.Body != nil && r.Body != http.NoBody }

// OnArrival returns a copy of a request that calls arrived when its body has been read to
// the end. The server still needs its own.
func OnArrival(r *http.Request, arrived func()) *http.Request {
	r = r.WithContext(r.Context())
	r.Body = &arrivingBody{ReadCloser: r.Body, arrived: arrived}
	return r
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
