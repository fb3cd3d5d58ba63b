package app

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"runtime"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"github.com/chattray/chattray/agents/modeltest/upstream"
	"github.com/chattray/chattray/agents/openai"
	"github.com/chattray/chattray/api"
	"github.com/chattray/chattray/app/settings"
)

// heldGoroutines is how many goroutines a stream has on which a reader waits for
// the next token, and why each is there:
//
//   - net/http's for the connection: the handler, which encodes and writes;
//   - net/http's that reads the connection meanwhile, so that it is known when the
//     client goes away;
//   - the run: it outlives its readers, so it cannot be the handler;
//   - two of net/http's for the connection to the model server, over HTTP/1.1.
const heldGoroutines = 5

// heldPatience ends only waits that hang.
const heldPatience = 3 * time.Minute

// An open stream has no other goroutine: a token wakes only the run and the
// handler.
func TestHeldStreamGoroutines(t *testing.T) { //nolint:paralleltest // it counts goroutines
	const streams, upstreams = 20, 2 // the model server is in this process
	h := newHeld(t)
	h.open(t, 1) // what is started only once
	before := runtime.NumGoroutine()
	h.open(t, streams)
	deadline := time.Now().Add(heldPatience)
	for tick := time.NewTicker(10 * time.Millisecond); ; <-tick.C {
		got := float64(runtime.NumGoroutine()-before)/streams - upstreams
		if got <= heldGoroutines {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("a held stream has %.1f goroutines, want %d", got, heldGoroutines)
		}
	}
}

// BenchmarkHeldStream measures what a stream costs on which nothing happens.
func BenchmarkHeldStream(b *testing.B) {
	const streams = 500
	h := newHeld(b)
	h.open(b, 10) // what is made once
	stack := []metrics.Sample{{Name: "/memory/classes/heap/stacks:bytes"}, {Name: "/memory/classes/heap/objects:bytes"}}
	read := func() (stacks, objects float64, goroutines int) {
		for range 3 { // a stack shrinks by half in each
			runtime.GC()
		}
		metrics.Read(stack)
		return float64(stack[0].Value.Uint64()), float64(stack[1].Value.Uint64()), runtime.NumGoroutine()
	}
	for b.Loop() {
		stacks, objects, goroutines := read()
		h.open(b, streams)
		moreStacks, moreObjects, more := read()
		// Of the model server, which is in this process, two goroutines.
		b.ReportMetric(float64(more-goroutines)/streams-2, "goroutines/stream")
		b.ReportMetric((moreStacks-stacks)/1024/streams, "KiB-stacks/stream")
		b.ReportMetric((moreObjects-objects)/1024/streams, "KiB-objects/stream")
	}
	b.ReportMetric(0, "ns/op")
}

// held is a service whose model says a word and then nothing.
type held struct {
	addr string
}

func newHeld(t testing.TB) *held {
	up := upstream.New()
	up.On(upstream.Any, upstream.Open(upstream.Say("token "), upstream.Hang()))
	s := serviceWith(t, up, openai.NewTransport(nil), settings.Limits{})
	server := api.NewServer("", s.handler)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(listener)
	}()
	t.Cleanup(func() {
		now, cancel := context.WithCancel(context.Background())
		cancel()
		s.runs.Shutdown(now)
		_ = server.Close()
		<-served
		up.Close()
	})
	return &held{listener.Addr().String()}
}

// open opens streams and waits until each has shown its word.
func (h *held) open(t testing.TB, n int) {
	t.Helper()
	const body = `{"message":"go"}`
	var conns []net.Conn
	for range n {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", h.addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		fmt.Fprintf(conn, "POST /api/chat/stream HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		conns = append(conns, conn)
	}
	for _, conn := range conns {
		_ = conn.SetReadDeadline(time.Now().Add(heldPatience))
		lines := bufio.NewScanner(conn)
		for lines.Scan() && !strings.Contains(lines.Text(), "token ") {
		}
		if err := lines.Err(); err != nil {
			t.Fatal(err)
		}
	}
}
