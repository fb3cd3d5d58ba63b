package transcripts

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/chattray/chattray/app/apptest"
)

// The setting session.idle is the time without an event after which a websocket closes. An
// event restarts it, and a live run counts as events.
func TestSessionIdle(t *testing.T) {
	for _, idle := range []time.Duration{10 * time.Second, 90 * time.Second, 21 * time.Minute} { // no event comes at the instant of a ping
		t.Run(idle.String(), func(t *testing.T) {
			withFixtureOn(t, apptest.SQLite, "CHATTRAY_SESSION_IDLE="+idle.String(), "", func(s *fixture) {
				for _, events := range []int{0, 2} {
					conn, began := s.dialled("una", 10*time.Hour, websocket.DialOptions{}), time.Now()
					ended, end := context.WithCancel(context.Background())
					go func() {
						for range events {
							select {
							case <-time.After(idle * 9 / 10):
							case <-ended.Done():
							}
							_ = conn.Write(ended, websocket.MessageText, []byte(stopFrame))
						}
					}()
					var frames []string
					var err error
					for err == nil {
						var frame []byte
						if _, frame, err = conn.Read(context.Background()); err == nil {
							frames = append(frames, string(frame))
						}
					}
					end()
					want := idle + time.Duration(events)*idle*9/10
					if took := time.Since(began); took != want || len(frames) != events {
						t.Errorf("with %d events it is closed after %v, with the answers %s; want %v", events, took, frames, want)
					}
					if closed, ok := errors.AsType[websocket.CloseError](err); !ok || closed.Code != websocket.StatusNormalClosure || !strings.HasPrefix(closed.Reason, "nothing happened for ") {
						t.Errorf("it is closed with %v", err)
					}
				}
			})
		})
	}
}

// A socket at its limit of watched chats can watch another chat: it replaces one in which
// nothing has happened for session.idle.
func TestSessionIdleOfChats(t *testing.T) {
	const idle = time.Minute
	withFixtureOn(t, apptest.SQLite, "CHATTRAY_SESSION_IDLE="+idle.String(), "", func(s *fixture) {
		w := s.wireOf("una")
		watch := func(chat string) string {
			time.Sleep(700 * time.Millisecond) //nolint:forbidigo // the time of the bubble: away from the instant of a ping
			s.sendWire(w, `{"name":"resume","chat_id":"`+chat+`"}`)
			return s.readWire(w)
		}
		for i := range 32 {
			if response := watch(fmt.Sprintf("c%d", i)); !strings.Contains(response, "Nothing is under way") {
				t.Fatalf("chat %d: %s", i, response)
			}
		}
		if response := watch("more"); !strings.Contains(response, "too many chats") {
			t.Errorf("one more chat before the time: got %s", response)
		}
		time.Sleep(idle * 3 / 4) //nolint:forbidigo // the time of the bubble
		if response := watch("more"); !strings.Contains(response, "Nothing is under way") {
			t.Errorf("one more chat after the time: got %s", response)
		}
		_ = w.conn.CloseNow()
		synctest.Wait()
	})
}
