package api

import (
	"container/list"
	"context"
	"net"
	"net/http"
	"sync"
)

// LimitConnections returns a listener for the server that lets at most limit
// connections be open; the server must have its handler, and no ConnState of its
// own. At the limit the next connection waits, and one that has no request in
// the handler is closed for it: the one without a request for longest, whether
// it has sent nothing, the beginning of a header, a header without all of its
// body, or is between two requests.
// Further connections wait in the kernel.
func LimitConnections(server *http.Server, l net.Listener, limit int) net.Listener {
	c := &connections{
		Listener: l, limit: limit, idle: list.New(), places: map[net.Conn]*list.Element{},
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
		case ok && hasBody(r):
			r = withBody(r, &arrivingBody{ReadCloser: r.Body, arrived: func() { c.busy(conn) }})
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
	closeBelow func() error // closes the listener once; a later call gets the result of the first

	mu      sync.Mutex
	room    sync.Cond // a connection has closed, or the listener
	open    int
	closed  bool
	waiting bool                       // a connection for which there is no room
	idle    *list.List                 // net.Conn without a request in the handler, the longest idle first
	places  map[net.Conn]*list.Element // in idle
}

// Accept waits for a connection, and then for room.
func (c *connections) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = true
	for c.open >= c.limit && !c.closed {
		if !c.shed() {
			c.room.Wait()
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

// shed closes the connection that has been idle for longest, if there is one.
// The caller holds the lock; shed releases it while it closes.
func (c *connections) shed() bool {
	first := c.idle.Front()
	if first == nil {
		return false
	}
	conn := c.idle.Remove(first).(net.Conn)
	delete(c.places, conn)
	c.mu.Unlock()
	_ = conn.Close()
	c.mu.Lock()
	return true
}

// changed keeps the list of idle connections. A connection that is reading a
// request stays in it until the request is in the handler and its body has
// arrived.
func (c *connections) changed(conn net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew, http.StateIdle:
		c.mu.Lock()
		defer c.mu.Unlock()
		if place := c.places[conn]; place != nil { // the server has read the body, not the handler
			c.idle.Remove(place)
		}
		c.places[conn] = c.idle.PushBack(conn)
		if c.waiting {
			c.room.Broadcast()
		}
	case http.StateHijacked, http.StateClosed:
		c.busy(conn)
	case http.StateActive:
	}
}

// busy takes a connection out of the list of idle ones.
func (c *connections) busy(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if place := c.places[conn]; place != nil {
		c.idle.Remove(place)
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
