package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/chattray/chattray/api"
	"github.com/chattray/chattray/schemas"
)

// pause is an event that the service answers with one chunk.
const pause = `{"name":"pause","chat_id":"c1"}`

func dialSocket(t *testing.T, ts *httptest.Server) *websocket.Conn {
	t.Helper()
	conn, res, err := websocket.Dial(t.Context(), ts.URL+"/api/ws", &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer alice"}}})
	if err != nil {
		t.Fatal(err)
	}
	if res.Body != nil {
		_ = res.Body.Close()
	}
	t.Cleanup(func() { _ = conn.CloseNow() })
	return conn
}

// exchange sends a frame and returns the chunk that answers it.
func exchange(t *testing.T, conn *websocket.Conn, frame string) schemas.Chunk {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := conn.Write(ctx, websocket.MessageText, []byte(frame)); err != nil {
		t.Fatal(err)
	}
	_, raw, err := conn.Read(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var c schemas.Chunk
	if err := json.Unmarshal(raw, &c); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestFramesHaveARate shows that the frames of all sockets of a user count as
// requests, and that the socket continues.
func TestFramesHaveARate(t *testing.T) {
	_, ts := newTestEnv(t, func(_ *testEnv, o *api.Options) { o.Limits.OthersPerMinute = 4 })
	first, second := dialSocket(t, ts), dialSocket(t, ts) // two of the four
	for i, conn := range []*websocket.Conn{first, second} {
		if got := exchange(t, conn, pause); got.Type != schemas.ChunkStatus {
			t.Errorf("frame %d gives %+v, want a status", i, got)
		}
	}
	for range 2 {
		if got := exchange(t, first, pause); got.Code != schemas.CodeTooManyRequests {
			t.Errorf("a frame beyond the rate gives %+v", got)
		}
	}
	// A client waits for the answer to an event that has an id.
	if got := exchange(t, first, `{"name":"pause","chat_id":"c1","id":"e1","block_ids":"b1"}`); got.Code != schemas.CodeTooManyRequests || got.EventID != "e1" || got.BlockIDs != "b1" {
		t.Errorf("an event beyond the rate gives %+v, want the refusal of event e1 and block b1", got)
	}
}

// TestFramesCountAsBodies shows that the frames of all sockets of a user share
// the bytes that the user may have in flight, with those of requests.
func TestFramesCountAsBodies(t *testing.T) {
	_, ts := newTestEnv(t, func(_ *testEnv, o *api.Options) {
		o.Limits.Body, o.Limits.FilesBody, o.Limits.BodiesPerUser = 1000, mib, mib
	})
	conn := dialSocket(t, ts)
	stalled := dialRaw(t, ts)
	if _, err := io.WriteString(stalled, upgrade("alice")); err != nil {
		t.Fatal(err)
	}
	readUntil(t, stalled, "\r\n\r\n")
	first := frameHead(mib - 1)
	first[0] = 0x01 // text, more is to come
	if _, err := stalled.Write(append(first, bytes.Repeat([]byte(" "), mib-1)...)); err != nil {
		t.Fatal(err)
	}
	// A ping between the parts is answered when the first part has been read.
	if _, err := stalled.Write([]byte{0x89, 0x80 | 2, 0, 0, 0, 0, 'h', 'i'}); err != nil {
		t.Fatal(err)
	}
	readUntil(t, stalled, "\x8a\x02hi")
	rename := func(user string) int {
		got, _ := send(t, ts.URL, "PATCH", "/api/chats/789", `{"title":"x"}`, "Authorization", "Bearer "+user)
		return got.status
	}
	if got := rename("alice"); got != http.StatusTooManyRequests {
		t.Fatalf("a frame under way does not count for requests: status %d", got)
	}
	if got := exchange(t, conn, pause); got.Code != schemas.CodeTooManyRequests {
		t.Errorf("a frame beside it gives %+v", got)
	}
	if got := rename("bob"); got == http.StatusTooManyRequests {
		t.Error("another user's frame was refused, want it accepted")
	}
	if _, err := stalled.Write([]byte{0x80, 0x80 | 1, 0, 0, 0, 0, ' '}); err != nil { // the last part
		t.Fatal(err)
	}
	until := time.Now().Add(patience)
	for rename("alice") == http.StatusTooManyRequests {
		if time.Now().After(until) {
			t.Fatal("a finished frame still counts, want it released")
		}
	}
	if got := exchange(t, conn, pause); got.Type != schemas.ChunkStatus {
		t.Errorf("a frame afterwards gives %+v", got)
	}
}

// TestStalledFramesEnd shows that a frame that does not arrive ends its socket.
func TestStalledFramesEnd(t *testing.T) {
	t.Parallel()
	_, ts := newTestEnv(t, func(_ *testEnv, o *api.Options) { o.BodyWait = 50 * time.Millisecond })
	conn := dialRaw(t, ts)
	if _, err := io.WriteString(conn, upgrade("alice")); err != nil {
		t.Fatal(err)
	}
	readUntil(t, conn, "\r\n\r\n")
	if _, err := conn.Write(append(frameHead(100), '{')); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(conn); err != nil || !bytes.Contains(got, []byte("did not arrive in time")) {
		t.Errorf("the socket ends with %v after %q", err, got)
	}
}
