package mcp_test

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chattray/chattray/tools/mcp"
)

// A server that does one thing at a time answers the request for its list after the call
// before it, however long that takes. Neither ends the connection.
func TestListBehindALongCall(t *testing.T) {
	const limit = time.Second
	s := &rawServer{tools: map[string]rawTool{}}
	asked := make(chan context.Context, 100)
	var busy atomic.Bool
	s.tools["busy"] = func(w http.ResponseWriter, r *http.Request, id string) {
		s.mu.Lock() // the list waits
		defer s.mu.Unlock()
		busy.Store(true)
		list := <-asked
		select {
		case <-list.Done(): // it was given up
		case <-r.Context().Done():
		case <-time.After(2 * limit):
		}
		busy.Store(false)
		writes(http.StatusOK, "application/json", rawResult("done"))(w, r, id)
	}
	remote := serveRemote(t, nil)
	remote.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if busy.Load() {
			asked <- r.Context()
		}
		s.ServeHTTP(w, r)
	})
	w := newTestEnv(t, func(o *mcp.Options) { o.Connect, o.Refresh = limit, limit/20 }, remote.named("srv"))
	if got := w.text("srv__busy", ""); got != "done" {
		t.Errorf("the call: got %q", got)
	}
	if got := s.sessions.Load(); got != 1 {
		t.Errorf("got %d sessions, want 1", got)
	}
}
