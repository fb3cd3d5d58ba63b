package apptest

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chattray/chattray/api/apitest"
	"github.com/chattray/chattray/app/apptest/delta"
	"github.com/chattray/chattray/schemas"
)

// MessageFrames decodes a stream of the dialect messages and checks it against
// the contract.
func MessageFrames(t testing.TB, contract apitest.Contract, body []byte) []schemas.MessageFrame {
	t.Helper()
	var frames []schemas.MessageFrame
	for _, f := range contract.CheckFrames(t, body) {
		var m schemas.MessageFrame
		if err := json.Unmarshal(f.Data, &m); err != nil {
			t.Errorf("decoding frame %d: %v", f.ID, err)
		}
		frames = append(frames, m)
	}
	return frames
}

// WithoutMarkers returns a text of either dialect for comparison: without white
// space, because the lines around markers belong to the markers.
func WithoutMarkers(text string) string {
	return strings.Join(strings.Fields(ToolMark.ReplaceAllString(text, " ")), "")
}

// FoldedText is the text of the main stream: its messages of type text, folded
// by the delta rules, in order. Results of calls are no part of it, and what an attempt
// made void does not count.
func FoldedText(t testing.TB, frames []schemas.MessageFrame) string {
	t.Helper()
	state := new(delta.State)
	for _, f := range frames {
		if e := EventOf(f); e.Event == "attempt" {
			state = new(delta.State)
		}
		if err := state.Apply(f); err != nil {
			t.Errorf("frame %s: %v", f.ChunkID, err)
		}
	}
	var texts []string
	for _, m := range state.Messages {
		_, result := m.Props["tool_use_id"]
		if text, ok := m.Props["content"].(string); ok && m.Type == "text" && m.Thread == "" && !result {
			texts = append(texts, text)
		}
	}
	return WithoutMarkers(strings.Join(texts, ""))
}

// LevelEvent has the props of an event frame that the checks need.
type LevelEvent struct {
	Event string `json:"event"`
	Data  struct {
		ThreadID  string `json:"thread_id"`
		BlockID   string `json:"block_id"`
		MessageID string `json:"message_id"`
		Status    string `json:"status"`
		Type      string `json:"type"`
		Ref       string `json:"ref"`
	} `json:"data"`
}

// EventOf decodes the event that a frame carries.
func EventOf(f schemas.MessageFrame) (e LevelEvent) {
	if f.Type == "event" {
		_ = json.Unmarshal(f.Props, &e) // the contract check has decoded it before
	}
	return e
}

var levelOf = regexp.MustCompile(`^(stream|thread|block|message)_(start|end)$`)

// CheckNesting checks that every start names what it opens and has exactly
// one end, properly nested within its thread, that ids are never used twice, that every frame names its
// block unless it is one of the whole stream, and that it lies inside the levels that it names.
func CheckNesting(t testing.TB, frames []schemas.MessageFrame) {
	t.Helper()
	n := nesting{open: map[string][]string{}, seen: map[string]bool{}}
	for _, f := range frames {
		if err := n.take(f); err != nil {
			t.Errorf("frame %s: %v", f.ChunkID, err)
		}
	}
	for thread, open := range n.open {
		if len(open) > 0 {
			t.Errorf("at the end of thread %q the levels %v are open, want none", thread, open)
		}
	}
	if len(n.threads) > 0 || !n.ended {
		t.Errorf("after the frames the stream has ended: %t, with the threads %v open, want its end and no thread", n.ended, n.threads)
	}
}

// nesting is the state of the open levels while frames are checked.
type nesting struct {
	open    map[string][]string // by thread, the outermost first
	threads []string            // open, in order
	seen    map[string]bool
	begun   bool
	ended   bool
}

// take takes a frame, or returns why it is not allowed at its place.
func (n *nesting) take(f schemas.MessageFrame) error {
	e := EventOf(f)
	m := levelOf.FindStringSubmatch(e.Event)
	switch {
	case n.ended:
		return errors.New("it comes after the end of the stream")
	case m == nil && (e.Event == "attempt" || e.Event == "withdrawn"):
		return nil
	case f.BlockID == "" && (m == nil || m[1] != "stream"):
		return errors.New("it names no block, want one")
	case m == nil:
		return n.inside(f)
	}
	level, end := m[1], m[2] == "end"
	if end && e.Data.Status == "" {
		return fmt.Errorf("%s has no status", e.Event)
	}
	if !end && e.Data.Ref == "" {
		return fmt.Errorf("%s has no ref", e.Event)
	}
	switch level {
	case "stream":
		if end {
			n.ended = true
			return nil
		}
		if n.begun {
			return errors.New("it is a second stream_start, want one")
		}
		n.begun = true
		return nil
	case "thread":
		return n.thread(f, e.Data.ThreadID, end)
	case "block":
		return n.level(f.ThreadID, e.Data.BlockID, end, 0)
	default:
		return n.level(f.ThreadID, e.Data.MessageID, end, 1)
	}
}

// thread opens or closes a thread. It opens inside a block and has nothing open
// at its end.
func (n *nesting) thread(f schemas.MessageFrame, id string, end bool) error {
	if f.ThreadID != id {
		return fmt.Errorf("the event of thread %s is in thread %q, want both the same", id, f.ThreadID)
	}
	if !end {
		if n.seen[id] || !n.isOpen(f.BlockID) {
			return fmt.Errorf("thread %s starts (used before: %t) in block %q, want a new id in an open block", id, n.seen[id], f.BlockID)
		}
		n.seen[id] = true
		n.threads = append(n.threads, id)
		return nil
	}
	at := slices.Index(n.threads, id)
	if at < 0 || len(n.open[id]) > 0 {
		return fmt.Errorf("thread %s ends (open: %t) with %v inside, want it open and empty", id, at >= 0, n.open[id])
	}
	n.threads = slices.Delete(n.threads, at, at+1)
	return nil
}

// level opens or closes a block or a message of a thread; depth is how many
// blocks of the thread's own may be open around it.
func (n *nesting) level(thread, id string, end bool, depth int) error {
	open := n.open[thread]
	if !end {
		if n.seen[id] {
			return fmt.Errorf("%s starts a second time, want a new id", id)
		}
		if depth == 0 && len(open) > 0 {
			return fmt.Errorf("block %s starts inside %v, want it outside of blocks", id, open)
		}
		n.seen[id] = true
		n.open[thread] = append(open, id)
		return nil
	}
	at := len(open) - 1
	if at < 0 || open[at] != id {
		return fmt.Errorf("%s ends while %v are open in thread %q, want it to be the innermost", id, open, thread)
	}
	n.open[thread] = open[:at]
	return nil
}

// isOpen reports whether a block or message is open in any thread.
func (n *nesting) isOpen(id string) bool {
	for _, open := range n.open {
		if slices.Contains(open, id) {
			return true
		}
	}
	return false
}

// inside checks that a frame of content lies in the levels that it names.
func (n *nesting) inside(f schemas.MessageFrame) error {
	for _, id := range []string{f.BlockID, f.MessageID} {
		if id != "" && !n.isOpen(id) {
			return fmt.Errorf("it is in %s, which is not open", id)
		}
	}
	if f.ThreadID != "" && !slices.Contains(n.threads, f.ThreadID) {
		return fmt.Errorf("it is in %s, which is not open", f.ThreadID)
	}
	return nil
}
