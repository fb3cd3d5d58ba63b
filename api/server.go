package api

import (
	"context"
	"net"
	"net/http"
	"time"
)

// The limits of the HTTP server. There is no write timeout, because an answer may be long
// and the line slow: each write has a deadline.
const (
	headerWait = 10 * time.Second
	idleWait   = 2 * time.Minute
	maxHeader  = 32 << 10 // bytes
	sendBuffer = 64 << 10 // bytes that the kernel keeps for a client that does not read
)

// NewServer returns a server for the handler with the service's timeouts. The
// caller starts it and shuts it down.
func NewServer(addr string, handler http.Handler) *http.Server {
	return &http.Server{
		Addr:              addr,
		Handler:           handler,
		ReadHeaderTimeout: headerWait,
		IdleTimeout:       idleWait,
		MaxHeaderBytes:    maxHeader,
		// Otherwise net/http answers "OPTIONS *" itself, whatever the Host.
		DisableGeneralOptionsHandler: true,
		ConnContext: func(ctx context.Context, conn net.Conn) context.Context {
			if outer, ok := conn.(interface{ NetConn() net.Conn }); ok {
				conn = outer.NetConn() // below TLS
			}
			if socket, ok := conn.(interface{ SetWriteBuffer(bytes int) error }); ok {
				_ = socket.SetWriteBuffer(sendBuffer) // if this fails, the kernel's own limit holds
			}
			return ctx
		},
	}
}
