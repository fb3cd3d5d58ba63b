package api_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chattray/chattray/api"
	"github.com/chattray/chattray/schemas"
)

// longText is longer than what two kernels keep for a client that does not read.
const longText = 16 * mib

// longDocuments are documents of one block with that much text.
type longDocuments struct {
	fakeDocuments

	size int
}

func (l longDocuments) Get(ctx context.Context, user schemas.User, id string) (schemas.Document, error) {
	d, err := l.fakeDocuments.Get(ctx, user, id)
	d.Blocks = []schemas.Block{{ID: aBlock, Type: "md", State: schemas.BlockClean, Current: new(strings.Repeat("x", l.size))}}
	return d, err
}

func (l longDocuments) Export(context.Context, schemas.User, string) (title, markdown string, err error) {
	return "Long", strings.Repeat("x", l.size), nil
}

// longPieces is an export whose pieces are so long.
func longPieces(yield func([]byte, error) bool) {
	for range 4 {
		if !yield(bytes.Repeat([]byte("x"), longText/4), nil) {
			return
		}
	}
}

type longChats struct{ fakeChats }

func (longChats) Export(context.Context, schemas.User, int64, string) (schemas.Chat, iter.Seq2[[]byte, error], error) {
	return schemas.Chat{Title: "Long"}, longPieces, nil
}

type longUserData struct{ fakeUserData }

func (longUserData) Export(context.Context, schemas.User) iter.Seq2[[]byte, error] { return longPieces }

// longMCP answers at length.
func longMCP(schemas.User) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		longPieces(func(p []byte, _ error) bool { _, err := w.Write(p); return err == nil })
	})
}

// serveLong starts a server whose answers are long; closed has an entry for each connection
// that it has closed.
func serveLong(t *testing.T, change func(*api.Options)) (ts *httptest.Server, closed <-chan struct{}) {
	t.Helper()
	ends := make(chan struct{}, 100)
	_, ts = newTestEnv(t, func(w *testEnv, o *api.Options) {
		w.conns = func(_ net.Conn, state http.ConnState) {
			if state == http.StateClosed {
				ends <- struct{}{}
			}
		}
		o.Documents, o.Chats, o.UserData = longDocuments{fakeDocuments{w}, longText}, longChats{fakeChats{w}}, longUserData{fakeUserData{w}}
		o.MCP, o.OpenAPI = longMCP, bytes.Repeat([]byte("x"), longText)
		change(o)
	})
	return ts, ends
}

// askRaw sends a request over a connection that takes in little, and reads the first bytes of
// the answer.
func askRaw(t *testing.T, ts *httptest.Server, route, body string) net.Conn {
	t.Helper()
	conn := dialRaw(t, ts)
	_ = conn.(*net.TCPConn).SetReadBuffer(64 << 10)
	_, err := fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer alice\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", route, len(body), body)
	if err == nil {
		_, err = io.ReadFull(conn, make([]byte, 15))
	}
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// TestStalledReadersOfAnswers has clients that read the first bytes of an answer and no
// more, on every kind of route: the server closes their connections.
func TestStalledReadersOfAnswers(t *testing.T) {
	for name, route := range map[string]string{
		"JSON":                  "GET /api/documents/doc1",
		"a document's export":   "GET /api/documents/doc1/export",
		"a chat's export":       "GET /api/chats/789/export",
		"the export of a user":  "GET /api/me/export",
		"a file of the service": "GET /openapi.yaml",
		"MCP":                   "POST /mcp",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ts, closed := serveLong(t, func(o *api.Options) { o.WriteWait = 100 * time.Millisecond })
			body := ""
			if strings.HasPrefix(route, "POST") {
				body = "{}"
			}
			conn := askRaw(t, ts, route, body)
			select {
			case <-closed:
			case <-time.After(patience):
				t.Fatal("the server waits for a client that does not read, want the connection closed")
			}
			if rest, _ := io.ReadAll(conn); len(rest) >= longText {
				t.Errorf("the client got %d bytes, want an answer that is cut", len(rest))
			}
		})
	}
}

// A client that reads slowly, but reads, gets an answer that takes longer than the deadline
// of a write.
func TestSlowReaderOfALongAnswer(t *testing.T) {
	t.Parallel()
	const size, wait = 2 * mib, 3 * time.Second
	ts, _ := serveLong(t, func(o *api.Options) {
		o.WriteWait = wait
		o.Documents = longDocuments{o.Documents.(longDocuments).fakeDocuments, size}
	})
	for began := time.Now(); ; {
		conn := dialRaw(t, ts)
		_ = conn.(*net.TCPConn).SetReadBuffer(64 << 10)
		if _, err := io.WriteString(conn, "GET /api/documents/doc1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer alice\r\nConnection: close\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		got, took, held := readSlowly(t, conn)
		if got >= size {
			if took < 2*wait {
				t.Errorf("it took %v, want longer than the deadline of a write", took)
			}
			return
		}
		if held < wait || time.Since(began) > patience {
			t.Fatalf("got %d bytes of %d", got, size)
		} // else a busy machine has kept the client from reading
	}
}

// While a user has not read a large answer, the user's further requests are refused before
// they do anything; other users are answered.
func TestUnreadAnswersCount(t *testing.T) {
	w, ts := (*testEnv)(nil), (*httptest.Server)(nil)
	ts, _ = serveLong(t, func(o *api.Options) {
		w, o.WriteWait, o.Limits.AnswersPerUser = o.Documents.(longDocuments).testEnv, patience, mib
	})
	stalled := askRaw(t, ts, "GET /api/documents/doc1", "")
	for _, path := range []string{"/api/documents/doc1", "/api/me"} {
		got, req := send(t, ts.URL, "GET", path, "")
		if p := got.problem(t); p.Code != schemas.CodeTooManyRequests || got.header.Get("Retry-After") != "1" {
			t.Errorf("%s: got %d %s, want 429 with Retry-After", path, got.status, got.body)
		}
		w.CheckResponse(t, req, got.status, got.header, got.body)
	}
	if got, _ := send(t, ts.URL, "GET", "/api/me", "", "Authorization", "Bearer bob"); got.status != http.StatusOK {
		t.Errorf("another user: got %d %s, want 200", got.status, got.body)
	}
	_ = stalled.Close()
	eventually(t, patience, func() (string, bool) {
		got, _ := send(t, ts.URL, "GET", "/api/documents/doc1", "")
		return fmt.Sprintf("got %d", got.status), got.status == http.StatusOK && len(got.body) > longText
	})
}

// An export that is read slowly counts as a stream of its user.
func TestExportsCountAsStreams(t *testing.T) {
	ts, _ := serveLong(t, func(o *api.Options) { o.WriteWait, o.Limits.StreamsPerUser = patience, 1 })
	stalled := askRaw(t, ts, "GET /api/chats/789/export", "")
	for _, path := range []string{"/api/chats/789/export", "/api/me/export"} {
		if got, _ := send(t, ts.URL, "GET", path, ""); got.problem(t).Code != schemas.CodeTooManyStreams {
			t.Errorf("%s: got %d %.100s, want too_many_streams", path, got.status, got.body)
		}
	}
	_ = stalled.Close()
}
