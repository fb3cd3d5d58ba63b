package relaytest

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
)

// Disorder is a way to a NATS server on which messages that come from it are lost, doubled
// and swapped with the next one.
type Disorder struct {
	// URL is the server at the other end.
	URL    string
	server string
	share  float64

	Passed, Lost, Doubled, Swapped atomic.Int64
}

// NewDisorder makes a way on which the share of the messages, from 0 to 1, does not pass
// in order; it ends with the test.
func NewDisorder(t testing.TB, server string, share float64) *Disorder {
	t.Helper()
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	d := &Disorder{server: u.Host, share: share}
	u.Host = listener.Addr().String()
	d.URL = u.String()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go d.serve(conn)
		}
	}()
	return d
}

func (d *Disorder) serve(near net.Conn) {
	defer near.Close()
	far, err := net.Dial("tcp", d.server)
	if err != nil {
		return // the client tries again
	}
	defer far.Close()
	go func() {
		defer near.Close()
		_ = d.pass(near, bufio.NewReader(far)) // ends when either side does
	}()
	_, _ = io.Copy(far, near) // the same
}

// pass copies what the server sends, until one side ends.
func (d *Disorder) pass(to io.Writer, from *bufio.Reader) error {
	var held string // a message that comes after the next one
	for {
		frame, message, err := readFrame(from)
		if err != nil {
			return err
		}
		if message {
			switch kind := rand.Float64() / d.share * 3; {
			case kind < 1:
				d.Lost.Add(1)
				continue
			case kind < 2:
				d.Doubled.Add(1)
				frame += frame
			case kind < 3 && held == "":
				d.Swapped.Add(1)
				held = frame
				continue
			default:
				d.Passed.Add(1)
			}
			frame, held = frame+held, ""
		}
		if _, err := io.WriteString(to, frame); err != nil {
			return err
		}
	}
}

// readFrame reads one line of the protocol, with the content if it announces a message.
func readFrame(from *bufio.Reader) (frame string, message bool, err error) {
	line, err := from.ReadString('\n')
	fields := strings.Fields(line)
	if err != nil || len(fields) == 0 || fields[0] != "MSG" && fields[0] != "HMSG" {
		return line, false, err
	}
	size, err := strconv.Atoi(fields[len(fields)-1])
	if err != nil {
		return "", false, fmt.Errorf("read %q: %w", line, err)
	}
	content := make([]byte, size+len("\r\n"))
	if _, err := io.ReadFull(from, content); err != nil {
		return "", false, err
	}
	return line + string(content), true, nil
}
