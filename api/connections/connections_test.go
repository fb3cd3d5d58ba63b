package connections_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chattray/chattray/api"
	"github.com/chattray/chattray/api/connections"
)

// patience bounds what a test waits for.
const patience = 3 * time.Minute

// pipes is a listener whose connections have no buffers.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	if conn, ok := <-p; ok {
		return conn, nil
	}
	return nil, net.ErrClosed
}

func (p pipes) Close() error { return nil }

func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

// limitedServer answers /wait when told to, /body when it has read the body and everything
// else at once, over at most limit connections.
func limitedServer(t *testing.T, limit int) (addr string, answer chan struct{}, entered chan struct{}, listener net.Listener) {
	t.Helper()
	answer, entered = make(chan struct{}), make(chan struct{}, 100)
	server := api.NewServer("", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/body":
			_, _ = io.ReadAll(r.Body)
		case "/wait":
			_, _ = io.ReadAll(r.Body)
			entered <- struct{}{}
			<-answer
		}
	}))
	below, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener = connections.Limit(server, below, limit, slog.New(slog.DiscardHandler))
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	t.Cleanup(func() {
		_ = server.Close() // the listener may be closed already
		if err := <-done; !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
			t.Errorf("the server ended with %v", err)
		}
	})
	return below.Addr().String(), answer, entered, listener
}

// request sends one request over a connection and returns the connection.
func request(t *testing.T, addr, path string) net.Conn {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	write(t, conn, "GET "+path+" HTTP/1.1\r\nHost: localhost\r\n\r\n")
	return conn
}

func write(t *testing.T, conn net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
}

func answered(t *testing.T, conn net.Conn) {
	t.Helper()
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/", nil)
	res, err := http.ReadResponse(bufio.NewReader(conn), req)
	if err != nil {
		t.Fatalf("no answer: %v", err)
	}
	_ = res.Body.Close()
}

// TestConnectionsAreLimited shows that one more connection waits until another
// ends, and is answered then.
func TestConnectionsAreLimited(t *testing.T) {
	addr, answer, entered, _ := limitedServer(t, 2)
	first, second := request(t, addr, "/wait"), request(t, addr, "/wait")
	<-entered
	<-entered
	third := request(t, addr, "/wait")
	answer <- struct{}{} // one of the two is idle now, and makes room
	<-entered
	close(answer)
	for _, conn := range []net.Conn{first, second, third} {
		answered(t, conn)
	}
}

// TestIdleConnectionsMakeRoom shows that idle connections do not block new
// ones.
func TestIdleConnectionsMakeRoom(t *testing.T) {
	addr, _, _, _ := limitedServer(t, 2)
	for range 20 {
		answered(t, request(t, addr, "/"))
	}
}

// TestSilentConnectionsMakeRoom shows that connections which send nothing, or only
// the beginning of a header, or no body, do not block new ones.
func TestSilentConnectionsMakeRoom(t *testing.T) {
	for name, sent := range map[string]string{
		"nothing": "", "half a header": "GET / HTTP/1.1\r\nHost: loc",
		"no body": "POST /body HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			addr, _, _, _ := limitedServer(t, 2)
			for range 20 {
				conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", addr)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = conn.Close() })
				write(t, conn, sent)
			}
			answered(t, request(t, addr, "/"))
		})
	}
}

// TestConnectionsWithABodyAreBusy shows that a connection whose body has arrived is not
// closed for another one, also if it had requests before whose bodies only the server has read.
func TestConnectionsWithABodyAreBusy(t *testing.T) {
	addr, answer, entered, _ := limitedServer(t, 2)
	conn := request(t, addr, "/")
	answered(t, conn)
	for range 2 {
		write(t, conn, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\nx")
		answered(t, conn)
	}
	write(t, conn, "POST /wait HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\nx")
	<-entered
	for range 3 {
		answered(t, request(t, addr, "/"))
	}
	answer <- struct{}{}
	answered(t, conn)
}

// TestWaitingConnectionsEndWithTheListener shows that Accept returns although
// there is no room.
func TestWaitingConnectionsEndWithTheListener(t *testing.T) {
	addr, answer, entered, listener := limitedServer(t, 1)
	request(t, addr, "/wait")
	<-entered
	waits := request(t, addr, "/wait")
	defer close(answer)
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(waits); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("reading the waiting connection: %v, want it closed", err)
	}
}

// broken is a listener whose Accept fails.
type broken struct {
	net.Listener
	err error
}

func (b broken) Accept() (net.Conn, error) { return nil, b.err }

// TestConnectionsThatCannotBeAccepted shows that the log says once when the service cannot
// be reached, and that the server has the error, after which it tries again.
func TestConnectionsThatCannotBeAccepted(t *testing.T) {
	var log bytes.Buffer
	none := &net.OpError{Op: "accept", Err: syscall.EMFILE}
	for _, err := range []error{none, none, &net.OpError{Op: "accept", Err: net.ErrClosed}} {
		listener := connections.Limit(api.NewServer("", http.NotFoundHandler()), broken{err: err}, 1, slog.New(slog.NewTextHandler(&log, nil)))
		for range 3 {
			if _, got := listener.Accept(); !errors.Is(got, err) {
				t.Errorf("Accept returns %v, want %v", got, err)
			}
		}
	}
	if got := log.String(); strings.Count(got, "\n") != 2 || strings.Count(got, "level=ERROR") != 2 || !strings.Contains(got, syscall.EMFILE.Error()) {
		t.Errorf("listeners of which two fail and one is closed log\n%s", got)
	}
}

// TestLimitedConnectionsKeepTheirSocket shows that the server finds the socket
// below, whose buffer it bounds.
func TestLimitedConnectionsKeepTheirSocket(t *testing.T) {
	below, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener := connections.Limit(api.NewServer("", http.NotFoundHandler()), below, 1, slog.New(slog.DiscardHandler))
	defer func() { _ = listener.Close() }()
	go func() {
		if conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", below.Addr().String()); err == nil {
			defer func() { _ = conn.Close() }()
			_, _ = conn.Read(make([]byte, 1))
		}
	}()
	conn, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	inner, ok := conn.(interface{ NetConn() net.Conn })
	if !ok {
		t.Fatalf("%T hides its socket", conn)
	}
	if _, ok := inner.NetConn().(*net.TCPConn); !ok {
		t.Errorf("below is %T", inner.NetConn())
	}
}

// TestConnectionThatBecomesIdleMakesRoom shows that a connection which waits for room gets
// it when another one has its answer.
func TestConnectionThatBecomesIdleMakesRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer := make(chan struct{})
		server := api.NewServer("", http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-answer }))
		list := make(pipes)
		listener := connections.Limit(server, list, 1, slog.New(slog.DiscardHandler))
		go func() { _ = server.Serve(listener) }()
		defer func() { close(list); _ = server.Close() }()
		dial := func() net.Conn {
			client, conn := net.Pipe()
			if err := client.SetDeadline(time.Now().Add(time.Second)); err != nil {
				t.Fatal(err)
			}
			list <- conn
			go func() { _, _ = io.WriteString(client, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n") }()
			synctest.Wait()
			return client
		}
		first, second := dial(), dial()
		close(answer)
		answered(t, first)
		answered(t, second)
	})
}

// TestWaitingConnectionsAreAllAnswered shows that connections which have sent their requests
// while they waited for room are not closed for each other, and that the log says that they wait.
func TestWaitingConnectionsAreAllAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer := make(chan struct{})
		server := api.NewServer("", http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-answer }))
		list := make(pipes, 10)
		var log bytes.Buffer
		listener := connections.Limit(server, list, 2, slog.New(slog.NewTextHandler(&log, nil)))
		go func() { _ = server.Serve(listener) }()
		defer func() { close(list); _ = server.Close() }()
		var clients []net.Conn
		for range cap(list) {
			client, conn := net.Pipe()
			if err := client.SetDeadline(time.Now().Add(time.Minute)); err != nil {
				t.Fatal(err)
			}
			list <- conn
			go func() { _, _ = io.WriteString(client, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n") }()
			clients = append(clients, client)
		}
		<-time.After(time.Second) // they have sent their requests
		synctest.Wait()
		if want := "all connections of clients are in use"; strings.Count(log.String(), want) != 1 {
			t.Errorf("the log is %q, want one line with %q", log.String(), want)
		}
		close(answer)
		for _, client := range clients {
			answered(t, client)
		}
	})
}

// TestConnectionThatIsClosedTwiceMakesRoomOnce shows that a connection counts until it is
// closed, however often that is.
func TestConnectionThatIsClosedTwiceMakesRoomOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		list := make(pipes)
		listener := connections.Limit(api.NewServer("", http.NotFoundHandler()), list, 1, slog.New(slog.DiscardHandler))
		accepted := make(chan net.Conn, 3)
		go func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				accepted <- conn
			}
		}()
		for range 2 {
			_, conn := net.Pipe()
			list <- conn
		}
		first := <-accepted
		_, _ = first.Close(), first.Close()
		<-accepted
		_, third := net.Pipe()
		list <- third
		synctest.Wait()
		if len(accepted) > 0 {
			t.Error("two connections are open, want one")
		}
		_ = listener.Close()
		close(list)
	})
}
