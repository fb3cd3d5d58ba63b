package mcp_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/chattray/chattray/tools/mcp/logtest"
)

// Events of the server's own stream that are not messages do not end the connection.
func TestOwnStreamThatGreets(t *testing.T) {
	events := ": hi\n\nevent: ping\ndata: now\n\ndata: hello\n\ndata: {\"type\":\"connected\"}\n\n" +
		`data: {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"cannot parse"}}` + "\n\n" +
		`data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` + "\n\n"
	s := &rawServer{tools: map[string]rawTool{}, listed: make(chan time.Time, 100), own: func(w http.ResponseWriter, r *http.Request) {
		writes(http.StatusOK, "text/event-stream", events)(w, r, "")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}}
	w, release := raw(t, s)
	defer release()
	w.await("MCP server is connected")
	for range 2 { // the second list follows the stream's last event
		select {
		case <-s.listed:
		case <-time.After(logtest.Patience):
			t.Fatal("the list is not requested again, want the event after those that are not messages to be read")
		}
	}
	if got := w.text("srv__ok", ""); got != "fine" {
		t.Errorf("a call: got %q", got)
	}
	if got := s.sessions.Load(); got != 1 {
		t.Errorf("got %d sessions, want 1", got)
	}
}
