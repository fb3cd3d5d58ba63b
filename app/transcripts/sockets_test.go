package transcripts

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
	"golang.org/x/tools/txtar"

	"github.com/chattray/chattray/api/auth"
	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/schemas"
)

// withFixture runs a test with its own service in a bubble of testing/synctest, and stops
// the service. The model answers as in the part upstream of a transcript.
func withFixture(t *testing.T, upstream string, do func(s *fixture)) {
	t.Helper()
	withFixtureOn(t, apptest.SQLite, "", upstream, do)
}

// withFixtureOn is withFixture on a database, with more settings.
func withFixtureOn(t *testing.T, d apptest.Database, settings, upstream string, do func(s *fixture)) {
	t.Helper()
	database := sampled(t, d)(t)
	archive := &txtar.Archive{Files: []txtar.File{
		{Name: "settings", Data: []byte("CHATTRAY_REQUESTS_PER_MINUTE=0\n" + settings)}, {Name: "upstream", Data: []byte(upstream)},
	}}
	synctest.Test(t, func(t *testing.T) {
		s := newFixture(t, database, "", archive)
		s.start()
		defer s.stop()
		do(s)
	})
}

// bubble counts the goroutines of the caller's bubble, once all of them wait and idle
// connections are closed.
func (s *fixture) bubble() int {
	s.t.Helper()
	s.client.CloseIdleConnections()
	synctest.Wait()
	all := make([]byte, 8<<20)
	all = all[:runtime.Stack(all, true)]
	head, _, _ := bytes.Cut(all, []byte("\n")) // of the caller
	at := bytes.Index(head, []byte("synctest bubble "))
	if at < 0 {
		s.t.Fatalf("no bubble in %s", head)
	}
	own := bytes.TrimSuffix(head[at:], []byte("]:"))
	return bytes.Count(all, append(own, "]:"...))
}

// dialled opens a websocket as a user whose token is valid for life.
func (s *fixture) dialled(user string, life time.Duration, o websocket.DialOptions) *websocket.Conn {
	s.t.Helper()
	token, err := auth.SignToken(canarySecret, "", schemas.User{Name: user}, time.Now(), time.Now().Add(life))
	if err != nil {
		s.t.Fatal(err)
	}
	o.HTTPClient, o.HTTPHeader = s.client, http.Header{"Authorization": {"Bearer " + token}}
	conn, _, err := websocket.Dial(context.Background(), "http://chattray.test/api/ws", &o)
	if err != nil {
		s.t.Fatal(err)
	}
	conn.SetReadLimit(16 << 20)
	return conn
}

// raw opens a websocket whose bytes the test writes itself.
func (s *fixture) raw(user string) net.Conn {
	s.t.Helper()
	conn, err := s.wire.dial(context.Background())
	if err != nil {
		s.t.Fatal(err)
	}
	_, err = fmt.Fprintf(conn, "GET /api/ws HTTP/1.1\r\nHost: chattray.test\r\nAuthorization: Bearer %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n", s.bearer(user, nil))
	head := make([]byte, 4096)
	n, readErr := conn.Read(head)
	if err := errors.Join(err, readErr); err != nil || !strings.HasPrefix(string(head[:n]), "HTTP/1.1 101") {
		s.t.Fatalf("%s, %v", head[:n], err)
	}
	return conn
}

// closed reads a websocket to its end. It returns the close code, -1 for a connection that
// was cut, and what came before.
func closed(conn *websocket.Conn) (code websocket.StatusCode, frames []string) {
	for {
		_, frame, err := conn.Read(context.Background())
		if err != nil {
			return websocket.CloseStatus(err), frames
		}
		frames = append(frames, string(frame))
	}
}

const stopFrame = `{"name":"stop","chat_id":"none"}`

// writes is an attack with well-formed frames.
func writes(kind websocket.MessageType, frame []byte, times int) func(s *fixture) websocket.StatusCode {
	return func(s *fixture) websocket.StatusCode {
		conn := s.dialled("una", time.Hour, websocket.DialOptions{})
		go func() {
			for range times {
				if conn.Write(context.Background(), kind, frame) != nil {
					return // it is closed
				}
			}
		}()
		code, _ := closed(conn)
		return code
	}
}

// sends is an attack with raw bytes; it reads the close code if there is one.
func sends(frame string, answers bool) func(s *fixture) websocket.StatusCode {
	return func(s *fixture) websocket.StatusCode {
		conn := s.raw("una")
		defer conn.Close()
		if _, err := conn.Write([]byte(frame)); err != nil || !answers {
			return -1
		}
		head := make([]byte, 4) // of a frame that closes, with its code
		if _, err := io.ReadFull(conn, head[:2]); err != nil || head[0] != 0x88 {
			return -1
		}
		if _, err := io.ReadFull(conn, head[2:]); err != nil {
			return -1
		}
		return websocket.StatusCode(int(head[2])<<8 | int(head[3]))
	}
}

// hostile is a client and how its socket ends; -1 is a connection that is cut.
type hostile struct {
	name   string
	attack func(s *fixture) websocket.StatusCode
	want   websocket.StatusCode
}

// hostiles are all kinds of clients that a socket must survive.
func hostiles() []hostile {
	large := bytes.Repeat([]byte("x"), 10<<20)
	return []hostile{
		{"a frame of 10 MiB", writes(websocket.MessageText, large, 1), websocket.StatusMessageTooBig},
		{"a binary frame of 10 MiB", writes(websocket.MessageBinary, large, 1), websocket.StatusMessageTooBig},
		{"1,000 frames", writes(websocket.MessageText, []byte(stopFrame), 1000), websocket.StatusPolicyViolation},
		{"1,000 binary frames", writes(websocket.MessageBinary, []byte("x"), 1000), websocket.StatusPolicyViolation},
		{"a frame without a mask", sends("\x81\x02{}", true), websocket.StatusProtocolError},
		{"reserved bits", sends("\xf1\x82\x00\x00\x00\x00{}", true), websocket.StatusProtocolError},
		{"an end in mid-frame", sends("\x81\xfe\x10\x00\x00\x00\x00\x00{", false), -1},
		{"an end in mid-message", sends("\x01\x81\x00\x00\x00\x00{", false), -1},
		{"never a pong", func(s *fixture) websocket.StatusCode {
			code, _ := closed(s.dialled("una", time.Hour, websocket.DialOptions{OnPingReceived: func(context.Context, []byte) bool { return false }}))
			return code
		}, -1},
		{"gone at a ping", func(s *fixture) websocket.StatusCode {
			conn := s.raw("una")
			defer conn.Close()
			head := make([]byte, 2)
			if _, err := io.ReadFull(conn, head); err != nil || head[0] != 0x89 {
				s.t.Errorf("the first frame begins with %x (%v), want a ping", head, err)
			}
			if _, err := io.CopyN(io.Discard, conn, int64(head[1])); err != nil {
				s.t.Errorf("the rest of the ping: %v", err)
			}
			return -1
		}, -1},
		{"nothing for fifteen minutes", func(s *fixture) websocket.StatusCode {
			code, _ := closed(s.dialled("una", time.Hour, websocket.DialOptions{}))
			return code
		}, websocket.StatusNormalClosure},
		{"a token that ends", func(s *fixture) websocket.StatusCode {
			began := time.Now()
			code, _ := closed(s.dialled("una", time.Minute, websocket.DialOptions{}))
			if took := time.Since(began); took != time.Minute {
				s.t.Errorf("the socket stayed open for %v, want as long as its token: a minute", took)
			}
			return code
		}, websocket.StatusPolicyViolation},
		{"a client that closes", func(s *fixture) websocket.StatusCode {
			if err := s.dialled("una", time.Hour, websocket.DialOptions{}).Close(websocket.StatusGoingAway, ""); err != nil {
				s.t.Errorf("closing: %v", err)
			}
			return -1
		}, -1},
	}
}

// TestSocketsLeaveNoGoroutines runs hostile clients one after the other. Each is closed as
// expected, another user is served meanwhile, and no goroutine remains afterwards.
func TestSocketsLeaveNoGoroutines(t *testing.T) {
	withFixture(t, "", func(s *fixture) {
		before := s.bubble()
		for _, tt := range hostiles() {
			witness := s.wireOf("eve")
			if got := tt.attack(s); got != tt.want {
				s.t.Errorf("%s: closed with %d, want %d", tt.name, got, tt.want)
			}
			if tt.want != websocket.StatusNormalClosure { // otherwise it would be idle for as long
				time.Sleep(time.Second) //nolint:forbidigo // the time of the bubble: away from the instant of a ping
				s.sendWire(witness, stopFrame)
				if got := s.readWire(witness); !strings.Contains(got, "Nothing is under way") {
					s.t.Errorf("%s: another user gets %s, want nothing of the run", tt.name, got)
				}
			}
			_ = witness.conn.CloseNow() // it may be closed
			if after := s.bubble(); after != before {
				s.t.Errorf("%s: %d goroutines run, want %d as before", tt.name, after, before)
			}
		}
	})
}

// TestSocketPings counts the pings of ten minutes.
func TestSocketPings(t *testing.T) {
	withFixture(t, "", func(s *fixture) {
		pings := 0
		conn := s.dialled("una", time.Hour, websocket.DialOptions{OnPingReceived: func(context.Context, []byte) bool { pings++; return true }})
		ctx, done := context.WithTimeout(context.Background(), 10*time.Minute+time.Second)
		defer done()
		if _, frame, err := conn.Read(ctx); err == nil || pings != 20 {
			s.t.Errorf("%d pings, %s (%v)", pings, frame, err)
		}
	})
}

// The end of the token ends a socket whose client has not answered a ping yet.
func TestSocketEndsWhileItIsPinged(t *testing.T) {
	withFixture(t, "", func(s *fixture) {
		const life = 45 * time.Second
		conn := s.dialled("una", life, websocket.DialOptions{OnPingReceived: func(context.Context, []byte) bool { return false }})
		begun := time.Now()
		_, _, err := conn.Read(context.Background())
		if took := time.Since(begun); took > life || websocket.CloseStatus(err) != websocket.StatusPolicyViolation {
			s.t.Errorf("the socket ended after %v with %v, want the end of its token", took, err)
		}
	})
}

// TestSocketsOfSlowReaders has three clients: one reads a chunk a second and gets
// everything, one reads nothing and is disconnected, one reads at once and is not slowed
// down.
func TestSocketsOfSlowReaders(t *testing.T) {
	const pieces = 200
	var up, want strings.Builder
	up.WriteString("say")
	for i := range pieces {
		fmt.Fprintf(&up, " \"piece %d \"", i)
		fmt.Fprintf(&want, "piece %d ", i)
	}
	up.WriteString("\nfinish stop\n")
	withFixture(t, up.String(), func(s *fixture) {
		before := s.bubble()
		began := time.Now()
		quick, slow, stuck := s.wireOf("una"), s.dialled("una", time.Hour, websocket.DialOptions{}), s.raw("una")
		for _, send := range []func([]byte) error{
			func(f []byte) error { return slow.Write(context.Background(), websocket.MessageText, f) },
			func(f []byte) error { // masked with zeros
				_, err := stuck.Write(append([]byte{0x81, 0x80 | byte(len(f)), 0, 0, 0, 0}, f...))
				return err
			},
		} {
			if err := send([]byte(`{"name":"resume","chat_id":"chat"}`)); err != nil {
				s.t.Fatal(err)
			}
		}
		_, _, _ = slow.Read(context.Background()) // nothing is under way yet
		s.sendWire(quick, `{"name":"message","message":{"content":"Go"},"chat_id":"chat"}`)
		synctest.Wait()
		got, took := s.readWire(quick), time.Since(began)
		if !strings.Contains(got, `"status":"completed"`) || took > time.Second {
			s.t.Errorf("the quick reader has, after %v, want the whole answer at once:\n%s", took, got)
		}
		var text strings.Builder
		for tick := time.NewTicker(time.Second); !strings.Contains(text.String(), schemas.ChunkRunEnd); <-tick.C {
			_, frame, err := slow.Read(context.Background())
			if err != nil {
				s.t.Fatalf("reading after %v: %v", time.Since(began), err)
			}
			text.Write(append(frame, '\n'))
		}
		if text.String()+"(open)" != got {
			s.t.Errorf("the slow reader has\n%s\nwant the same as the quick one:\n%s", text.String(), got)
		}
		_ = slow.CloseNow()
		_ = quick.conn.CloseNow()
		if after := s.bubble(); after != before {
			s.t.Errorf("%d goroutines run, want %d as before: the reader that reads nothing is still connected", after, before)
		}
		_ = stuck.Close()
	})
}

// A stop or pause takes effect even if the client disconnects before it is answered.
func TestSocketStopsAndDisconnects(t *testing.T) {
	for _, name := range []string{"stop", "pause"} {
		t.Run(name, func(t *testing.T) {
			withFixture(t, "say \"Half\"\nhang\n", func(s *fixture) {
				watching, going := s.wireOf("una"), s.raw("una")
				s.sendWire(watching, `{"name":"message","message":{"content":"Go"},"chat_id":"chat"}`)
				s.readWire(watching)
				frame := `{"name":"` + name + `","chat_id":"chat"}`
				_, err := going.Write(append([]byte{0x81, 0x80 | byte(len(frame)), 0, 0, 0, 0}, frame...)) // masked with zeros
				if err := errors.Join(err, going.Close()); err != nil {
					s.t.Fatal(err)
				}
				if got := s.readWire(watching); !strings.Contains(got, `"status":"cancelled"`) {
					s.t.Errorf("the run continues, want it cancelled:\n%s", got)
				}
				_ = watching.conn.CloseNow()
			})
		})
	}
}

// wireOf opens a websocket that is read in the background.
func (s *fixture) wireOf(user string) *wire {
	s.t.Helper()
	return s.openWire(step{user: user, arg: "/api/ws"})
}
