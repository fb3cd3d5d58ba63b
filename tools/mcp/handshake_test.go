package mcp_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/tools"
)

// A server that answers nothing before the handshake of older protocols is connected.
func TestServerThatKnowsTheOldHandshakeOnly(t *testing.T) {
	remote := serveRemote(t, nil)
	known, begun := remote.handler, atomic.Bool{}
	remote.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if bytes.Contains(body, []byte(`"initialize"`)) {
			begun.Store(true)
		}
		if !begun.Load() {
			panic(http.ErrAbortHandler)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		known.ServeHTTP(w, r)
	})
	w := newTestEnv(t, nil, remote.named("srv"))
	w.await("MCP server is connected")
	if got := w.text("srv__greet", `{"name":"Ada"}`); got != "Hello Ada" {
		t.Errorf("got %q", got)
	}
}

// Why a server was not connected is no longer said when it is.
func TestStateOfAServerThatComesBack(t *testing.T) {
	server := serveRemote(t, nil)
	w := newTestEnv(t, nil, server.named("srv"))
	w.await("MCP server is connected")
	server.close()
	if _, err := w.call("srv__greet", `{"name":"x"}`); err == nil {
		t.Fatal("a call to a stopped server succeeded, want an error")
	}
	w.await("MCP server is not connected")
	server.start()
	w.await("MCP server is connected")
	if s := w.clients.State()[0]; !s.Connected || s.Error != "" || len(s.Tools) == 0 {
		t.Errorf("got %+v, want it connected, with tools and without an error", s)
	}
}

// What a server says about the progress of a call has no secrets either.
func TestProgressHasNoSecrets(t *testing.T) {
	server := serveRemote(t, nil).named("srv")
	server.Headers["X-Token"] = "step 1"
	w := newTestEnv(t, nil, server)
	var said []string
	call := &tools.Call{Name: "srv__steps", Report: func(p turn.Progress) { said = append(said, p.Message) }}
	if _, err := w.tool("srv__steps").Run(t.Context(), call); err != nil {
		t.Fatal(err)
	}
	if all := strings.Join(said, ", "); strings.Contains(all, "step 1") || !strings.Contains(all, "step 2") {
		t.Errorf("the page reads %q", all)
	}
}
