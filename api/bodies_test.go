package api_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/chattray/chattray/api"
	"github.com/chattray/chattray/schemas"
)

const (
	mib = 1 << 20
	// patience bounds what a test waits for.
	patience = 3 * time.Minute
)

// TestStalledBodiesHoldLittle has one user announce 20 bodies of 8 MiB, send all
// but the last byte of each, and stop: as bodies of many routes, chunked, and as
// frames of websockets.
func TestStalledBodiesHoldLittle(t *testing.T) {
	const count, size = 20, 8 * mib
	head := func(route, framing string) string {
		return route + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer alice\r\nContent-Type: application/json\r\n" + framing + "\r\n\r\n"
	}
	announced := "Content-Length: " + strconv.Itoa(size)
	for _, tt := range []struct{ name, head, after string }{
		{"a message", head("POST /api/chat/stream", announced), ""},
		{"a block", head("PATCH /api/blocks/b1", announced), ""},
		{"chunked", head("POST /api/chat", "Transfer-Encoding: chunked") + fmt.Sprintf("%x\r\n", size), ""},
		{"a frame", upgrade("alice"), "\r\n\r\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, ts := newTestEnv(t, nil)
			before := heap()
			var sent sync.WaitGroup
			for range count {
				conn := dialRaw(t, ts)
				sent.Go(func() {
					if _, err := io.WriteString(conn, tt.head); err != nil {
						t.Error(err)
					}
					if tt.after != "" {
						readUntil(t, conn, tt.after)
						_, _ = conn.Write(frameHead(size))
					}
					piece := bytes.Repeat([]byte(" "), 64<<10)
					for left := size - 1; left > 0; {
						n, err := conn.Write(piece[:min(left, len(piece))])
						if err != nil {
							return // refused and closed
						}
						left -= n
					}
				})
			}
			sent.Wait()
			if grown := int64(heap()) - int64(before); grown > 24*mib {
				t.Errorf("%d stalled bodies hold %d MiB, want at most %d", count, grown/mib, 24)
			}
		})
	}
}

// heap is the size of what is in use.
func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // pools keep what they have through the first one
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func dialRaw(t *testing.T, ts *httptest.Server) net.Conn {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", ts.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(3 * patience)); err != nil {
		t.Fatal(err)
	}
	return conn
}

func upgrade(user string) string {
	return "GET /api/ws HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + user + "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
}

// frameHead begins a text frame, masked with zeros.
func frameHead(size int) []byte {
	return append(binary.BigEndian.AppendUint64([]byte{0x81, 0x80 | 127}, uint64(size)), 0, 0, 0, 0)
}

func readUntil(t *testing.T, conn net.Conn, end string) string {
	t.Helper()
	var got []byte
	for one := make([]byte, 1); !bytes.HasSuffix(got, []byte(end)); {
		if _, err := conn.Read(one); err != nil {
			t.Errorf("after %q: %v", got, err)
			break
		}
		got = append(got, one...)
	}
	return string(got)
}

// TestStalledBodiesEnd checks that a request whose body does not arrive ends
// after the time for bodies, on every route; only a public one answers as always.
func TestStalledBodiesEnd(t *testing.T) {
	w, ts := newTestEnv(t, func(_ *testEnv, o *api.Options) { o.BodyWait, o.CORSOrigins = 50*time.Millisecond, nil })
	local, localServer := newTestEnv(t, func(_ *testEnv, o *api.Options) {
		o.BodyWait, o.LocalHosts = 50*time.Millisecond, []string{"tray.internal"}
	})
	var all sync.WaitGroup
	for _, r := range everyRoute() {
		for _, tt := range []struct{ name, header string }{
			{"alice", "Authorization: Bearer alice\r\n"},
			{"nobody", ""},
			{"a foreign page", "Authorization: Bearer alice\r\nSec-Fetch-Site: cross-site\r\n"},
			{"no type", "Authorization: Bearer alice\r\nContent-Type: text/plain\r\n"},
		} {
			for to, server := range map[*testEnv]*httptest.Server{w: ts, local: localServer} {
				conn := dialRaw(t, server)
				_, err := fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: x\r\n%sContent-Length: 100\r\n\r\n{", r.Method, examplePath(to, r.Path), tt.header)
				if err != nil {
					t.Fatal(err)
				}
				all.Go(func() {
					got, err := io.ReadAll(conn)
					if err != nil || !bytes.HasPrefix(got, []byte("HTTP/1.1 ")) || bytes.HasPrefix(got, []byte("HTTP/1.1 200 ")) && !r.Public {
						t.Errorf("%s %s of %s: the connection ends with %v after %.300q", r.Method, r.Path, tt.name, err, got)
					}
				})
			}
		}
	}
	all.Wait()
}

// TestRatesComeBeforeBodies sends every route once as usual, and then with a
// large body that does not arrive: beyond the rate limit nobody waits for it.
// Public routes have no rate limit.
func TestRatesComeBeforeBodies(t *testing.T) {
	for _, r := range api.Table() {
		t.Run(r.Method+" "+r.Path, func(t *testing.T) {
			t.Parallel() // the server is slow to close a connection with a body that nobody reads
			w, ts := newTestEnv(t, func(_ *testEnv, o *api.Options) { o.Limits.OthersPerMinute, o.Limits.RequestsPerMinute = 1, 1 })
			path := examplePath(w, r.Path)
			send(t, ts.URL, r.Method, path, "")
			if r.Public {
				if got, _ := send(t, ts.URL, r.Method, path, ""); got.status == http.StatusTooManyRequests {
					t.Error("a public route has a rate limit, want none")
				}
				return
			}
			conn := dialRaw(t, ts)
			_, err := fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer alice\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", r.Method, path, mib)
			if err != nil {
				t.Fatal(err)
			}
			req, _ := http.NewRequestWithContext(t.Context(), r.Method, ts.URL+path, nil)
			res, err := http.ReadResponse(bufio.NewReader(conn), req)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(res.Body)
			if err := errors.Join(err, res.Body.Close()); err != nil {
				t.Fatal(err)
			}
			got := answer{res.StatusCode, res.Header, body}
			if p := got.problem(t); p.Code != schemas.CodeTooManyRequests || got.header.Get("Retry-After") == "" {
				t.Errorf("got %d %s, Retry-After %q", got.status, body, got.header.Get("Retry-After"))
			}
			w.CheckResponse(t, req, got.status, got.header, got.body)
			if got, _ := send(t, ts.URL, r.Method, path, "", "Authorization", "Bearer bob"); got.status == http.StatusTooManyRequests {
				t.Error("another user's request was refused, want it accepted")
			}
		})
	}
}
