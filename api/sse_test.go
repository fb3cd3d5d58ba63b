package api_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chattray/chattray/api"
	"github.com/chattray/chattray/api/auth"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/runlog"
)

// longRun is a run of many events that every reader follows at its own pace.
type longRun struct {
	events  []runlog.Event
	readers atomic.Int64
}

func newLongRun(n, size int) *longRun {
	l := &longRun{}
	for i := range n {
		e := runlog.Event{Seq: int64(i + 1), Body: &runlog.Text{Text: strings.Repeat("x", size)}}
		if i == n-1 {
			e = runlog.Event{Seq: int64(i + 1), Body: &runlog.Cancelled{}}
		}
		l.events = append(l.events, e)
	}
	return l
}

func (l *longRun) Start(context.Context, schemas.User, *schemas.ChatRequest, record.StartOptions) (schemas.Run, error) {
	return schemas.Run{RunID: "r"}, nil
}

func (*longRun) Leave(schemas.User, string) {}

func (l *longRun) Future(context.Context, schemas.User, string, int64) (bool, error) {
	return false, nil
}

func (l *longRun) LiveIn(context.Context, schemas.User, string) ([]string, error) { return nil, nil }

func (l *longRun) Live(context.Context, schemas.User, string) ([]string, error) { return nil, nil }

func (l *longRun) Later(context.Context, schemas.User, string) ([]string, error) { return nil, nil }

func (l *longRun) Follow(ctx context.Context, _ schemas.User, _ string, after int64, _ time.Duration) (iter.Seq2[[]runlog.Event, error], error) {
	if after >= int64(len(l.events)) {
		return nil, runlog.ErrEnded
	}
	return func(yield func([]runlog.Event, error) bool) {
		l.readers.Add(1)
		defer l.readers.Add(-1)
		for i := after; i < int64(len(l.events)); i += 10 {
			if ctx.Err() != nil {
				yield(nil, context.Cause(ctx))
				return
			}
			if !yield(l.events[i:min(i+10, int64(len(l.events)))], nil) {
				return
			}
		}
	}, nil
}

// serveStreams starts the real server over the streams.
func serveStreams(t *testing.T, streams *longRun, wait time.Duration) (addr string, open *atomic.Int64) {
	t.Helper()
	open = new(atomic.Int64)
	server := api.NewServer("", api.New(api.Options{Auth: auth.Local{}, Streams: streams, StreamWait: wait, Log: slog.New(slog.DiscardHandler)}))
	server.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			open.Add(1)
		case http.StateClosed, http.StateHijacked:
			open.Add(-1)
		case http.StateActive, http.StateIdle:
		}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	}()
	t.Cleanup(func() {
		_ = server.Close()
		<-done
	})
	return listener.Addr().String(), open
}

// dial asks for the run's stream after an event and leaves the answer unread; a window bounds
// what the kernel takes in meanwhile.
func dial(t *testing.T, addr string, after, window int) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	if window > 0 {
		if err := conn.(*net.TCPConn).SetReadBuffer(window); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := fmt.Fprintf(conn, "GET /api/chat/runs/r/stream?after=%d HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", after, addr); err != nil {
		t.Fatal(err)
	}
	return conn
}

// Of 200 readers 100 never read: the others get everything, and no reader is
// left once the stalled ones are detected.
func TestReadersThatNeverRead(t *testing.T) {
	const events, readers, stalled = 600, 100, 100
	streams := newLongRun(events, 1000)
	const wait = 6 * time.Second
	addr, open := serveStreams(t, streams, wait)
	began := time.Now()
	before := runtime.NumGoroutine()
	var idle []net.Conn
	for range stalled {
		idle = append(idle, dial(t, addr, 0, 4096))
	}
	var group sync.WaitGroup
	for range readers {
		conn := dial(t, addr, 0, 0)
		group.Go(func() {
			got := 0
			for { // one that the machine has kept from reading is taken for a stalled one, and comes back
				since := time.Now()
				got = readEvents(t, conn, got)
				if got == events || time.Since(since) < wait || t.Failed() {
					break
				}
				conn = dial(t, addr, got, 0)
			}
			if got != events {
				t.Errorf("got %d events, want %d", got, events)
			}
		})
	}
	group.Wait()
	// On a busy machine the others may need longer than a write may take.
	if n := streams.readers.Load(); n < stalled && time.Since(began) < wait {
		t.Errorf("%d followers are left while %d clients stall; the test does not stall them", n, stalled)
	}
	eventually(t, patience, func() (string, bool) {
		n, c, g := streams.readers.Load(), open.Load(), runtime.NumGoroutine()
		return fmt.Sprintf("%d followers, %d connections, %d goroutines (%d before)", n, c, g, before), n == 0 && c == 0 && g <= before+2
	})
	for _, conn := range idle {
		_ = conn.Close()
	}
}

// readEvents reads a stream to its end, and returns the number of its last event.
func readEvents(t *testing.T, conn net.Conn, after int) int {
	t.Helper()
	defer conn.Close()
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		if id, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
			if id != fmt.Sprint(after+1) {
				t.Errorf("got event %s, want %d", id, after+1)
				return after
			}
			after++
		}
	}
	return after
}

// eventually checks repeatedly until the condition holds or the time is over.
func eventually(t *testing.T, limit time.Duration, holds func() (string, bool)) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(limit); ; <-tick.C {
		state, ok := holds()
		if ok {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("after %v: %s", limit, state)
		}
	}
}
