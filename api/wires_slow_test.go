package api_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chattray/chattray/api"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/runlog"
)

// longRuns are the runs of a longRun.
type longRuns struct {
	fakeRuns

	last int64
}

func (l longRuns) Run(context.Context, schemas.User, string) (schemas.Run, error) {
	return schemas.Run{RunID: aRun, State: schemas.RunCancelled, LastSequence: l.last}, nil
}

func (longRuns) Waits(context.Context, schemas.User, string) ([]schemas.Wait, error) { return nil, nil }

// newChats has no chat, so that each request of a wire begins one.
type newChats struct{ fakeChats }

func (newChats) ByKey(context.Context, schemas.User, string) (schemas.Chat, error) {
	return schemas.Chat{}, schemas.ErrNotFound
}

// questions have a request of each wire that streams an answer.
var questions = map[string]string{
	"/api/ui":                           `{"id":"c","messages":[{"id":"m","role":"user","parts":[{"type":"text","text":"hi"}]}]}`,
	"/v1/chat/completions":              `{"model":"chattray","stream":true,"messages":[{"role":"user","content":"hi"}]}`,
	"/v1/responses":                     `{"model":"chattray","stream":true,"input":"hi"}`,
	"/api/agui":                         `{"threadId":"t","runId":"r","messages":[{"id":"m","role":"user","content":"hi"}],"tools":[],"context":[],"state":{}}`,
	"/api/copilotkit":                   `{"method":"agent/run","params":{"agentId":"lab"},"body":{"threadId":"t","runId":"r","messages":[{"id":"m","role":"user","content":"hi"}],"tools":[],"context":[],"state":{}}}`,
	"/api/copilotkit/agent/lab/run":     `{"threadId":"t","runId":"r","messages":[{"id":"m","role":"user","content":"hi"}],"tools":[],"context":[],"state":{}}`,
	"/api/chat/stream":                  `{"message":"hi"}`,
	"/api/chat/stream?dialect=messages": `{"message":"hi"}`,
}

// serveWires starts the service over a run with so many events of that size.
func serveWires(t *testing.T, events, size int, wait time.Duration) (addr string, streams *longRun, open *atomic.Int64) {
	t.Helper()
	streams, open = newLongRun(events, size), new(atomic.Int64)
	_, ts := newTestEnv(t, func(w *testEnv, o *api.Options) {
		o.Streams, o.Runs, o.Chats = streams, longRuns{fakeRuns{w}, int64(events)}, newChats{fakeChats{w}}
		o.StreamWait, o.OpenStreams = wait, func(change int) { open.Add(int64(change)) }
	})
	return ts.Listener.Addr().String(), streams, open
}

// askWire sends the question of a wire; a window bounds what the kernel takes in while the
// answer is not read.
func askWire(t *testing.T, addr, path string, window int) net.Conn {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if tcp, ok := conn.(*net.TCPConn); ok && window > 0 {
		_ = tcp.SetReadBuffer(window)
	}
	return sendQuestion(t, conn, path, questions[path])
}

// sendQuestion sends the question of a wire.
func sendQuestion(t *testing.T, conn net.Conn, path, body string) net.Conn {
	t.Helper()
	_, err := fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer alice\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", path, len(body), body)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// TestStalledReadersOfWires has clients of every wire that never read: they are cut, hold
// nothing, and do not keep another one from its answer.
func TestStalledReadersOfWires(t *testing.T) {
	const events, size, stalled = 2000, 1000, 5
	for path := range questions {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			addr, streams, open := serveWires(t, events, size, 2*time.Second)
			var idle []net.Conn
			for range stalled {
				idle = append(idle, askWire(t, addr, path, 4096))
			}
			got, err := io.ReadAll(askWire(t, addr, path, 0))
			if err != nil || bytes.Count(got, []byte("x")) < (events-1)*size {
				t.Errorf("a client that reads gets %d bytes, %v; want all", len(got), err)
			}
			eventually(t, patience, func() (string, bool) {
				followers, streams := streams.readers.Load(), open.Load()
				return fmt.Sprintf("%d followers, %d streams", followers, streams), followers == 0 && streams == 0
			})
			for _, conn := range idle {
				_ = conn.Close()
			}
		})
	}
}

// followed is a longRun that says when somebody begins to read its events.
type followed struct {
	*longRun

	begins func()
}

func (f followed) Follow(ctx context.Context, user schemas.User, run string, after int64, idle time.Duration) (iter.Seq2[[]runlog.Event, error], error) {
	events, err := f.longRun.Follow(ctx, user, run, after, idle)
	return func(yield func([]runlog.Event, error) bool) {
		f.begins()
		events(yield)
	}, err
}

// An answer may last for hours. It does not hold the body of its request, which is not
// counted any more.
func TestAnswersOfWiresHoldNoBody(t *testing.T) {
	const size = 6 * mib
	for path, body := range questions {
		if strings.HasPrefix(path, "/api/chat") {
			continue
		}
		t.Run(path, func(t *testing.T) {
			var before, held int64
			_, ts := newTestEnv(t, func(w *testEnv, o *api.Options) {
				streams := followed{newLongRun(2, 1), func() { held = int64(heap()) - before }}
				o.Streams, o.Runs, o.Chats = streams, longRuns{fakeRuns{w}, 2}, newChats{fakeChats{w}}
			})
			for _, member := range []string{`"messages":`, `"input":`} {
				body = strings.Replace(body, member, `"more":"`+strings.Repeat("x", size)+`",`+member, 1)
			}
			before = int64(heap())
			got, err := io.ReadAll(sendQuestion(t, dialRaw(t, ts), path, body))
			if err != nil || !bytes.HasPrefix(got, []byte("HTTP/1.1 200 ")) {
				t.Fatalf("%.500s, %v", got, err)
			}
			runtime.KeepAlive(body) // counts before and during the answer
			if held > size/2 {
				t.Errorf("an answer whose body had %d MiB holds %d MiB", size/mib, held/mib)
			}
		})
	}
}

// TestStalledReadersOfWholeAnswers has clients of wires that ask for an answer as one JSON
// value and do not read it: the server closes their connections.
func TestStalledReadersOfWholeAnswers(t *testing.T) {
	for route, body := range map[string]string{
		"POST /v1/chat/completions": `{"model":"chattray","messages":[{"role":"user","content":"hi"}]}`,
		"POST /v1/responses":        `{"model":"chattray","input":"hi"}`,
		"POST /api/chat":            `{"message":"hi"}`,
	} {
		t.Run(route, func(t *testing.T) {
			t.Parallel()
			const events, size = 2, 4 * mib
			ts, closed := serveLong(t, func(o *api.Options) {
				w := o.Documents.(longDocuments).testEnv
				run := newLongRun(events, size)
				run.events[events-1].Body = &runlog.Completed{Payload: schemas.ChatResponsePayload{RunID: aRun, Message: strings.Repeat("x", size)}}
				o.Streams, o.Runs, o.Chats = run, longRuns{fakeRuns{w}, events}, newChats{fakeChats{w}}
				o.WriteWait = 500 * time.Millisecond
			})
			conn := askRaw(t, ts, route, body)
			select {
			case <-closed:
			case <-time.After(patience):
				t.Fatal("the server waits for a client that does not read, want the connection closed")
			}
			if rest, _ := io.ReadAll(conn); len(rest) >= size {
				t.Errorf("the client got %d bytes, want an answer that is cut", len(rest))
			}
		})
	}
}

// TestSlowReadersOfWires has clients of every wire that read slowly, but read: they get an
// event that takes longer than the deadline of a write.
func TestSlowReadersOfWires(t *testing.T) {
	const size, wait, pause, steps = 2 << 20, 2 * time.Second, 50 * time.Millisecond, 100
	for path := range questions {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			addr, _, _ := serveWires(t, 2, size, wait)
			whole, err := io.ReadAll(askWire(t, addr, path, 0))
			if err != nil {
				t.Fatal(err)
			}
			conn, began, got := askWire(t, addr, path, 64<<10), time.Now(), 0
			tick := time.NewTicker(pause)
			defer tick.Stop()
			for buf := make([]byte, len(whole)/steps); ; <-tick.C {
				n, err := io.ReadFull(conn, buf)
				if got += strings.Count(string(buf[:n]), "x"); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if got < size || time.Since(began) < 2*wait {
				t.Errorf("got %d bytes of the answer in %v, want %d in more than %v", got, time.Since(began), size, 2*wait)
			}
		})
	}
}

// largeChat has one chat, with a message that is so long.
type largeChat struct{ fakeChats }

func (largeChat) ByKey(context.Context, schemas.User, string) (schemas.Chat, error) {
	return schemas.Chat{ConversationID: aChat}, nil
}

func (largeChat) Get(context.Context, schemas.User, int64, record.MessageQuery) (schemas.Chat, error) {
	return schemas.Chat{ConversationID: aChat, Messages: []schemas.Message{{ID: aMessage, Role: "user", Content: strings.Repeat("x", longText)}}}, nil
}

// While a user has not read the messages of a chat, no wire answers with more of them.
func TestUnreadAnswersOfWiresCount(t *testing.T) {
	for route, body := range map[string]string{
		"GET /api/ui/c/messages": "", "GET /api/agui?threadId=c": "", "GET /api/copilotkit/threads/c/messages": "",
		"POST /api/copilotkit/agent/lab/connect": `{"threadId":"c","runId":"r","messages":[],"tools":[],"context":[],"state":{}}`,
	} {
		t.Run(route, func(t *testing.T) {
			t.Parallel()
			ts, _ := serveLong(t, func(o *api.Options) {
				o.Chats = largeChat{fakeChats{o.Documents.(longDocuments).testEnv}}
				o.WriteWait, o.StreamWait, o.Limits.AnswersPerUser = patience, patience, mib
			})
			method, path, _ := strings.Cut(route, " ")
			stalled := askRaw(t, ts, route, body)
			defer func() { _ = stalled.Close() }()
			if got, _ := send(t, ts.URL, method, path, body); got.status != http.StatusTooManyRequests || got.header.Get("Retry-After") != "1" {
				t.Errorf("got %d %.100s, want 429 with Retry-After", got.status, got.body)
			}
			_ = stalled.Close()
			eventually(t, patience, func() (string, bool) {
				got, _ := send(t, ts.URL, method, path, body)
				return fmt.Sprintf("got %d", got.status), got.status == http.StatusOK && len(got.body) > longText
			})
		})
	}
}
