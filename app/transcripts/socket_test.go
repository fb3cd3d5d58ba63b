package transcripts

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing/synctest"

	"github.com/coder/websocket"

	"github.com/chattray/chattray/schemas"
)

// wire is a websocket of a transcript, with the frames that it has received.
type wire struct {
	step  step
	conn  *websocket.Conn // nil when it was refused
	shown int             // frames that the transcript has

	mu     sync.Mutex
	frames [][]byte
	over   string // how it was refused or closed, "" while it is open
}

// openWire opens a websocket, and reads its frames in the background.
func (s *fixture) openWire(st step) *wire {
	s.t.Helper()
	head := http.Header{}
	if token := s.bearer(st.user, st.roles); token != "" {
		head.Set("Authorization", "Bearer "+token)
	}
	for _, h := range st.head {
		head.Set(h[0], s.aliases.real(h[1]))
	}
	conn, answer, err := websocket.Dial(context.Background(), "http://chattray.test"+s.aliases.real(st.arg), &websocket.DialOptions{HTTPClient: s.client, HTTPHeader: head})
	if answer == nil {
		s.t.Fatal(err)
	}
	w := &wire{step: st, conn: conn}
	if err != nil {
		w.over = fmt.Sprint(answer.StatusCode, " ", http.StatusText(answer.StatusCode))
		return w
	}
	conn.SetReadLimit(s.config.Limits.LargeBody)
	go w.run()
	return w
}

func (w *wire) run() {
	for {
		_, frame, err := w.conn.Read(context.Background())
		w.mu.Lock()
		if err != nil {
			w.over = "closed"
			if code := websocket.CloseStatus(err); code >= 0 {
				w.over = fmt.Sprint("closed ", int(code))
			}
			w.mu.Unlock()
			return
		}
		w.frames = append(w.frames, frame)
		w.mu.Unlock()
	}
}

// sendWire sends a frame, with names replaced by their values.
func (s *fixture) sendWire(w *wire, body string) {
	s.t.Helper()
	if err := w.conn.Write(context.Background(), websocket.MessageText, []byte(s.aliases.real(body))); err != nil {
		s.t.Error(err)
	}
}

// readWire returns the frames that have arrived since the last read, one a line, and
// records the runs that they belong to.
func (s *fixture) readWire(w *wire) string {
	s.t.Helper()
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	var b strings.Builder
	for _, frame := range afterCancelled(w.frames[w.shown:]) {
		s.contract.CheckJSON(s.t, "Chunk", frame)
		s.checkHidden(w.step, frame)
		var c schemas.Chunk
		_ = json.Unmarshal(frame, &c) // checked against the contract
		if c.RunID != "" && !slices.ContainsFunc(s.runs, func(r seenRun) bool { return r.id == c.RunID }) {
			s.runs = append(s.runs, seenRun{id: c.RunID, step: w.step})
		}
		b.Write(append(frame, '\n'))
	}
	w.shown = len(w.frames)
	state := "open"
	if w.over != "" {
		state = w.over
	}
	return b.String() + "(" + state + ")"
}

// afterCancelled returns frames in which the ack of a message comes after the end of the run
// that the message cancelled: either may come first.
func afterCancelled(frames [][]byte) [][]byte {
	frames = slices.Clone(frames)
	chunk := func(i int) (c schemas.Chunk) {
		if i < len(frames) {
			_ = json.Unmarshal(frames[i], &c) // checked against the contract
		}
		return c
	}
	for i := range frames {
		ack := chunk(i)
		if ack.Type != schemas.ChunkAck || ack.ConversationID == 0 {
			continue
		}
		ends := i + 1
		if chunk(ends).End {
			ends++
		}
		if c := chunk(ends); c.Type == schemas.ChunkRunEnd && c.Status == schemas.RunCancelled && c.RunID != ack.RunID {
			frame := frames[i]
			frames = slices.Insert(slices.Delete(frames, i, i+1), ends, frame)
		}
	}
	return frames
}
