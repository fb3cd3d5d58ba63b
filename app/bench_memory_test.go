//go:build memory

package app

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/chattray/chattray/agents/modeltest/upstream"
	"github.com/chattray/chattray/api"
	"github.com/chattray/chattray/app/settings"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

const (
	pieceOf1K = 1000 // bytes of one piece of the model's text
	closedIn  = 15 * time.Second
)

// resident is the memory of this process, clients and model included, in bytes.
func resident(b *testing.B) int64 {
	b.Helper()
	raw, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		b.Skip(err)
	}
	pages, err := strconv.ParseInt(strings.Fields(string(raw))[1], 10, 64)
	if err != nil {
		b.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}

// grows watches the memory while do runs, and returns its largest growth and
// its growth at the end.
func grows(b *testing.B, do func()) (most, left int64) {
	b.Helper()
	debug.FreeOSMemory()
	before, stop := resident(b), make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			most = max(most, resident(b)-before)
			select {
			case <-tick.C:
			case <-stop:
				return
			}
		}
	})
	do()
	close(stop)
	watch.Wait()
	debug.FreeOSMemory()
	return most, resident(b) - before
}

// bench is the service with its server and ended runs.
type memoryBench struct {
	*testing.B
	s    *Service
	user schemas.User
	addr string
	open sync.Map // connections of the service
}

func newMemoryBench(b *testing.B, size int) *memoryBench {
	up := upstream.NewMemory()
	b.Cleanup(up.Close)
	return memoryBenchOver(b, serviceOver(b, up, strings.Repeat("0123456789", pieceOf1K/10), size/pieceOf1K, settings.Limits{ReplyText: 64 << 20, RunText: 64 << 20}))
}

func memoryBenchOver(b *testing.B, s *Service) *memoryBench {
	m := &memoryBench{B: b, user: schemas.User{ID: "local|dev"}, s: s}
	server := api.NewServer("", m.s.handler)
	server.ConnState = func(c net.Conn, state http.ConnState) {
		if state == http.StateActive {
			m.open.Store(c, true)
		} else {
			m.open.Delete(c) // a websocket ends with its handler
		}
	}
	listener, err := new(net.ListenConfig).Listen(b.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	m.addr = listener.Addr().String()
	go func() { _ = server.Serve(listener) }()
	ctx, cancel := context.WithCancel(context.Background())
	var tuning sync.WaitGroup
	tuning.Go(func() { tuneMemory(ctx) })
	b.Cleanup(func() { _ = server.Close(); cancel(); tuning.Wait() })
	return m
}

// ended starts a run, reads it to its end, and returns its id.
func (m *memoryBench) ended(message string) string {
	run, err := m.s.runs.Start(m.Context(), m.user, &schemas.ChatRequest{Message: message}, record.StartOptions{})
	if err != nil {
		m.Fatal(err)
	}
	request := httptest.NewRequestWithContext(m.Context(), http.MethodGet, "/api/chat/runs/"+run.RunID+"/stream?dialect=messages", nil)
	request.Host = "localhost"
	for isLive(m, m.s, m.user, run.ChatID) {
		m.s.handler.ServeHTTP(&counter{header: http.Header{}}, request)
	}
	return run.RunID
}

// dial connects with a small buffer for what the service sends.
func (m *memoryBench) dial(ctx context.Context) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", m.addr)
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetReadBuffer(4 << 10)
	}
	return conn, err
}

// stall opens a stream that nobody reads.
func (m *memoryBench) stall(run, query string) net.Conn {
	conn, err := m.dial(m.Context())
	if err != nil {
		m.Fatal(err)
	}
	fmt.Fprintf(conn, "GET /api/chat/runs/%s/stream%s HTTP/1.1\r\nHost: %s\r\n\r\n", run, query, m.addr)
	return conn
}

// gone waits until the service has no connection; a stream whose client does not read has
// two minutes.
func (m *memoryBench) gone() time.Duration {
	began := time.Now()
	time.Sleep(time.Second) //nolint:forbidigo // until they are all known
	for time.Since(began) < 12*closedIn {
		left := 0
		m.open.Range(func(any, any) bool { left++; return true })
		if left == 0 {
			break
		}
		time.Sleep(50 * time.Millisecond) //nolint:forbidigo // a measure, not a test
	}
	return time.Since(began)
}

func (m *memoryBench) report(most, left int64, per int, gone time.Duration) {
	m.ReportMetric(float64(most)/(1<<20), "MiB-more")
	m.ReportMetric(float64(left)/(1<<20), "MiB-left")
	if per > 0 {
		m.ReportMetric(float64(most)/1024/float64(per), "KiB-each")
	}
	if gone > 0 {
		m.ReportMetric(gone.Seconds(), "s-until-closed")
	}
	m.ReportMetric(0, "ns/op")
}

// 32 readers of answers of 8 MB that do not read: from the start, and from before
// complete, in both dialects.
func BenchmarkMemoryStalledReaders(b *testing.B) {
	m := newMemoryBench(b, 8<<20)
	var runs []string
	for i := range 4 {
		runs = append(runs, m.ended("question "+strconv.Itoa(i)))
	}
	run, err := m.s.runs.Run(b.Context(), m.user, runs[0])
	if err != nil {
		b.Fatal(err)
	}
	end := "&after=" + strconv.FormatInt(run.LastSequence-3, 10)
	for _, query := range []string{"?dialect=chat", "?dialect=messages", "?dialect=chat" + end, "?dialect=messages" + end} {
		b.Run(query, func(b *testing.B) {
			m.B = b
			var gone time.Duration
			most, left := grows(b, func() {
				for i := range 32 {
					defer m.stall(runs[i%len(runs)], query).Close()
				}
				gone = m.gone()
			})
			m.report(most, left, 32, gone)
		})
	}
}

// 8 sockets that show 32 answers of 8 MB each and do not read.
func BenchmarkMemoryStalledSockets(b *testing.B) {
	m := newMemoryBench(b, 8<<20)
	var runs []string
	for i := range 32 {
		runs = append(runs, m.ended("question "+strconv.Itoa(i)))
	}
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return m.dial(ctx) }}
	most, left := grows(b, func() {
		for range 8 {
			conn, _, err := websocket.Dial(b.Context(), "http://"+m.addr+"/api/ws", &websocket.DialOptions{HTTPClient: &http.Client{Transport: transport}})
			if err != nil {
				b.Fatal(err)
			}
			defer conn.CloseNow()
			for _, run := range runs {
				if err := conn.Write(b.Context(), websocket.MessageText, []byte(`{"name":"resume","run_id":"`+run+`"}`)); err != nil {
					b.Fatal(err)
				}
			}
		}
		time.Sleep(closedIn) //nolint:forbidigo // the server does not know websockets
	})
	m.report(most, left, 8*32, 0)
}

// 9,500 readers of ended runs that do not read, without limits of how many.
func BenchmarkMemoryManyReaders(b *testing.B) {
	const readers = 9500
	m := newMemoryBench(b, 1<<20)
	var runs []string
	for i := range 16 {
		runs = append(runs, m.ended("question "+strconv.Itoa(i)))
	}
	var gone time.Duration
	most, left := grows(b, func() {
		conns := make([]net.Conn, readers)
		for i := range conns {
			conns[i] = m.stall(runs[i%len(runs)], "")
		}
		gone = m.gone()
		for _, conn := range conns {
			_ = conn.Close()
		}
	})
	m.report(most, left, readers, gone)
}

// Four runs at the same time, whose model writes 40 MB in one reply.
func BenchmarkMemoryModelText(b *testing.B) {
	newMemoryBench(b, 40_000_000).fourRuns()
}

// BenchmarkMemoryHostileModel has a model that answers each of up to six calls
// in four runs with 6.7 MB and a call of a tool, under the default limits.
func BenchmarkMemoryHostileModel(b *testing.B) {
	up := upstream.NewMemory()
	b.Cleanup(up.Close)
	text := "data: " + upstream.Chunk(`{"content":"`+strings.Repeat("0123456789", pieceOf1K/10)+`"}`, "null") + "\n\n"
	call := "data: " + upstream.Chunk(`{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"list_streams","arguments":"{}"}}]}`, "null") + "\n\n"
	up.On(upstream.Any, upstream.Open(upstream.Split(strings.Repeat(text, 6_700_000/pieceOf1K)+call, 4096), upstream.Finish("tool_calls"), upstream.Done()))
	memoryBenchOver(b, serviceWith(b, up, up.Transport(), settings.Limits{})).fourRuns()
}

// fourRuns measures four runs at once.
func (m *memoryBench) fourRuns() {
	b := m.B
	most, left := grows(b, func() {
		var group sync.WaitGroup
		for i := range 4 {
			group.Go(func() { m.ended("question " + strconv.Itoa(i)) })
		}
		group.Wait()
	})
	m.report(most, left, 0, 0)
}
