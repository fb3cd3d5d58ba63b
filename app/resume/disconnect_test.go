package resume

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

	"github.com/chattray/chattray/app"
	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/schemas"
)

// noGrace is the setting by which a run ends with its reader, nearly at once.
const noGrace = "ON_DISCONNECT_GRACE=10ms"

// sendUnread sends the question over a connection of its own and reads no answer.
func sendUnread(c *apptest.Conversation, t *testing.T) *net.TCPConn {
	t.Helper()
	address := strings.TrimPrefix(c.System.URL(t), "http://")
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(c.Body)
	if err != nil {
		t.Fatal(err)
	}
	_, err = fmt.Fprintf(conn, "POST /api/chat/stream HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nIdempotency-Key: %s\r\nContent-Length: %d\r\n\r\n%s",
		address, c.Key, len(body), body)
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
	t.Fatalf("the answer ended, want %q in it", text)
	return ""
}

// runState reads the run.
func runState(system *apptest.System, t *testing.T, run string) schemas.Run {
	t.Helper()
	var v schemas.Run
	if status, err := system.Call(t.Context(), http.MethodGet, "/api/chat/runs/"+run, &v); err != nil || status != http.StatusOK {
		t.Fatalf("status %d, %v, want 200", status, err)
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

// A disconnect cancels a run only if its request says so.
func TestDisconnect(t *testing.T) {
	for _, up := range hangUps {
		for _, mode := range []string{"cancel", "continue", ""} {
			t.Run(up.name+" "+mode, func(t *testing.T) {
				t.Parallel()
				system := apptest.NewSystem(t, apptest.SQLite.Fresh(t))
				system.Settings = append(system.Settings, noGrace)
				system.ServeHere(app.Options{})
				gate := make(chan struct{})
				c := system.Gated("chat", "reject", gate)
				c.Body["on_disconnect"] = mode
				if mode == "" {
					delete(c.Body, "on_disconnect")
				}
				system.Script(c.Question, c.Turns, gate)
				c.MarkScripted()
				conn := sendUnread(c, t)
				run := readUntil(t, conn, "text_delta")
				if err := up.do(conn); err != nil {
					t.Fatal(err)
				}
				if mode == "cancel" {
					checkHungUp(t, c, run)
					return
				}
				if system.Model.Disconnects() > 0 {
					t.Errorf("%d calls of the model were cut off, want 0", system.Model.Disconnects())
				}
				close(gate)
				c.RunID = run
				if err := c.Run(t.Context()); err != nil {
					t.Fatal(err)
				}
				apptest.CheckAll(t, c)
				if last := c.Frames[len(c.Frames)-1]; last.Event.Type != schemas.TypeComplete || len(system.ModelCalls(c.Question)) != 1 {
					t.Errorf("the run ended with %s after %d calls of the model, want complete after 1", last.Event.Type, len(system.ModelCalls(c.Question)))
				}
			})
		}
	}
}

// checkHungUp checks a run whose client is gone: the call of the model ends,
// and what was written is kept.
func checkHungUp(t *testing.T, c *apptest.Conversation, run string) {
	t.Helper()
	system := c.System
	select {
	case <-system.Model.Gone():
	case <-time.After(apptest.Limit):
		t.Fatal("the call of the model continues, want it ended")
	}
	apptest.Eventually(t, "the run is cancelled", func() bool { return runState(system, t, run).State == schemas.RunCancelled })
	var chat schemas.Chat
	if status, err := system.Call(t.Context(), http.MethodGet, fmt.Sprintf("/api/chats/%d", runState(system, t, run).ConversationID), &chat); err != nil || status != http.StatusOK {
		t.Fatalf("status %d, %v, want 200", status, err)
	}
	m := chat.Messages
	if len(m) != 2 || m[1].Status != schemas.MessageCancelled || m[1].Content == "" || !strings.HasPrefix(c.Want, m[1].Content) {
		t.Errorf("the chat has %+v, want a question and the part of the answer that was cancelled", m)
	}
}

// A client that disconnects before its answer leaves no run that continues, and
// none that never ends.
func TestDisconnectBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	system := apptest.NewSystem(t, apptest.SQLite.Fresh(t))
	system.Settings = append(system.Settings, noGrace)
	system.ServeHere(app.Options{})
	for n := range 30 {
		c := system.Gated(fmt.Sprintf("chat-%d", n), "reject", make(chan struct{}))
		c.Body["on_disconnect"] = "cancel"
		system.Script(c.Question, c.Turns, c.Gate)
		if err := hangUps[n%2].do(sendUnread(c, t)); err != nil {
			t.Fatal(err)
		}
	}
	apptest.Eventually(t, "no run is under way", func() bool {
		var list schemas.ChatList
		if status, err := system.Call(t.Context(), http.MethodGet, "/api/chats?limit=100", &list); err != nil || status != http.StatusOK {
			t.Fatalf("status %d, %v, want 200", status, err)
		}
		for _, c := range list.Items {
			if c.ActiveRunID != "" {
				return false
			}
		}
		return system.Model.Running() == 0
	})
}

// A run that ends with its last reader continues while another reader follows
// it.
func TestDisconnectOfOneReader(t *testing.T) {
	t.Parallel()
	system := apptest.NewSystem(t, apptest.SQLite.Fresh(t))
	system.Settings = append(system.Settings, noGrace)
	system.ServeHere(app.Options{})
	gate := make(chan struct{})
	c := system.Gated("chat", "reject", gate)
	c.Body["on_disconnect"] = "cancel"
	system.Script(c.Question, c.Turns, gate)
	c.MarkScripted()
	conn := sendUnread(c, t)
	c.RunID = readUntil(t, conn, "text_delta")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	resp, err := c.Open(ctx, &apptest.Process{URL: system.URL(t)})
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	third := sendUnread(c, t) // the same key: the same run
	if run := readUntil(t, third, "text_delta"); run != c.RunID {
		t.Errorf("the same key is run %s, want %s", run, c.RunID)
	}
	if err := third.Close(); err != nil {
		t.Fatal(err)
	}
	close(gate)
	list, err := apptest.NewStreamReader(resp.Body).Rest()
	if err != nil || len(list) == 0 || list[len(list)-1].Event.Type != schemas.TypeComplete {
		t.Errorf("the second reader got %d events, %v; want all to complete", len(list), err)
	}
}
