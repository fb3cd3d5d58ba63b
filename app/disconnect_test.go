package app

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/schemas"
)

// noGrace is the setting by which a run ends with its reader, nearly at once.
const noGrace = "ON_DISCONNECT_GRACE=10ms"

// cancelWithin is how soon a cancel reaches the model.
const cancelWithin = time.Second

// ask sends the question over a connection of its own and reads no answer.
func (k *talk) ask(t *testing.T) *net.TCPConn {
	t.Helper()
	address := strings.TrimPrefix(k.w.url(t), "http://")
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(k.body)
	if err != nil {
		t.Fatal(err)
	}
	_, err = fmt.Fprintf(conn, "POST /api/chat/stream HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nIdempotency-Key: %s\r\nContent-Length: %d\r\n\r\n%s",
		address, k.key, len(body), body)
	if err != nil {
		t.Fatal(err)
	}
	return conn.(*net.TCPConn) //nolint:forcetypeassert // it was dialled over TCP
}

// readUntil reads from the connection until the answer holds the text, and returns
// the run's id.
func readUntil(t *testing.T, conn net.Conn, text string) (run string) {
	t.Helper()
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		if id, ok := strings.CutPrefix(lines.Text(), "X-Run-Id: "); ok {
			run = id
		}
		if strings.Contains(lines.Text(), text) {
			return run
		}
	}
	t.Fatalf("the answer ended before %q", text)
	return ""
}

// state reads the run.
func (w *world) state(t *testing.T, run string) schemas.Run {
	t.Helper()
	var v schemas.Run
	if status, err := w.call(t.Context(), http.MethodGet, "/api/chat/runs/"+run, &v); err != nil || status != http.StatusOK {
		t.Fatalf("status %d, %v", status, err)
	}
	return v
}

// the ways in which a client goes away.
var hangUps = []struct {
	name string
	do   func(*net.TCPConn) error
}{
	{"closed", (*net.TCPConn).Close},
	{"reset", func(c *net.TCPConn) error {
		if err := c.SetLinger(0); err != nil {
			return err
		}
		return c.Close()
	}},
}

// Going away cancels a run whose request says so, and only such a run.
func TestDisconnect(t *testing.T) {
	for _, up := range hangUps {
		for _, mode := range []string{"cancel", "continue", ""} {
			t.Run(up.name+" "+mode, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, apptest.SQLite.Fresh(t))
				w.settings = append(w.settings, noGrace)
				w.serveHere(Options{})
				gate := make(chan struct{})
				k := w.gated("chat", "reject", gate)
				k.body["on_disconnect"] = mode
				if mode == "" {
					delete(k.body, "on_disconnect")
				}
				w.script(k.question, k.turns, gate)
				k.scripted.Do(func() {})
				conn := k.ask(t)
				run := readUntil(t, conn, "text_delta")
				if err := up.do(conn); err != nil {
					t.Fatal(err)
				}
				if mode == "cancel" {
					checkHungUp(t, k, run)
					return
				}
				if w.model.Disconnects() > 0 {
					t.Error("the call of the model was cut")
				}
				close(gate)
				k.runID = run
				if err := k.run(t.Context()); err != nil {
					t.Fatal(err)
				}
				holds(t, k)
				if last := k.got[len(k.got)-1]; last.event.Type != schemas.TypeComplete || len(w.asksOf(k.question)) != 1 {
					t.Errorf("the run ended with %s after %d calls of the model", last.event.Type, len(w.asksOf(k.question)))
				}
			})
		}
	}
}

// checkHungUp checks a run whose client is gone: the call of the model ends
// within a second, and what was written is kept.
func checkHungUp(t *testing.T, k *talk, run string) {
	t.Helper()
	w := k.w
	select {
	case <-w.model.Gone():
	case <-time.After(cancelWithin):
		t.Errorf("the call of the model goes on after %v", cancelWithin)
	}
	eventually(t, "the run is cancelled", func() bool { return w.state(t, run).State == schemas.RunCancelled })
	var chat schemas.Chat
	if status, err := w.call(t.Context(), http.MethodGet, fmt.Sprintf("/api/chats/%d", w.state(t, run).ConversationID), &chat); err != nil || status != http.StatusOK {
		t.Fatalf("status %d, %v", status, err)
	}
	m := chat.Messages
	if len(m) != 2 || m[1].Status != schemas.MessageCancelled || m[1].Content == "" || !strings.HasPrefix(k.want, m[1].Content) {
		t.Errorf("the chat has %+v", m)
	}
}

// A client that is gone before it is answered leaves no run behind that goes on,
// nor one that never ends.
func TestDisconnectBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, apptest.SQLite.Fresh(t))
	w.settings = append(w.settings, noGrace)
	w.serveHere(Options{})
	for n := range 30 {
		k := w.gated(fmt.Sprintf("chat-%d", n), "reject", make(chan struct{}))
		k.body["on_disconnect"] = "cancel"
		w.script(k.question, k.turns, k.gate)
		if err := hangUps[n%2].do(k.ask(t)); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "no run is under way", func() bool {
		var list schemas.ChatList
		if status, err := w.call(t.Context(), http.MethodGet, "/api/chats?limit=100", &list); err != nil || status != http.StatusOK {
			t.Fatalf("status %d, %v", status, err)
		}
		for _, c := range list.Items {
			if c.ActiveRunID != "" {
				return false
			}
		}
		return w.model.Running() == 0
	})
}

// A run that ends with its reader goes on while another one reads.
func TestDisconnectOfOneReader(t *testing.T) {
	t.Parallel()
	w := newWorld(t, apptest.SQLite.Fresh(t))
	w.settings = append(w.settings, noGrace)
	w.serveHere(Options{})
	gate := make(chan struct{})
	k := w.gated("chat", "reject", gate)
	k.body["on_disconnect"] = "cancel"
	w.script(k.question, k.turns, gate)
	k.scripted.Do(func() {})
	conn := k.ask(t)
	k.runID = readUntil(t, conn, "text_delta")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	resp, err := k.open(ctx, &process{url: w.url(t)})
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	third := k.ask(t) // the same key: the same run
	if run := readUntil(t, third, "text_delta"); run != k.runID {
		t.Errorf("the same key is run %s, want %s", run, k.runID)
	}
	if err := third.Close(); err != nil {
		t.Fatal(err)
	}
	close(gate)
	list, err := newStreamReader(resp.Body).rest()
	if err != nil || len(list) == 0 || list[len(list)-1].event.Type != schemas.TypeComplete {
		t.Errorf("the second reader got %d events, %v", len(list), err)
	}
}
