package mcp_test

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chattray/chattray/tools/mcp"
	"github.com/chattray/chattray/tools/mcp/logtest"
)

// A server is missing until it has been connected once, whichever tools it has: those whose
// definitions have changed are off.
func TestMissing(t *testing.T) {
	var up atomic.Bool
	s := &rawServer{tools: map[string]rawTool{}}
	remote := serveRemote(t, nil)
	remote.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !up.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		s.ServeHTTP(w, r)
	})
	w := newTestEnv(t, func(*mcp.Options) {}, remote.named("srv"))
	for _, name := range []string{"srv", "srv_two", "other__tool", "srvx__tool"} {
		if w.clients.Missing(name) != nil {
			t.Errorf("the server of %s is missing, want no server", name)
		}
	}
	there := w.clients.Missing("srv__tool")
	if there == nil {
		t.Fatal("the server is not missing before it is connected")
	}
	up.Store(true)
	select {
	case <-there:
	case <-time.After(logtest.Patience):
		t.Fatal("the server is connected and missing still")
	}
	if w.clients.Missing("srv__tool") != nil {
		t.Error("the server is missing after it has been connected")
	}
}
