package apptest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/chattray/chattray/schemas"
)

// Gated returns a question that the model answers once the gate is closed.
func (s *System) Gated(chat, ifBusy string, gate <-chan struct{}) *Conversation {
	c := s.NewConversation(chat, ifBusy)
	c.Plan(nil)
	c.Patient = true
	c.Gate = gate
	return c
}

// Start runs the conversation to its end, within Limit; the channel receives
// its error.
func (c *Conversation) Start(t *testing.T) <-chan error {
	done := make(chan error, 1)
	ctx, cancel := context.WithTimeout(t.Context(), Limit)
	t.Cleanup(cancel)
	go func() { done <- c.Run(ctx) }()
	return done
}

// AwaitModel waits until the model has been asked.
func (s *System) AwaitModel(t *testing.T, c *Conversation) {
	t.Helper()
	Eventually(t, "the model is asked", func() bool { return len(s.ModelCalls(c.Question)) > 0 && c.Accepted.Load() })
}

// Conversation is one question of a client that reconnects with its cursor until it
// has read the run's terminal event.
type Conversation struct {
	System   *System
	Question string
	Key      string // Idempotency-Key
	Body     map[string]any
	Turns    []Turn
	Want     string // the answer's text
	CancelAt int    // cancel after this many frames; 0 means never

	RunID  string
	Frames []ChatFrame
	seen   map[string]int // when a tool's event was seen: "tool_complete 0"
	// cancelled is the state in the answer to the cancel; cancelledAt is its
	// time.
	cancelled   schemas.RunState
	CancelledAt int
	retries     int
	scripted    sync.Once
	// Patient makes the client wait while the service cannot answer. Hints
	// counts the streams that ended early with a hint when to reconnect.
	Patient bool
	// Proxied says that a proxy is between, which may end a stream that the service has not
	// ended: the client comes back with its cursor. Otherwise that is an error.
	Proxied  bool
	Hints    atomic.Int64
	Steady   bool // the client keeps its connections; otherwise it loses one now and then
	Accepted atomic.Bool
	Gate     <-chan struct{} // the model waits until the gate is closed; nil for no gate
}

// NewConversation returns a conversation with a new question; the chat is made
// by its first message.
func (s *System) NewConversation(chat, ifBusy string) *Conversation {
	name := strconv.Itoa(s.Mark())
	c := &Conversation{System: s, Key: uuid.NewString(), Question: "question " + name, seen: map[string]int{}}
	c.Body = map[string]any{"message": c.Question, "chat_id": chat, "if_busy": ifBusy, "context": map[string]any{"current_page": "lab"}}
	kinds := [][][]string{{}, {{"book"}}, {{"look"}}, {{"book", "look"}}, {{"look", "book", "look"}, {"book"}}, {{"look"}, {"look"}, {"book"}}}
	c.Plan(kinds[s.Between(0, len(kinds)-1)])
	return c
}

// Plan sets which tools the model asks for, turn by turn, before it answers.
func (c *Conversation) Plan(tools [][]string) {
	c.Turns = nil
	name := strings.TrimPrefix(c.Question, "question ")
	calls := 0
	for n, list := range tools {
		one := Turn{Text: fmt.Sprintf("This is turn %d of %s and so it goes.", n, c.Question)}
		for _, tool := range list {
			one.Calls = append(one.Calls, ToolCall{tool, tool + "-" + name + "-" + strconv.Itoa(calls)})
			calls++
		}
		c.Turns = append(c.Turns, one)
	}
	c.Turns = append(c.Turns, Turn{
		Text: fmt.Sprintf("And this is the answer to %s, which is not short.", c.Question),
		Tail: fmt.Sprintf("\n\nNOTE: {\"text\": %q}\n\nSUGGESTED_VALUES: [\"More of %s\"]", c.Question, name),
	})
	var parts []string
	marker := 0
	for _, one := range c.Turns {
		parts = append(parts, one.Text)
		for range one.Calls {
			parts = append(parts, fmt.Sprintf("[[tool:%d]]", marker))
			marker++
		}
	}
	c.Want = strings.Join(parts, "\n\n")
}

// ID is the run's id, "" before the service has accepted the question.
func (c *Conversation) ID() string {
	if !c.Accepted.Load() {
		return ""
	}
	return c.RunID
}

// Keys are the keys of the calls that the model asks for.
func (c *Conversation) Keys() []string {
	var list []string
	for _, one := range c.Turns {
		for _, c := range one.Calls {
			list = append(list, c.Key)
		}
	}
	return list
}

// MarkScripted keeps Run from giving the model a script.
func (c *Conversation) MarkScripted() { c.scripted.Do(func() {}) }

// Run asks and follows to the end.
func (c *Conversation) Run(ctx context.Context) error {
	c.scripted.Do(func() { c.System.Script(c.Question, c.Turns, c.Gate) })
	for {
		over, err := c.connect(ctx)
		if over || err != nil {
			return err
		}
		if c.retries++; c.retries > 10_000 {
			return errors.New("the run does not end after 10,000 connections")
		}
	}
}

// connect asks or reconnects, and reads until the stream ends.
func (c *Conversation) connect(ctx context.Context) (over bool, err error) {
	p, err := c.System.Current(ctx)
	if err != nil {
		return false, err
	}
	ctx, hangUp := context.WithCancel(ctx)
	defer hangUp()
	resp, err := c.Open(ctx, p)
	if err != nil {
		return false, c.broken(p, err)
	}
	defer resp.Body.Close()
	if c.Patient && (resp.StatusCode == http.StatusServiceUnavailable || resp.StatusCode == http.StatusConflict && resp.Header.Get("Retry-After") != "") {
		c.pause(ctx)
		return false, nil
	}
	if resp.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(resp.Body) // a killed process may have sent only part of the body
		if c.System.hasEnded(p) {
			return false, nil
		}
		return false, fmt.Errorf("status %d after %d frames, want 200: %s", resp.StatusCode, len(c.Frames), body)
	}
	if !c.Accepted.Load() {
		c.RunID = resp.Header.Get("X-Run-Id")
		c.Accepted.Store(true)
	}
	c.System.reached("a run is answered")
	for r := NewStreamReader(resp.Body); ; {
		f, err := r.Next()
		if errors.Is(err, io.EOF) && c.Patient && r.Retry != "" && r.Last >= c.cursor() {
			c.Hints.Add(1)
			c.pause(ctx)
			return false, nil
		}
		if err != nil {
			return false, c.broken(p, err)
		}
		if err := c.take(ctx, f); err != nil || f.Event.Terminal() {
			return true, err
		}
		if !c.Steady && c.System.Between(0, 39) == 0 {
			return false, nil // the client loses its connection
		}
	}
}

// pause waits briefly.
func (c *Conversation) pause(ctx context.Context) {
	select {
	case <-time.After(20 * time.Millisecond):
	case <-ctx.Done():
	}
}

// Open asks the question the first time and later follows the run from the cursor,
// which it sends in the header or in the query.
func (c *Conversation) Open(ctx context.Context, p *Process) (*http.Response, error) {
	method, path, header := http.MethodGet, "/api/chat/runs/"+c.RunID+"/stream", []string(nil)
	var body any
	cursor := strconv.FormatInt(c.cursor(), 10)
	switch {
	case c.RunID == "":
		method, path, body, header = http.MethodPost, "/api/chat/stream", c.Body, []string{"Idempotency-Key", c.Key}
	case c.System.Between(0, 1) == 0:
		header = []string{"Last-Event-ID", cursor}
	default:
		path += "?after=" + cursor
	}
	req, err := NewRequest(ctx, method, p.URL+path, body, header...)
	if err != nil {
		return nil, err
	}
	if body != nil {
		c.System.reached("a question is asked")
	}
	return c.System.Client.Do(req)
}

func (c *Conversation) cursor() int64 {
	if len(c.Frames) == 0 {
		return 0
	}
	return c.Frames[len(c.Frames)-1].ID
}

// broken returns an error unless the process was killed, or a proxy is between: only
// then may a connection break.
func (c *Conversation) broken(p *Process, err error) error {
	if (c.System.hasEnded(p) || c.Proxied) && !errors.Is(err, errFrame) {
		return nil
	}
	return fmt.Errorf("the stream of a running process ended after %d frames: %w, want it to continue", len(c.Frames), err)
}

// take checks a frame and records its ids and times.
func (c *Conversation) take(ctx context.Context, f ChatFrame) error {
	if f.ID <= c.cursor() {
		return fmt.Errorf("event %d came after event %d, want a greater id", f.ID, c.cursor())
	}
	c.Frames = append(c.Frames, f)
	e := f.Event
	if len(c.Frames) == 1 && (e.Type != schemas.TypeStatus || e.RunID != c.RunID || e.ConversationID == 0) {
		return fmt.Errorf("the first event is %s, want a status with run and conversation", f.Data)
	}
	if e.Type == schemas.TypeToolStart || e.Type == schemas.TypeToolComplete {
		if !e.IsError {
			c.seen[fmt.Sprintf("%s %d", e.Type, e.Index)] = c.System.Mark()
		}
	}
	switch {
	case len(c.Frames) == 1:
		c.System.reached("a first event is read")
	case e.Terminal():
		c.System.reached(LastEventRead)
	default:
		c.System.reached(e.Type + " is read")
	}
	if c.CancelAt > 0 && len(c.Frames) == c.CancelAt {
		return c.cancel(ctx)
	}
	return nil
}

// cancel cancels the run and waits until that is acknowledged.
func (c *Conversation) cancel(ctx context.Context) error {
	var run schemas.Run
	status, err := c.System.Call(ctx, http.MethodPost, "/api/chat/runs/"+c.RunID+"/cancel", &run)
	if err != nil || status != http.StatusOK {
		return fmt.Errorf("cancel: status %d, %w, want 200", status, err)
	}
	c.cancelled, c.CancelledAt = run.State, c.System.Mark()
	c.System.reached("a cancel is acknowledged")
	return nil
}

// get reads a path. A patient client asks again while the service cannot answer.
func (c *Conversation) get(ctx context.Context, path string, out any) (status int, err error) {
	for {
		status, err = c.System.Call(ctx, http.MethodGet, path, out)
		if !c.Patient || err != nil || status != http.StatusServiceUnavailable { // a call fails when ctx ends
			return status, err
		}
		c.pause(ctx)
	}
}

// Log reads the whole log, and checks that nothing follows its end.
func (c *Conversation) Log(ctx context.Context) ([]ChatFrame, error) {
	list, err := c.Read(ctx, "")
	if err != nil {
		return nil, err
	}
	if len(list) == 0 || !list[len(list)-1].Event.Terminal() {
		return nil, fmt.Errorf("the log of an ended run has %d events, want a terminal event at the end", len(list))
	}
	status, err := c.get(ctx, fmt.Sprintf("/api/chat/runs/%s/stream?after=%d", c.RunID, list[len(list)-1].ID), nil)
	if err == nil && status != http.StatusNoContent {
		err = fmt.Errorf("resuming after the end, event %d, gets status %d, want 204", list[len(list)-1].ID, status)
	}
	return list, err
}

// Read reads the whole stream of a run that has ended; it retries if the
// program was killed, or asks to come back.
func (c *Conversation) Read(ctx context.Context, query string) ([]ChatFrame, error) {
	for {
		p, err := c.System.Current(ctx)
		if err != nil {
			return nil, err
		}
		req, err := NewRequest(ctx, http.MethodGet, p.URL+"/api/chat/runs/"+c.RunID+"/stream"+query, nil)
		if err != nil {
			return nil, err
		}
		resp, err := c.System.Client.Do(req)
		if err == nil && resp.StatusCode == http.StatusServiceUnavailable && c.Patient {
			resp.Body.Close()
			c.pause(ctx)
			continue
		}
		if err == nil {
			var list []ChatFrame
			stream := NewStreamReader(resp.Body)
			if list, err = stream.Rest(); err == nil && !stream.Interrupted {
				return list, nil
			}
			if err == nil {
				continue // the service asks to come back
			}
		}
		if !c.System.hasEnded(p) {
			return nil, fmt.Errorf("the log of an ended run cannot be read to its end: %w", err)
		}
	}
}
