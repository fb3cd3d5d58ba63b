package mcp_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chattray/chattray/tools/mcp"
)

// A server that says that its list has changed, again and again, is asked for the list with
// a rest after each time. What it says during the rest counts once.
func TestListThatKeepsChanging(t *testing.T) {
	const lists, delay = 4, 200 * time.Millisecond
	s := &rawServer{listed: make(chan time.Time, 1000)}
	var times []time.Time
	s.tools = map[string]rawTool{"flood": func(w http.ResponseWriter, r *http.Request, id string) {
		<-s.listed // by which the connection began
		writes(http.StatusOK, "text/event-stream", "")(w, r, id)
		for range lists {
			_, _ = io.WriteString(w, strings.Repeat(`data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`+"\n\n", 100))
			_ = http.NewResponseController(w).Flush()
			select {
			case at := <-s.listed:
				times = append(times, at)
			case <-r.Context().Done():
				return
			}
		}
		_, _ = io.WriteString(w, "data: "+strings.ReplaceAll(rawResult("done"), "ID", id)+"\n\n")
	}}
	remote := serveRemote(t, nil)
	remote.handler = s
	w := newTestEnv(t, func(o *mcp.Options) { o.FirstDelay, o.LastDelay, o.Refresh = delay, delay, time.Hour }, remote.named("srv"))
	if got := w.text("srv__flood", ""); got != "done" {
		t.Fatalf("got %q", got)
	}
	for i := 1; i < len(times); i++ {
		if rest := times[i].Sub(times[i-1]); rest < delay/2 {
			t.Errorf("list %d was asked for %v after the one before, want a rest of at least %v", i+1, rest, delay/2)
		}
	}
}
