package levels

import (
	"cmp"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/schemas/turn"
)

// thread is a thread that a running call has opened, with a loop and groups of
// its own. Nothing in it is part of the run's answer or its history; the call's
// result carries its outcome.
type thread struct{ loop }

// openThread opens a thread of the call inside the group that the call is in.
func (lp *loop) openThread(c *openCall, n int, label string) {
	t := &thread{loop: loop{all: lp.all, own: lp.all.next(&lp.all.threads), ref: cmp.Or(c.id, lp.all.Ref)}}
	if c.threads == nil {
		c.threads = make(map[int]*thread)
	}
	c.threads[n] = t
	lp.all.Emit(runlog.Level{Thread: t.own, Group: c.group}, &runlog.LevelStart{Depth: runlog.ThreadLevel, Label: label, Ref: c.id, Tool: c.name, ToolUseID: c.id})
}

// closeThread ends a thread of the call with what is open in it.
func (lp *loop) closeThread(c *openCall, n int, status string) {
	t := c.threads[n]
	if t == nil {
		return
	}
	delete(c.threads, n)
	t.Close(status)
	lp.all.Emit(runlog.Level{Thread: t.own, Group: c.group}, &runlog.LevelEnd{Depth: runlog.ThreadLevel, Status: status})
}

// handle shows an event of the loop in the thread.
func (t *thread) handle(event turn.Event) {
	l := t.all
	switch e := event.(type) {
	case turn.CallStart:
		t.openGroup(reply)
	case turn.Thinking:
		t.Think(e.Text)
	case turn.TextDelta:
		t.say(e.Text)
	case turn.FullText:
		t.say(e.Text)
	case turn.ToolArguments:
		t.Arguments(e)
	case turn.Reply:
		t.Whole(&e)
		t.Close(completed)
	case turn.ToolStart:
		l.Emit(t.Line(e.Index, e.ID, e.Name), &runlog.ThreadStatus{Status: runlog.Running(e.Name)})
		l.Emit(t.OpenTool(e), &runlog.ThreadToolStart{ToolStart: runlog.ToolStart{
			Tool: e.Name, ToolUseID: e.ID, Index: e.Index, Input: e.Input, Title: l.Lookup(e.Name).Title,
		}})
	case turn.ToolProgress:
		l.Emit(t.Tool(e.Index), &runlog.ThreadToolProgress{ToolProgress: runlog.ToolProgress{
			Tool: e.Name, ToolUseID: e.ID, Index: e.Index, Stage: e.Stage, Message: e.Message, Progress: e.Fraction, Data: e.Data,
		}})
	case turn.ToolComplete:
		status := StatusOf(e.Result.IsError)
		l.Emit(t.Result(e.Index, status), &runlog.ThreadToolComplete{ToolComplete: runlog.ToolComplete{
			Tool: e.Name, ToolUseID: e.ID, Index: e.Index, IsError: e.Result.IsError, Done: l.Lookup(e.Name).Done, Output: schemas.CutText(e.Result.Text),
			Apart: true,
		}})
		t.CloseTool(e.Index, status, nil)
	default: // the tool handles a thread's payloads; the others show nothing
	}
}

func (t *thread) say(text string) {
	t.all.Emit(t.open("text"), t.all.threadTexts.New(runlog.ThreadText{Text: text}))
}
