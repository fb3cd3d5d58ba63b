package api_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chattray/chattray/api"
)

func TestServerLimits(t *testing.T) {
	s := api.NewServer("127.0.0.1:0", http.NotFoundHandler())
	if s.ReadHeaderTimeout != 10*time.Second || s.IdleTimeout != 2*time.Minute || s.MaxHeaderBytes != 32<<10 || s.WriteTimeout != 0 || !s.DisableGeneralOptionsHandler {
		t.Errorf("got %v %v %v %v", s.ReadHeaderTimeout, s.IdleTimeout, s.MaxHeaderBytes, s.WriteTimeout)
	}
	socket := &bufferedConn{}
	for _, conn := range []net.Conn{socket, secured{socket}} {
		socket.size = 0
		s.ConnContext(context.Background(), conn)
		if socket.size != api.SendBuffer {
			t.Errorf("the send buffer of %T is %d, want %d", conn, socket.size, api.SendBuffer)
		}
	}
}

func write(t *testing.T, conn net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
}

type bufferedConn struct {
	net.Conn
	size int
}

func (c *bufferedConn) SetWriteBuffer(n int) error { c.size = n; return nil }

// secured hides its socket, as TLS does.
type secured struct{ inner net.Conn }

func (c secured) NetConn() net.Conn                { return c.inner }
func (c secured) Read([]byte) (int, error)         { return 0, io.EOF }
func (c secured) Write([]byte) (int, error)        { return 0, io.EOF }
func (c secured) Close() error                     { return nil }
func (c secured) LocalAddr() net.Addr              { return nil }
func (c secured) RemoteAddr() net.Addr             { return nil }
func (c secured) SetDeadline(time.Time) error      { return nil }
func (c secured) SetReadDeadline(time.Time) error  { return nil }
func (c secured) SetWriteDeadline(time.Time) error { return nil }

// TestBodyThatDoesNotEnd shows that a deadline on the connection ends the wait
// for a body with 408 and closes the connection.
func TestBodyThatDoesNotEnd(t *testing.T) {
	_, ts := newTestEnv(t, nil)
	handler := ts.Config.Handler
	ts.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler.ServeHTTP(hastyWriter{w}, r)
	})
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", ts.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_, err = io.WriteString(conn, "PATCH /api/chats/789 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer alice\r\n"+
		"Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"title\":")
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(conn)
	if err != nil && !errors.Is(err, net.ErrClosed) {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(got), "HTTP/1.1 408 ") || !strings.Contains(string(got), `"code":"request_timeout"`) {
		t.Errorf("got %s", got)
	}
}

// TestRefusedBodyOfAClientThatOnlySends checks that a client that sends its
// whole body before it reads gets the answer, and that a client that waits for
// "100 Continue" is not asked to send.
func TestRefusedBodyOfAClientThatOnlySends(t *testing.T) {
	_, ts := newTestEnv(t, nil)
	const size = 9 << 20
	for _, tt := range []struct{ name, head, body string }{
		{"sends", "", strings.Repeat("x", size)},
		{"waits", "Expect: 100-continue\r\n", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", ts.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			head := fmt.Sprintf("POST /api/chat HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer alice\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%s\r\n", size, tt.head)
			if _, err := io.WriteString(conn, head+tt.body); err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(conn)
			if err != nil || !strings.HasPrefix(string(got), "HTTP/1.1 413 ") {
				t.Errorf("got %.100q, %v", got, err)
			}
		})
	}
}

// TestAnswersDoNotWaitForABody sends headers that announce a body and nothing more.
func TestAnswersDoNotWaitForABody(t *testing.T) {
	_, ts := newTestEnv(t, func(_ *testEnv, o *api.Options) { o.BodyWait = time.Hour })
	for _, tt := range []struct {
		request string
		want    int
	}{
		{"GET /healthz", http.StatusOK},
		{"GET /metrics", http.StatusOK},
		{"GET /assets/index.js", http.StatusOK},
		{"POST /api/chat", http.StatusUnauthorized},
		{"GET /api/me", http.StatusUnauthorized},
		{"POST /nope", http.StatusNotFound},
		{"POST /healthz", http.StatusMethodNotAllowed},
	} {
		for _, length := range []string{"Content-Length: 1", "Content-Length: 100000000", "Transfer-Encoding: chunked"} {
			t.Run(tt.request+" "+length, func(t *testing.T) {
				conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", ts.Listener.Addr().String())
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = conn.Close() }()
				if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
					t.Fatal(err)
				}
				write(t, conn, tt.request+" HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"+length+"\r\n\r\n")
				res, err := http.ReadResponse(bufio.NewReader(conn), nil)
				if err != nil {
					t.Fatal(err)
				}
				_ = res.Body.Close()
				if res.StatusCode != tt.want || !res.Close {
					t.Errorf("got %d, close %t; want %d and a connection that is closed", res.StatusCode, res.Close, tt.want)
				}
			})
		}
	}
}

// TestRefusedBodiesAreNotAwaited sends the head of a request whose body is refused, and no
// more: the whole answer comes at once, in the form of the route's wire.
func TestRefusedBodiesAreNotAwaited(t *testing.T) {
	_, ts := newTestEnv(t, func(_ *testEnv, o *api.Options) { o.BodyWait = time.Hour })
	const json, large = "Content-Type: application/json\r\n", "Content-Length: 100000000\r\n"
	for _, tt := range []struct {
		name, request, head string
		want                int
	}{
		{"too large", "POST /api/chat/stream", json + large, http.StatusRequestEntityTooLarge},
		{"too large for a wire", "POST /v1/chat/completions", json + large, http.StatusRequestEntityTooLarge},
		{"no JSON", "POST /api/chat/stream", "Content-Length: 1\r\n", http.StatusUnsupportedMediaType},
		{"no JSON, chunked", "POST /api/chat/stream", "Transfer-Encoding: chunked\r\n", http.StatusUnsupportedMediaType},
		{"on a route without one", "GET /api/me", large, http.StatusRequestEntityTooLarge},
	} {
		t.Run(tt.name, func(t *testing.T) {
			conn := dialRaw(t, ts)
			write(t, conn, tt.request+" HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer alice\r\n"+tt.head+"\r\n")
			res, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(res.Body)
			if err := errors.Join(err, res.Body.Close()); err != nil || res.StatusCode != tt.want || !res.Close || len(got) == 0 {
				t.Errorf("got %d, close %t, %q, %v; want %d and a connection that is closed", res.StatusCode, res.Close, got, err, tt.want)
			}
		})
	}
}

// hastyWriter makes every read deadline expire immediately.
type hastyWriter struct{ http.ResponseWriter }

func (w hastyWriter) SetReadDeadline(d time.Time) error {
	if !d.IsZero() {
		d = time.Now()
	}
	return http.NewResponseController(w.ResponseWriter).SetReadDeadline(d)
}

// TestCORSOfWires asks for headers that only clients of wires and of MCP send.
func TestCORSOfWires(t *testing.T) {
	_, ts := newTestEnv(t, func(_ *testEnv, o *api.Options) { o.CORSOrigins = []string{"https://app.example"} })
	for _, tt := range []struct {
		path, origin string
		want         bool
	}{
		{"/v1/chat/completions", "https://app.example", true},
		{"/v1/responses", "https://app.example", true},
		{"/v1/responses/resp_1", "https://app.example", true},
		{"/api/ui", "https://app.example", true},
		{"/mcp", "https://app.example", true},
		{"/mcp", "https://evil.example", false},
		{"/v1/chat/completions", "https://evil.example", false},
		{"/api/chat/stream", "https://app.example", false},
	} {
		got, _ := send(t, ts.URL, "OPTIONS", tt.path, "", "Authorization", "-", "Origin", tt.origin,
			"Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "authorization,x-stainless-os")
		if allowed := strings.Contains(got.header.Get("Access-Control-Allow-Headers"), "x-stainless-os"); allowed != tt.want {
			t.Errorf("the preflight of %s from %s allows %q", tt.path, tt.origin, got.header.Get("Access-Control-Allow-Headers"))
		}
	}
}

func TestCORS(t *testing.T) {
	_, ts := newTestEnv(t, func(_ *testEnv, o *api.Options) { o.CORSOrigins = []string{"https://app.example"} })
	for _, tt := range []struct{ origin, want string }{
		{"https://app.example", "https://app.example"},
		{"https://app.example.evil.test", ""},
		{"https://sub.app.example", ""},
		{"null", ""},
	} {
		t.Run(tt.origin, func(t *testing.T) {
			got, _ := send(t, ts.URL, "OPTIONS", "/api/chat/stream", "", "Authorization", "-", "Origin", tt.origin,
				"Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "authorization,content-type")
			if got.status != http.StatusNoContent || got.header.Get("Access-Control-Allow-Origin") != tt.want {
				t.Errorf("preflight gives %d %q, want 204 %q", got.status, got.header.Get("Access-Control-Allow-Origin"), tt.want)
			}
			if allowed := got.header.Get("Access-Control-Allow-Headers"); tt.want != "" && !strings.Contains(allowed, "Traceparent,Tracestate") {
				t.Errorf("preflight allows %q, want the headers of traces too", allowed)
			}
			if h := got.header.Get("X-Content-Type-Options"); h != "nosniff" {
				t.Errorf("preflight has X-Content-Type-Options %q", h)
			}
			got, _ = send(t, ts.URL, "GET", "/api/me", "", "Authorization", "-", "Origin", tt.origin)
			if got.status != 401 || got.header.Get("Access-Control-Allow-Origin") != tt.want {
				t.Errorf("a refused request gives %d %q, want 401 %q", got.status, got.header.Get("Access-Control-Allow-Origin"), tt.want)
			}
			if tt.want != "" && !strings.Contains(got.header.Get("Access-Control-Expose-Headers"), "X-Run-Id") {
				t.Errorf("X-Run-Id is not exposed: %v", got.header)
			}
		})
	}
}

func TestNoCORS(t *testing.T) {
	_, ts := newTestEnv(t, nil)
	got, _ := send(t, ts.URL, "GET", "/api/me", "", "Origin", "https://app.example")
	if h := got.header.Get("Access-Control-Allow-Origin"); h != "" {
		t.Errorf("without origins configured, %q may call", h)
	}
}
