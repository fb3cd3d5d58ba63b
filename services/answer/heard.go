package answer

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/services/guard"
)

// Limits of what is read of a chat to know what its model has read. What is older
// counts as text from outside that gave no URLs.
const (
	maxHeardMessages = 2_000
	maxHeardText     = 4 << 20 // bytes
	maxHeardFiles    = 32      // messages whose files are read
)

// heard is what the model of a run has read, for the calls that depend on it. It
// is read when the first of them comes, from the messages of the chat and from
// the finished steps, so a later attempt finds the same.
type heard struct {
	waits map[int]record.Wait // of earlier attempts, by call; nil while not read

	mu      sync.Mutex
	guard   *guard.Guard
	steps   int                   // told to the guard
	before  map[int][]turn.Step   // finished steps when a call began
	threads map[int]*guard.Guard  // what the threads of a call have read
	tools   map[string]*turn.Tool // by name; nil is not known
}

// cannotAskText is what the model of a thread reads of a call that would have to
// wait.
const cannotAskText = "The call was not run: it needs the user's approval, which cannot be asked for here. Go on without it, or say in your answer what is needed."

// asks says why a call needs the user's approval; "" is that it needs none. A
// call that waited in an earlier attempt waits again, for the same reason.
func (wr *Writer) asks(ctx context.Context, t *turn.Tool, c *turn.Call) (schemas.ApprovalReason, error) {
	reason, err := wr.reason(ctx, t, c)
	if err != nil && ctx.Err() == nil {
		wr.deps.Stop(err) // the attempt cannot go on without it
	}
	return reason, err
}

func (wr *Writer) reason(ctx context.Context, t *turn.Tool, c *turn.Call) (schemas.ApprovalReason, error) {
	if wr.run.Earlier != nil {
		if wr.heard.waits == nil {
			list, err := wr.deps.Store.Waits(ctx, wr.run.ID)
			if err != nil {
				return "", err
			}
			wr.heard.waits = make(map[int]record.Wait, len(list))
			for _, w := range list {
				wr.heard.waits[w.Index] = w
			}
		}
		if w, waited := wr.heard.waits[c.Index]; waited {
			if w.Reason == "" {
				w.Reason = schemas.ReasonToolConfirms // it was the only one
			}
			return w.Reason, nil
		}
		if wr.interrupted[c.Index] && !t.Idempotent {
			return "", nil // it does not run
		}
	}
	mode := wr.deps.Approve
	if guard.Matters(mode, *t) {
		g, err := wr.read(ctx, wr.finished(c.Index))
		if err != nil {
			return "", err
		}
		if why := g.Why(mode, *t, c.Input); why != "" {
			return why, nil
		}
	}
	if t.Confirm {
		return schemas.ReasonToolConfirms, nil
	}
	return "", nil
}

// finished are the steps before the one of the call: what its model had read.
func (wr *Writer) finished(index int) []turn.Step {
	n := slices.IndexFunc(wr.steps, func(s turn.Step) bool { return index < s.Reply.FirstIndex+len(s.Reply.ToolCalls) })
	if n < 0 {
		n = len(wr.steps)
	}
	return wr.steps[:n]
}

// noteSteps keeps, for the threads of a call that begins, what is finished.
func (wr *Writer) noteSteps(index int) {
	wr.heard.mu.Lock()
	defer wr.heard.mu.Unlock()
	if wr.heard.before == nil {
		wr.heard.before = make(map[int][]turn.Step)
	}
	wr.heard.before[index] = wr.finished(index)
}

// read returns the guard after the steps.
func (wr *Writer) read(ctx context.Context, steps []turn.Step) (*guard.Guard, error) {
	h := &wr.heard
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.guard == nil {
		g := guard.New(nil)
		if err := wr.readChat(ctx, g); err != nil {
			return nil, fmt.Errorf("read what the model has read: %w", err)
		}
		h.guard = g
	}
	for ; h.steps < len(steps); h.steps++ {
		s := &steps[h.steps]
		for _, c := range s.Reply.ToolCalls {
			h.guard.Called(c.Arguments)
		}
		for i, c := range s.Reply.ToolCalls {
			if thread := h.threads[s.Reply.FirstIndex+i]; thread != nil {
				h.guard.Join(thread)
			}
			if r := s.Results[i]; r != nil {
				wr.answered(h.guard, c.Name, c.Arguments, r.Text, r.IsError)
			}
		}
	}
	return h.guard, nil
}

// answered tells the guard of a call's outcome, unless that is only that the
// user did not want it.
func (wr *Writer) answered(g *guard.Guard, name, input, text string, isError bool) {
	if isError && (text == deniedText || text == unansweredText) {
		return
	}
	if t := wr.toolOf(name); t != nil {
		g.Answered(*t, true, input, text, isError)
	} else {
		g.Answered(turn.Tool{Name: name}, false, input, text, isError)
	}
}

// toolOf returns the tool of that name, also one that the page does not offer; nil
// when there is none any more. heard.mu must be held.
func (wr *Writer) toolOf(name string) *turn.Tool {
	if t, looked := wr.heard.tools[name]; looked {
		return t
	}
	var found *turn.Tool
	if i := slices.IndexFunc(wr.offered, func(t turn.Tool) bool { return t.Name == name }); i >= 0 {
		found = &wr.offered[i]
	} else if t, ok := wr.deps.Tool(name); ok {
		found = &t
	}
	if wr.heard.tools == nil {
		wr.heard.tools = make(map[string]*turn.Tool)
	}
	wr.heard.tools[name] = found
	return found
}

// heardPage is how many messages the guard is told at once.
const heardPage = 100

// readChat tells the guard what was said before the run began, and its question.
func (wr *Writer) readChat(ctx context.Context, g *guard.Guard) error {
	if wr.prepared != nil && wr.prepared.Outside {
		g.Outside()
	}
	if m := wr.run.UserMessage; m != nil {
		wr.readUser(g, &m.Message, m.Files)
		if wr.run.NewChat && len(wr.run.Request.ConversationHistory) == 0 {
			return nil
		}
	}
	var list []schemas.Message // newest first
	cursor, size := "", 0
	for {
		page, next, err := wr.deps.Store.Messages(ctx, wr.run.Owner.ID, wr.run.ChatID, record.MessageQuery{Limit: heardPage, Cursor: cursor, Superseded: true})
		if err != nil {
			return err
		}
		for _, m := range slices.Backward(page) {
			size += textSize(&m)
			list = append(list, m)
		}
		if cursor = next; cursor == "" {
			break
		}
		if len(list) >= maxHeardMessages || size > maxHeardText {
			g.Outside()
			break
		}
	}
	files := 0
	for _, m := range slices.Backward(list) {
		switch {
		case m.Role == "user":
			var attached []schemas.Attachment
			if len(m.Attachments) > 0 && files < maxHeardFiles {
				files++
				var err error
				if attached, err = wr.deps.Store.Files(ctx, wr.run.Owner.ID, wr.run.ChatID, m.ID); err != nil {
					return err
				}
			}
			wr.readUser(g, &m, attached)
		case m.RunID == "": // a client or an import brought it: nobody knows what it came of
			g.Outside()
		case m.RunID != wr.run.ID:
			for _, c := range m.ToolHistory {
				g.Called(string(c.Input))
				wr.answered(g, c.ToolName, string(c.Input), c.Output, c.IsError)
			}
		}
	}
	return nil
}

// textSize is what of a message has to be read.
func textSize(m *schemas.Message) int {
	n := len(m.Content)
	for _, c := range m.ToolHistory {
		n += len(c.Input) + len(c.Output)
	}
	return n
}

// readUser takes a message of the user's. A file is from outside, and gives the
// URLs in it.
func (wr *Writer) readUser(g *guard.Guard, m *schemas.Message, files []schemas.Attachment) {
	g.Gave(m.Content)
	if len(m.Attachments) > 0 {
		g.Outside()
	}
	for _, f := range files {
		if !strings.HasPrefix(f.MIME, "image/") {
			g.Gave(f.Content)
		}
	}
}

// guarded is a tool as a thread of the call calls it: nobody can be asked there,
// so a call that needs approval is refused. What the threads of a call read counts
// in all of them.
func (wr *Writer) guarded(t turn.Tool, index int) turn.Tool {
	run, mode := t.Run, wr.deps.Approve
	t.Run = func(ctx context.Context, c *turn.Call) (turn.Result, error) {
		wr.identify(c)
		if mode == guard.Off {
			return run(ctx, c)
		}
		g, err := wr.threadGuard(ctx, index)
		if err != nil {
			return turn.Result{}, err
		}
		if g.Why(mode, t, c.Input) != "" {
			return turn.Result{Text: cannotAskText, IsError: true}, nil
		}
		g.Called(string(c.Input))
		result, err := run(ctx, c)
		text := result.Text
		if err != nil {
			text = schemas.Visible(err).Message
		}
		g.Answered(t, true, string(c.Input), text, err != nil || result.IsError)
		return result, err
	}
	return t
}

// threadGuard is the guard of the threads of a call.
func (wr *Writer) threadGuard(ctx context.Context, index int) (*guard.Guard, error) {
	h := &wr.heard
	h.mu.Lock()
	before, g := h.before[index], h.threads[index]
	h.mu.Unlock()
	if g != nil {
		return g, nil
	}
	base, err := wr.read(ctx, before)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.threads == nil {
		h.threads = make(map[int]*guard.Guard)
	}
	if h.threads[index] == nil {
		h.threads[index] = guard.New(base)
	}
	return h.threads[index], nil
}
