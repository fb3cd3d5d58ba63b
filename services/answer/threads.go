package answer

import (
	"context"
	"errors"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/schemas/turn"
)

// thread is a thread that a running call has opened, with the loop in it: its
// blocks are its own. Nothing in it is part of the run's answer or of its
// history; the call's result says what came of it.
type thread struct {
	stream
	several bool // the reply before asks for several calls
}

// threadEvent shows an event of a thread that a call has opened.
func (wr *Writer) threadEvent(e turn.ThreadEvent) {
	c := wr.levels.tools[e.Index]
	if c == nil {
		return
	}
	switch said := e.Event.(type) {
	case turn.ThreadStart:
		wr.levels.openThread(c, e.Thread, said.Label)
		return
	case turn.ThreadEnd:
		wr.levels.closeThread(c, e.Thread, threadStatus(said.Err))
		return
	}
	if t := c.threads[e.Thread]; t != nil {
		t.handle(e.Event)
	}
}

// threadStatus is the status of a thread that ended with err.
func threadStatus(err error) string {
	switch {
	case err == nil:
		return "completed"
	case errors.Is(err, ErrCancelled), errors.Is(err, ErrDisconnected), errors.Is(err, context.Canceled):
		return "cancelled"
	default:
		return "error"
	}
}

// openThread opens a thread of the call inside the block that the call is in.
func (s *stream) openThread(c *openCall, n int, label string) {
	t := &thread{stream: stream{all: s.all, own: s.all.next(&s.all.thread), by: c.id}}
	if c.threads == nil {
		c.threads = make(map[int]*thread)
	}
	c.threads[n] = t
	s.all.wr.emit(runlog.Level{Thread: t.own, Group: s.block}, &runlog.LevelStart{Depth: runlog.ThreadLevel, Label: label, Ref: c.id, Tool: c.name, ToolUseID: c.id})
}

// closeThread ends a thread of the call with what is open in it.
func (s *stream) closeThread(c *openCall, n int, status string) {
	t := c.threads[n]
	if t == nil {
		return
	}
	delete(c.threads, n)
	t.closeBlock(status)
	s.all.wr.emit(runlog.Level{Thread: t.own, Group: s.block}, &runlog.LevelEnd{Depth: runlog.ThreadLevel, Status: status})
}

// handle shows an event of the loop in the thread.
func (t *thread) handle(event turn.Event) {
	wr := t.all.wr
	switch e := event.(type) {
	case turn.CallStart:
		t.openBlock("llm")
	case turn.Thinking:
		t.write("thinking")
		wr.emit(t.at(t.text), t.all.thinking.New(runlog.Thinking{Text: e.Text}))
	case turn.TextDelta:
		t.say(e.Text)
	case turn.FullText:
		t.say(e.Text)
	case turn.ToolArguments:
		t.arguments(e.Index, e.ID, e.Name, e.Fragment)
	case turn.Reply:
		for i, c := range e.ToolCalls {
			t.wholeCall(e.FirstIndex+i, c)
		}
		t.several = len(e.ToolCalls) > 1
		t.closeBlock("completed")
	case turn.ToolStart:
		wr.emit(t.openTool(e, t.several), &runlog.ThreadToolStart{ToolStart: runlog.ToolStart{
			Tool: e.Name, ToolUseID: e.ID, Index: e.Index, Input: e.Input, Title: wr.tool(e.Name).Title,
		}})
	case turn.ToolProgress:
		wr.emit(t.tool(e.Index), &runlog.ThreadToolProgress{ToolProgress: runlog.ToolProgress{
			Tool: e.Name, ToolUseID: e.ID, Index: e.Index, Stage: e.Stage, Message: e.Message, Progress: e.Fraction, Data: e.Data,
		}})
	case turn.ToolComplete:
		wr.emit(t.tool(e.Index), &runlog.ThreadToolComplete{ToolComplete: runlog.ToolComplete{
			Tool: e.Name, ToolUseID: e.ID, Index: e.Index, IsError: e.Result.IsError, Done: wr.tool(e.Name).Done, Output: schemas.CutText(e.Result.Text),
		}})
		t.closeTool(e.Index, e.Result.IsError, nil)
	default: // payloads in a thread are the tool's business, the rest shows nothing
	}
}

func (t *thread) say(text string) {
	t.write("text")
	t.all.wr.emit(t.at(t.text), t.all.threadTexts.New(runlog.ThreadText{Text: text}))
}

// errModelOffered refuses a conversation with a model that users may not name.
var errModelOffered = schemas.NewError(schemas.CodeInvalid, "this model is not offered")

// threads gives a call of the run what its conversations need: the tools that
// they may use, with user, chat and page as in the call itself, and the run's
// own values where a request has none.
func (wr *Writer) threads(c *turn.Call) {
	if c.Loop == nil {
		return
	}
	for _, t := range wr.offered {
		if t.Idempotent && !t.Confirm && t.Name != c.Name {
			c.Offered = append(c.Offered, wr.guarded(t, c.Index))
		}
	}
	loop, run := c.Loop, wr.prepared.Request
	c.Loop = func(ctx context.Context, label string, req turn.Request) (turn.Conclusion, error) {
		if req.Model == "" {
			req.Model = run.Model
		}
		if req.Model != run.Model && !wr.deps.OffersModel(req.Model) {
			return turn.Conclusion{}, errModelOffered
		}
		if req.MaxTokens == 0 {
			req.MaxTokens = run.MaxTokens
		}
		if req.MaxIterations == 0 {
			req.MaxIterations = run.MaxIterations
		}
		if req.ToolOutput == 0 {
			req.ToolOutput = run.ToolOutput
		}
		if req.Temperature == 0 {
			req.Temperature = run.Temperature
		}
		return loop(ctx, label, req)
	}
}

// identify tells a call whose it is and where.
func (wr *Writer) identify(c *turn.Call) {
	c.User, c.ConversationID, c.RunID, c.Context = wr.run.Owner, wr.run.ChatID, wr.run.ID, wr.run.Request.Context
}
