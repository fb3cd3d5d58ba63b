package openai_test

import (
	"context"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chattray/chattray/agents"
	"github.com/chattray/chattray/agents/modeltest"
	"github.com/chattray/chattray/agents/modeltest/upstream"
	"github.com/chattray/chattray/agents/openai"
)

// pipes is a listener whose connections are pipes.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	if conn, ok := <-p; ok {
		return conn, nil
	}
	return nil, net.ErrClosed
}

func (pipes) Close() error   { return nil }
func (pipes) Addr() net.Addr { return &net.TCPAddr{} }

// losing is a connection that loses what is written after the next death, and tells nobody.
type losing struct {
	net.Conn
	before int64
	deaths *atomic.Int64
}

func (l losing) Write(p []byte) (int, error) {
	if l.deaths.Load() > l.before {
		return len(p), nil
	}
	return l.Conn.Write(p)
}

// All calls share one connection of HTTP/2. If it has died without a word, as behind a
// balancer that was replaced, this is noticed before the time for the first token is over,
// and the call is made again on another one.
func TestDeadConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up := upstream.NewMemory()
		up.Push(upstream.Text("first"), upstream.Text("second"))
		listener := make(pipes)
		server := &http.Server{Handler: up, Protocols: new(http.Protocols), ReadHeaderTimeout: time.Hour}
		server.Protocols.SetUnencryptedHTTP2(true)
		served := make(chan struct{})
		go func() {
			_ = server.Serve(listener) // it ends with the listener
			close(served)
		}()

		transport := openai.NewTransport(nil)
		transport.Protocols = server.Protocols
		var deaths atomic.Int64
		transport.DialContext = func(context.Context, string, string) (net.Conn, error) {
			client, conn := net.Pipe()
			listener <- conn
			return losing{client, deaths.Load(), &deaths}, nil
		}
		m := dial(t, modeltest.Dial{BaseURL: up.URL(), Transport: transport, FirstToken: time.Minute})
		for n, want := range []string{"first", "second"} {
			if got := modeltest.Read(t.Context(), m, agents.ModelRequest{Model: "test"}); got.Err != nil || got.Text != want {
				t.Errorf("call %d: got %q, %v; want %q", n+1, got.Text, got.Err, want)
			}
			deaths.Add(1)
		}

		close(listener)
		transport.CloseIdleConnections()
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		<-served
	})
}
