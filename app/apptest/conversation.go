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

// Gated is a question that is answered once the gate is open.
func (w *System) Gated(chat, ifBusy string, gate <-chan struct{}) *Conversation {
	k := w.NewConversation(chat, ifBusy)
	k.Plan(nil)
	k.Patient = true
	k.Gate = gate
	return k
}

// Start runs the conversation to its end; the outcome comes over the channel.
func (k *Conversation) Start(t *testing.T) <-chan error {
	done := make(chan error, 1)
	ctx, cancel := context.WithTimeout(t.Context(), Limit)
	t.Cleanup(cancel)
	go func() { done <- k.Run(ctx) }()
	return done
}

// AwaitModel waits until the model has been asked.
func (w *System) AwaitModel(t *testing.T, k *Conversation) {
	t.Helper()
	Eventually(t, "the model is asked", func() bool { return len(w.ModelCalls(k.Question)) > 0 && k.Accepted.Load() })
}

// Conversation is one question of a client that never gives up: it comes back with its
// cursor until the run's terminal event is there.
type Conversation struct {
	System   *System
	Question string
	Key      string // Idempotency-Key
	Body     map[string]any
	Turns    []Turn
	Want     string // the answer's text
	CancelAt int    // cancel after so many frames, 0 never

	RunID  string
	Frames []ChatFrame
	seen   map[string]int // when a tool's event was seen: "tool_complete 0"
	// cancelled is the state that the cancel was answered with, and when.
	cancelled   schemas.RunState
	CancelledAt int
	retries     int
	scripted    sync.Once
	// patient is a client that waits while the service cannot answer; hints
	// counts the streams that were broken off with a hint when to come back.
	Patient  bool
	Hints    atomic.Int64
	Accepted atomic.Bool
	Gate     <-chan struct{} // that the model waits for, nil for none
}

// NewConversation makes up a question; the chat is made by its first message.
func (w *System) NewConversation(chat, ifBusy string) *Conversation {
	name := strconv.Itoa(w.Mark())
	k := &Conversation{System: w, Key: uuid.NewString(), Question: "question " + name, seen: map[string]int{}}
	k.Body = map[string]any{"message": k.Question, "chat_id": chat, "if_busy": ifBusy, "context": map[string]any{"current_page": "lab"}}
	kinds := [][][]string{{}, {{"book"}}, {{"look"}}, {{"book", "look"}}, {{"look", "book", "look"}, {"book"}}, {{"look"}, {"look"}, {"book"}}}
	k.Plan(kinds[w.Between(0, len(kinds)-1)])
	return k
}

// Plan settles which tools the model asks for, turn by turn, before it answers.
func (k *Conversation) Plan(tools [][]string) {
	k.Turns = nil
	name := strings.TrimPrefix(k.Question, "question ")
	calls := 0
	for n, list := range tools {
		one := Turn{Text: fmt.Sprintf("This is turn %d of %s and so it goes.", n, k.Question)}
		for _, tool := range list {
			one.Calls = append(one.Calls, ToolCall{tool, tool + "-" + name + "-" + strconv.Itoa(calls)})
			calls++
		}
		k.Turns = append(k.Turns, one)
	}
	k.Turns = append(k.Turns, Turn{
		Text: fmt.Sprintf("And this is the answer to %s, which is not short.", k.Question),
		Tail: fmt.Sprintf("\n\nNOTE: {\"text\": %q}\n\nSUGGESTED_VALUES: [\"More of %s\"]", k.Question, name),
	})
	var parts []string
	marker := 0
	for _, one := range k.Turns {
		parts = append(parts, one.Text)
		for range one.Calls {
			parts = append(parts, fmt.Sprintf("[[tool:%d]]", marker))
			marker++
		}
	}
	k.Want = strings.Join(parts, "\n\n")
}

// ID is the run's; answered says that it is known.
func (k *Conversation) ID() string {
	if !k.Accepted.Load() {
		return ""
	}
	return k.RunID
}

// Keys are those of the calls that the model asks for.
func (k *Conversation) Keys() []string {
	var list []string
	for _, one := range k.Turns {
		for _, c := range one.Calls {
			list = append(list, c.Key)
		}
	}
	return list
}

// MarkScripted says that the model has its script, or needs none.
func (k *Conversation) MarkScripted() { k.scripted.Do(func() {}) }

// Run asks and follows to the end.
func (k *Conversation) Run(ctx context.Context) error {
	k.scripted.Do(func() { k.System.Script(k.Question, k.Turns, k.Gate) })
	for {
		over, err := k.connect(ctx)
		if over || err != nil {
			return err
		}
		if k.retries++; k.retries > 10_000 {
			return errors.New("it does not end")
		}
	}
}

// connect asks, or comes back, and reads until the stream ends.
func (k *Conversation) connect(ctx context.Context) (over bool, err error) {
	p, err := k.System.Current(ctx)
	if err != nil {
		return false, err
	}
	ctx, hangUp := context.WithCancel(ctx)
	defer hangUp()
	resp, err := k.Open(ctx, p)
	if err != nil {
		return false, k.broken(p, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusServiceUnavailable && k.Patient {
		k.pause(ctx)
		return false, nil
	}
	if resp.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(resp.Body) // a process that was killed says less
		if k.System.hasEnded(p) {
			return false, nil
		}
		return false, fmt.Errorf("status %d after %d frames: %s", resp.StatusCode, len(k.Frames), body)
	}
	if !k.Accepted.Load() {
		k.RunID = resp.Header.Get("X-Run-Id")
		k.Accepted.Store(true)
	}
	k.System.reached("a run is answered")
	for r := NewStreamReader(resp.Body); ; {
		f, err := r.Next()
		if errors.Is(err, io.EOF) && k.Patient && r.Retry == "1000" && r.Last >= k.cursor() {
			k.Hints.Add(1)
			k.pause(ctx)
			return false, nil
		}
		if err != nil {
			return false, k.broken(p, err)
		}
		if err := k.take(ctx, f); err != nil || f.Event.Terminal() {
			return true, err
		}
		if k.System.Between(0, 39) == 0 {
			return false, nil // the client loses its connection
		}
	}
}

// pause waits a little.
func (k *Conversation) pause(ctx context.Context) {
	select {
	case <-time.After(20 * time.Millisecond):
	case <-ctx.Done():
	}
}

// Open asks the first time, and comes back with the cursor later on: in the
// header, or in the query.
func (k *Conversation) Open(ctx context.Context, p *Process) (*http.Response, error) {
	method, path, header := http.MethodGet, "/api/chat/runs/"+k.RunID+"/stream", []string(nil)
	var body any
	cursor := strconv.FormatInt(k.cursor(), 10)
	switch {
	case k.RunID == "":
		method, path, body, header = http.MethodPost, "/api/chat/stream", k.Body, []string{"Idempotency-Key", k.Key}
	case k.System.Between(0, 1) == 0:
		header = []string{"Last-Event-ID", cursor}
	default:
		path += "?after=" + cursor
	}
	req, err := NewRequest(ctx, method, p.URL+path, body, header...)
	if err != nil {
		return nil, err
	}
	if body != nil {
		k.System.reached("a question is asked")
	}
	return k.System.Client.Do(req)
}

func (k *Conversation) cursor() int64 {
	if len(k.Frames) == 0 {
		return 0
	}
	return k.Frames[len(k.Frames)-1].ID
}

// broken says whether a connection may have ended like this: only that of a
// process that was killed.
func (k *Conversation) broken(p *Process, err error) error {
	if k.System.hasEnded(p) && !errors.Is(err, errFrame) {
		return nil
	}
	return fmt.Errorf("the stream of a process that is alive ended after %d frames: %w", len(k.Frames), err)
}

// take takes a frame and notes what it promises.
func (k *Conversation) take(ctx context.Context, f ChatFrame) error {
	if f.ID <= k.cursor() {
		return fmt.Errorf("event %d came after %d", f.ID, k.cursor())
	}
	k.Frames = append(k.Frames, f)
	e := f.Event
	if len(k.Frames) == 1 && (e.Type != schemas.TypeStatus || e.RunID != k.RunID || e.ConversationID == 0) {
		return fmt.Errorf("the first event is %s", f.Data)
	}
	if e.Type == schemas.TypeToolStart || e.Type == schemas.TypeToolComplete {
		if !e.IsError {
			k.seen[fmt.Sprintf("%s %d", e.Type, e.Index)] = k.System.Mark()
		}
	}
	switch {
	case len(k.Frames) == 1:
		k.System.reached("a first event is read")
	case e.Terminal():
		k.System.reached(LastEventRead)
	default:
		k.System.reached(e.Type + " is read")
	}
	if k.CancelAt > 0 && len(k.Frames) == k.CancelAt {
		return k.cancel(ctx)
	}
	return nil
}

// cancel asks for the end until that is acknowledged.
func (k *Conversation) cancel(ctx context.Context) error {
	var run schemas.Run
	status, err := k.System.Call(ctx, http.MethodPost, "/api/chat/runs/"+k.RunID+"/cancel", &run)
	if err != nil || status != http.StatusOK {
		return fmt.Errorf("cancel: status %d, %w", status, err)
	}
	k.cancelled, k.CancelledAt = run.State, k.System.Mark()
	k.System.reached("a cancel is acknowledged")
	return nil
}

// Log reads the whole log, and that there is nothing behind it.
func (k *Conversation) Log(ctx context.Context) ([]ChatFrame, error) {
	list, err := k.Read(ctx, "")
	if err != nil {
		return nil, err
	}
	if len(list) == 0 || !list[len(list)-1].Event.Terminal() {
		return nil, fmt.Errorf("the log of an ended run has %d events and no end", len(list))
	}
	status, err := k.System.Call(ctx, http.MethodGet, fmt.Sprintf("/api/chat/runs/%s/stream?after=%d", k.RunID, list[len(list)-1].ID), nil)
	if err == nil && status != http.StatusNoContent {
		err = fmt.Errorf("resuming behind the end is %d", status)
	}
	return list, err
}

// Read reads the stream of a run that has ended, to the end; it asks again when
// the program was killed.
func (k *Conversation) Read(ctx context.Context, query string) ([]ChatFrame, error) {
	for {
		p, err := k.System.Current(ctx)
		if err != nil {
			return nil, err
		}
		req, err := NewRequest(ctx, http.MethodGet, p.URL+"/api/chat/runs/"+k.RunID+"/stream"+query, nil)
		if err != nil {
			return nil, err
		}
		resp, err := k.System.Client.Do(req)
		if err == nil {
			var list []ChatFrame
			if list, err = NewStreamReader(resp.Body).Rest(); err == nil {
				return list, nil
			}
		}
		if !k.System.hasEnded(p) {
			return nil, fmt.Errorf("the log of an ended run cannot be read to its end: %w", err)
		}
	}
}
