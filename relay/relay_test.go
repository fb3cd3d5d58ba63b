package relay_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chattray/chattray/relay"
	"github.com/chattray/chattray/relay/relaytest"
)

// wait bounds every wait.
const wait = 30 * time.Second

// carrier is what both carriers do.
type carrier interface {
	Up() bool
	Send(to string, message []byte) error
	SendAll(message []byte) error
	Receive(id string, f func([]byte)) error
}

func connect(t *testing.T, url, service string) *relay.NATS {
	t.Helper()
	n, err := relay.Connect(relay.Options{URL: url, Service: service, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Close)
	return n
}

// until sends until a message arrives: what is sent before the other one listens is lost.
func until(t *testing.T, send func() error, got <-chan string, want string) {
	t.Helper()
	deadline := time.After(wait)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if err := send(); err != nil && !errors.Is(err, relay.ErrDown) {
			t.Fatal(err)
		}
		select {
		case message := <-got:
			if message == want {
				return
			}
		case <-tick.C:
		case <-deadline:
			t.Fatalf("%q has not arrived after %v", want, wait)
		}
	}
}

func listen(t *testing.T, c carrier, id string) <-chan string {
	t.Helper()
	got := make(chan string, 10_000)
	if err := c.Receive(id, func(m []byte) { got <- string(m) }); err != nil {
		t.Fatal(err)
	}
	return got
}

// Messages reach the participant that they are for, and all others if they are for all.
func TestCarriers(t *testing.T) {
	var memory relaytest.Memory
	server := relaytest.Start(t)
	for name, port := range map[string]func() carrier{
		"memory": func() carrier { return memory.Port() },
		"nats":   func() carrier { return connect(t, server.URL, "s") },
	} {
		t.Run(name, func(t *testing.T) {
			a, b, c := port(), port(), port()
			atA, atB, atC := listen(t, a, "a"), listen(t, b, "b"), listen(t, c, "c")
			until(t, func() error { return a.Send("b", []byte("to b")) }, atB, "to b")
			toAll := func() error { return a.SendAll([]byte("to all")) }
			until(t, toAll, atB, "to all")
			until(t, toAll, atC, "to all") // it may listen later than the other one
			until(t, func() error { return b.Send("a", []byte("to a")) }, atA, "to a")
			for len(atC) > 0 {
				if m := <-atC; m != "to all" {
					t.Errorf("c got %q, want only what is for all", m)
				}
			}
			for len(atA) > 0 {
				if m := <-atA; m != "to a" {
					t.Errorf("a got %q, want nothing of its own", m)
				}
			}
			again := listen(t, b, "b2")
			until(t, func() error { return a.Send("b2", []byte("new id")) }, again, "new id")
		})
	}
}

// A carrier is there before its server, is down while that is away, loses what is sent
// meanwhile, and works again afterwards. Other databases' messages do not arrive.
func TestServerAway(t *testing.T) {
	server := relaytest.Start(t)
	server.Kill()
	a, b, other := connect(t, server.URL, "one"), connect(t, server.URL, "one"), connect(t, server.URL, "two")
	atB, atOther := listen(t, b, "b"), listen(t, other, "b")
	if err := a.Send("b", []byte("x")); !errors.Is(err, relay.ErrDown) {
		t.Errorf("without a server: got %v, want ErrDown", err)
	}
	server.Start()
	until(t, func() error { return a.Send("b", []byte("first")) }, atB, "first")
	server.Kill()
	for deadline := time.Now().Add(wait); a.Up(); <-time.After(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it is up without a server, want down")
		}
	}
	if err := a.SendAll([]byte("lost")); !errors.Is(err, relay.ErrDown) {
		t.Errorf("while the server is away: got %v, want ErrDown", err)
	}
	server.Start()
	until(t, func() error { return a.Send("b", []byte("again")) }, atB, "again")
	if n := len(atOther); n != 0 {
		t.Errorf("another database's process got %d messages, want none", n)
	}
}

// lines are what is logged.
type lines chan string

func (l lines) Write(line []byte) (int, error) {
	l <- string(line)
	return len(line), nil
}

// The log says why there is no connection, from the start on, and that there is one. That an
// attempt fails for another reason than the one before is said too: a server that was
// restarted may have a certificate that has expired.
func TestWhyThereIsNoConnection(t *testing.T) {
	server := relaytest.Start(t)
	server.Kill()
	logged := make(lines, 100)
	n, err := relay.Connect(relay.Options{URL: server.URL, Service: "one", Logger: slog.New(slog.NewTextHandler(logged, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Close)
	next := func(want string) {
		t.Helper()
		select {
		case line := <-logged:
			if !strings.Contains(line, want) {
				t.Errorf("logged: %s; want %q", line, want)
			}
		case <-time.After(wait):
			t.Fatalf("nothing is logged, want %q", want)
		}
	}
	next("connection refused")
	server.Start()
	next("nats is connected")
	server.Kill()
	next("nats is away")
	next("connection refused")
	server.Start()
	next("nats is connected again")
}

// The credentials are refused for a while, such as those that are being replaced. The carrier
// is up again when they are taken.
func TestRefusedCredentials(t *testing.T) {
	server := relaytest.Start(t)
	server.Kill()
	const user = `authorization { users = [ {user: u, password: "%s"} ] }`
	server.Config = fmt.Sprintf(user, "another")
	server.Start()
	logged := make(lines, 100)
	n, err := relay.Connect(relay.Options{
		URL: strings.Replace(server.URL, "//", "//u:secret@", 1), Service: "one", Logger: slog.New(slog.NewTextHandler(logged, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Close)
	for deadline := time.Now().Add(wait); server.Connections() < 4; <-time.After(10 * time.Millisecond) { // attempts
		if time.Now().After(deadline) {
			t.Fatalf("%d attempts were made, want one after the other", server.Connections())
		}
	}
	server.Kill()
	server.Config = fmt.Sprintf(user, "secret")
	server.Start()
	for deadline := time.Now().Add(wait); !n.Up(); <-time.After(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it is down although its credentials are taken now")
		}
	}
	for len(logged) > 0 {
		if line := <-logged; strings.Contains(line, "secret") {
			t.Errorf("logged: %s; want no password", line)
		}
	}
}

// The user of NATS may not send. What is sent is lost, and the log says so from time to time,
// not for each message.
func TestNoPermissionToSend(t *testing.T) {
	server := relaytest.Start(t)
	server.Kill()
	server.Config = `authorization { users = [ {user: u, password: p, permissions: {publish: {deny: ">"}, subscribe: ">"}} ] }`
	server.Start()
	logged := make(lines, 1000)
	n, err := relay.Connect(relay.Options{
		URL: strings.Replace(server.URL, "//", "//u:p@", 1), Service: "one", Logger: slog.New(slog.NewTextHandler(logged, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 500 {
		if err := n.SendAll([]byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	n.Close() // after the server has answered
	select {
	case line := <-logged:
		if !strings.Contains(strings.ToLower(line), "permissions violation") {
			t.Errorf("logged: %s; want why", line)
		}
	case <-time.After(wait):
		t.Fatal("nothing is logged, want why")
	}
	if more := len(logged); more != 0 {
		t.Errorf("500 messages that may not be sent are %d more warnings, want none", more)
	}
}

// The user of NATS may not listen, until the server gets other settings. The log says so
// whatever else was wrong shortly before, and then messages arrive, on the same connection.
func TestNoPermissionToListen(t *testing.T) {
	server := relaytest.Start(t)
	server.Kill()
	const user = `authorization { users = [ {user: u, password: p, permissions: {publish: {deny: "chattray.one.r.b"}%s}} ] }`
	server.Config = fmt.Sprintf(user, `, subscribe: {deny: ">"}`)
	server.Start()
	logged, got := make(lines, 1000), make(chan string, 1000)
	n, err := relay.Connect(relay.Options{
		URL: strings.Replace(server.URL, "//", "//u:p@", 1), Service: "one", Logger: slog.New(slog.NewTextHandler(logged, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Close)
	if err := errors.Join(n.Send("b", []byte("x")), n.Receive("me", func(m []byte) { got <- string(m) })); err != nil {
		t.Fatal(err)
	}
	for told := make(map[string]bool); len(told) < 3; {
		select {
		case line := <-logged:
			for _, subject := range []string{`one.r.b`, `one.r.me`, `one.all`} {
				if strings.Contains(line, subject) {
					told[subject] = true
				}
			}
		case <-time.After(wait):
			t.Fatalf("logged are only %v, want the three subjects that are refused", told)
		}
	}
	other := connect(t, strings.Replace(server.URL, "//", "//u:p@", 1), "one")
	before := server.Connections()
	server.Config = fmt.Sprintf(user, "")
	server.Reload()
	until(t, func() error { return other.Send("me", []byte("to me")) }, got, "to me")
	until(t, func() error { return other.SendAll([]byte("to all")) }, got, "to all")
	if now := server.Connections(); now != before {
		t.Errorf("there are %d more connections, want the same", now-before)
	}
}

// The server takes only shorter messages. The log says so: the connection is up, but other
// processes' runs are read from the database.
func TestMessagesThatAreTooLarge(t *testing.T) {
	server := relaytest.Start(t)
	server.Kill()
	server.Config = "max_payload: 1024"
	server.Start()
	logged := make(lines, 100)
	n, err := relay.Connect(relay.Options{URL: server.URL, Service: "one", Logger: slog.New(slog.NewTextHandler(logged, &slog.HandlerOptions{Level: slog.LevelWarn}))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Close)
	for range 3 {
		if err := n.Send("b", make([]byte, 2048)); err == nil {
			t.Error("a message of 2 KiB is sent, want an error")
		}
	}
	if len(logged) != 1 {
		t.Fatalf("logged %d lines, want 1", len(logged))
	}
	if line := <-logged; !strings.Contains(line, "maximum payload") {
		t.Errorf("logged: %s, want why", line)
	}
}

// A server ends the connection with an error after which the library makes no other, such
// as for messages that have become too large with new settings. The log says so, and another
// connection is made with the same subscriptions. Nothing is said and made after Close.
func TestClosedForGood(t *testing.T) {
	logged, seen := make(lines, 100), make(chan string, 100)
	connect := func(answer string) *relay.NATS {
		server, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = server.Close() })
		go func() {
			for n := 1; ; n++ {
				conn, err := server.Accept()
				if err != nil {
					return
				}
				_, _ = io.WriteString(conn, "INFO {\"proto\":1,\"max_payload\":1048576}\r\n")
				for line := bufio.NewScanner(conn); line.Scan(); {
					switch word, rest, _ := strings.Cut(line.Text(), " "); word {
					case "PING":
						_, _ = io.WriteString(conn, "PONG\r\n")
					case "PUB":
						_, _ = io.WriteString(conn, answer)
					case "SUB":
						subject, _, _ := strings.Cut(rest, " ")
						seen <- strconv.Itoa(n) + " " + subject
					}
				}
				_ = conn.Close()
			}
		}()
		n, err := relay.Connect(relay.Options{URL: "nats://" + server.Addr().String(), Service: "one", Logger: slog.New(slog.NewTextHandler(logged, &slog.HandlerOptions{Level: slog.LevelWarn}))})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(n.Receive("me", func([]byte) {}), n.SendAll([]byte("x"))); err != nil {
			t.Fatal(err)
		}
		next(t, seen, "1 chattray.one.all")
		next(t, seen, "1 chattray.one.r.me")
		return n
	}
	connect("").Close()
	t.Cleanup(connect("-ERR 'Maximum Payload Violation'\r\n").Close)
	select {
	case line := <-logged:
		if !strings.Contains(line, "nats is away") || !strings.Contains(line, "Maximum Payload Violation") {
			t.Errorf("logged: %s; want that nats is away, and why", line)
		}
	case <-time.After(wait):
		t.Fatal("nothing is logged, want that nats is away")
	}
	next(t, seen, "2 chattray.one.all")
	next(t, seen, "2 chattray.one.r.me")
	if more := len(logged); more != 0 {
		t.Errorf("%d more lines are logged, want none: the other connection was closed here", more)
	}
}

// next receives a text from a channel.
func next(t *testing.T, from <-chan string, want string) {
	t.Helper()
	select {
	case got := <-from:
		if got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	case <-time.After(wait):
		t.Fatalf("got nothing, want %q", want)
	}
}
