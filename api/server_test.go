package api_test

import (
	"bufio"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/chattray/chattray/api"
)

// TestAnswersOfTheServer has the requests that never reach the handler, whose answers are no
// problems: the contract names their statuses.
func TestAnswersOfTheServer(t *testing.T) {
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := api.NewServer("", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("the handler gets %s %s", r.Method, r.URL) }))
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(l)
	}()
	t.Cleanup(func() {
		_ = server.Close()
		<-done
	})
	long := "GET / HTTP/1.1\r\nHost: a\r\nX: "
	long += strings.Repeat("x", 36<<10-len(long)) // all that the server reads, so that it does not reset the connection
	for _, tt := range []struct {
		request string
		want    int
	}{
		{"no HTTP\r\n\r\n", http.StatusBadRequest},
		{"GET / HTTP/1.1\r\n\r\n", http.StatusBadRequest},
		{"GET / HTTP/1.1\r\nHost: a\r\nExpect: more\r\n\r\n", http.StatusExpectationFailed},
		{long, http.StatusRequestHeaderFieldsTooLarge},
		{"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", http.StatusNotImplemented},
		{"GET / HTTP/3.0\r\nHost: a\r\n\r\n", http.StatusHTTPVersionNotSupported},
	} {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Write([]byte(tt.request)); err != nil {
			t.Fatal(err)
		}
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatalf("%.40q: %v", tt.request, err)
		}
		kind := answer.Header.Get("Content-Type")
		if answer.StatusCode != tt.want || kind != "" && !strings.HasPrefix(kind, "text/plain") || !answer.Close {
			t.Errorf("%.40q gives %d, %s, close %t; want %d", tt.request, answer.StatusCode, kind, answer.Close, tt.want)
		}
		_ = answer.Body.Close()
		_ = conn.Close()
	}
}
