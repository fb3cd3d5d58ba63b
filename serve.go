package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// The limits of the HTTP server (6-operations, HTTP server). There is no limit on
// writing a whole answer: streams have a deadline for each event.
const (
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 32 << 10
	sendBuffer        = 64 << 10 // bytes the kernel keeps for a client that does not read
	lastWords         = 5 * time.Second
)

// serve builds the service and answers until ctx ends, then stops in good order.
func serve(ctx context.Context, c Config, environ []string, stdout io.Writer) error {
	log := newLogger(stdout, c.LogLevel, c.LogFormat)
	watch, err := newTelemetry(ctx, environ)
	if err != nil {
		return err
	}
	routes := http.NewServeMux()
	routes.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	routes.Handle("GET /metrics", watch.Handler())
	err = listen(ctx, c, routes, log)

	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
	defer cancel()
	return errors.Join(err, watch.Close(ctx))
}

// listen answers on the configured address until ctx ends; then it takes no new
// connections and gives the open ones the drain time.
func listen(ctx context.Context, c Config, handler http.Handler, log *slog.Logger) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", c.Addr)
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: readHeaderTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		ConnContext:       limitSendBuffer,
	}
	if len(c.Auth.JWTSecret) > 0 && len(c.Auth.JWTSecret) < shortSecret {
		log.Warn("auth.jwt_secret is short; take 32 random bytes or more")
	}
	log.Info("listening", "url", "http://"+listener.Addr().String(), "version", version(), "demo", c.Demo())
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	log.Info("stopping", "drain", c.Drain.String())
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.Drain)
	defer cancel()
	err = server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = server.Close()
	}
	if served := <-done; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

// shortSecret is the length in bytes under which an HS256 secret can be guessed
// from a token (RFC 7518, section 3.2).
const shortSecret = 32

// limitSendBuffer keeps the kernel from taking much for a client that never
// reads, so that a write to it soon blocks and its deadline counts.
func limitSendBuffer(ctx context.Context, conn net.Conn) context.Context {
	if tcp, ok := conn.(*net.TCPConn); ok {
		// A socket that refuses is one that is gone; the first write says so.
		_ = tcp.SetWriteBuffer(sendBuffer)
	}
	return ctx
}

// errNotYet stands where the store is not wired in yet.
var errNotYet = errors.New("not wired in yet")

func migrateUp(context.Context, Config, []string, io.Writer) error     { return errNotYet }
func migrateStatus(context.Context, Config, []string, io.Writer) error { return errNotYet }
func importFile(context.Context, Config, []string, io.Writer) error    { return errNotYet }
