package guard

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/turn"
)

// Limits of what is read from a chat. Older messages count as text from outside
// that gave no URLs.
const (
	maxMessages    = 2_000
	maxText        = 4 << 20 // bytes
	maxFiles       = 32      // messages whose files are read
	pageOfMessages = 100     // messages read at once
)

// Store reads the messages of a chat.
type Store interface {
	// Messages returns a page of messages and the cursor of the preceding page.
	Messages(ctx context.Context, owner string, id int64, q record.MessageQuery) ([]schemas.Message, string, error)
	// File returns the content of the n-th attachment of a user's message.
	File(ctx context.Context, owner string, id int64, messageID string, n int) (string, error)
}

// ReadingOptions configures a Reading.
type ReadingOptions struct {
	Store         Store
	Owner         string
	ChatID        int64
	RunID         string
	Question      *schemas.Message // nil if it has to be read from the store, as one with files
	QuestionAlone bool             // the chat has no other message than Question
	Outside       bool             // the system prompt has text from outside
	// Tool returns the tool that a call names, even if the page does not offer
	// it.
	Tool func(name string) (turn.Tool, bool)
	// Handles reports whether the service itself does an action.
	Handles func(action string) bool
	// Refused reports whether the error of a call means that the user did not
	// want it: the service wrote such a text itself.
	Refused func(text string) bool
}

// Reading is what the model of a run has read: the chat before the run, its
// finished steps, and what the threads of its calls have read. It is read when
// it is needed, and a later attempt reads the same. It is safe for concurrent
// use.
type Reading struct {
	ReadingOptions

	mu      sync.Mutex
	guard   *Guard // nil until the chat has been read
	steps   int    // number of steps that guard has taken
	before  map[int][]turn.Step
	threads map[int]*Guard
	tools   map[string]*turn.Tool // by name; nil for an unknown tool
}

// NewReading returns a Reading that has read nothing yet.
func NewReading(o ReadingOptions) *Reading {
	return &Reading{ReadingOptions: o, before: make(map[int][]turn.Step), threads: make(map[int]*Guard), tools: make(map[string]*turn.Tool)}
}

// After returns the guard after these steps of the run. The guard takes each
// step once: a later call must give the same steps, and may give more.
func (r *Reading) After(ctx context.Context, steps []turn.Step) (*Guard, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.guard == nil {
		g := New(nil)
		if err := r.readChat(ctx, g); err != nil {
			return nil, fmt.Errorf("read what the model has read: %w", err)
		}
		r.guard = g
	}
	for ; r.steps < len(steps); r.steps++ {
		s := &steps[r.steps]
		for _, c := range s.Reply.ToolCalls {
			r.guard.Called(c.Arguments)
		}
		for i, c := range s.Reply.ToolCalls {
			if thread := r.threads[s.Reply.FirstIndex+i]; thread != nil {
				r.guard.Join(thread)
			}
			if result := s.Results[i]; result != nil {
				r.answered(r.guard, c.Name, c.Arguments, result.Text, result.IsError)
			}
		}
	}
	return r.guard, nil
}

// Begin records that a call begins after these steps.
func (r *Reading) Begin(call int, steps []turn.Step) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.before[call] = steps
}

// Thread returns the guard of all threads of a call that has begun.
func (r *Reading) Thread(ctx context.Context, call int) (*Guard, error) {
	r.mu.Lock()
	before, g := r.before[call], r.threads[call]
	r.mu.Unlock()
	if g != nil {
		return g, nil
	}
	base, err := r.After(ctx, before)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.threads[call] == nil {
		r.threads[call] = New(base)
	}
	return r.threads[call], nil
}

// answered gives g a call's outcome, unless it is only that the user did not
// want the call.
func (r *Reading) answered(g *Guard, name, input, text string, isError bool) {
	if isError && r.Refused(text) {
		return
	}
	if t := r.tool(name); t != nil {
		g.Answered(*t, true, input, text, isError)
	} else {
		g.Answered(turn.Tool{Name: name}, false, input, text, isError)
	}
}

// tool returns the tool of that name; nil if it no longer exists.
func (r *Reading) tool(name string) *turn.Tool {
	if t, looked := r.tools[name]; looked {
		return t
	}
	var found *turn.Tool
	if t, ok := r.Tool(name); ok {
		found = &t
	}
	r.tools[name] = found
	return found
}

// readChat gives g the messages before the run, and its question.
func (r *Reading) readChat(ctx context.Context, g *Guard) error {
	if r.Outside {
		g.Outside()
	}
	if r.Question != nil && r.QuestionAlone {
		r.readUser(g, r.Question, nil, nil)
		return nil
	}
	list, whole, err := r.messages(ctx)
	if err != nil {
		return err
	}
	if !whole {
		g.Outside()
	}
	suggested := suggestions(list)
	if r.Question != nil {
		r.readUser(g, r.Question, nil, suggested)
	}
	files := 0
	for _, m := range slices.Backward(list) {
		switch {
		case m.Role == "user":
			var texts []string
			if files < maxFiles {
				if texts, err = r.texts(ctx, &m); err != nil {
					return err
				}
			}
			if len(texts) > 0 {
				files++
			}
			r.readUser(g, &m, texts, suggested)
		case m.RunID == "": // a client or an import brought it: its sources are unknown
			g.Outside()
		case m.RunID != r.RunID:
			for _, c := range m.ToolHistory {
				g.Called(string(c.Input))
				r.answered(g, c.ToolName, string(c.Input), c.Output, c.IsError)
			}
		}
	}
	return nil
}

// messages returns the chat's messages within the limits, the newest first, and
// whether these are all.
func (r *Reading) messages(ctx context.Context) (list []schemas.Message, whole bool, err error) {
	size := 0
	for cursor := ""; ; {
		page, next, err := r.Store.Messages(ctx, r.Owner, r.ChatID, record.MessageQuery{Limit: pageOfMessages, Cursor: cursor, Superseded: true})
		if err != nil {
			return nil, false, err
		}
		for _, m := range slices.Backward(page) {
			size += textSize(&m)
			list = append(list, m)
		}
		if next == "" {
			return list, true, nil
		}
		if len(list) >= maxMessages || size > maxText {
			return list, false, nil
		}
		cursor = next
	}
}

// textSize returns how much text of a message has to be read.
func textSize(m *schemas.Message) int {
	n := len(m.Content)
	for _, c := range m.ToolHistory {
		n += len(c.Input) + len(c.Output)
	}
	return n
}

// suggestions returns the values that the model has suggested.
func suggestions(list []schemas.Message) map[string]bool {
	values := make(map[string]bool)
	for i := range list {
		for _, s := range list[i].SuggestedValues {
			values[strings.TrimSpace(s.Value)] = true
		}
	}
	return values
}

// texts returns the content of a message's files with text. Images are large, and give none.
func (r *Reading) texts(ctx context.Context, m *schemas.Message) (texts []string, err error) {
	for n, f := range m.Attachments {
		if strings.HasPrefix(strings.ToLower(f.MIME), "image/") {
			continue
		}
		content, err := r.Store.File(ctx, r.Owner, r.ChatID, m.ID, n)
		if err != nil {
			return nil, err
		}
		texts = append(texts, content)
	}
	return texts, nil
}

// readUser gives g a message of the user, with the texts of its files. A file is from outside, and gives the
// URLs in it. The answer to a click is from outside if a page file handles the
// action. A suggestion that the user chose gives no URL, whether or not its client
// says that it is one: the model wrote it, and the user saw only its label.
func (r *Reading) readUser(g *Guard, m *schemas.Message, texts []string, suggested map[string]bool) {
	if m.InteractionType != schemas.ValueSelected && m.Action == nil && !suggested[strings.TrimSpace(m.Content)] {
		g.Gave(m.Content)
	}
	if len(m.Attachments) > 0 || m.Action != nil && !r.Handles(m.Action.ActionIdentifier) {
		g.Outside()
	}
	for _, t := range texts {
		g.Gave(t)
	}
}
