package answer

import (
	"context"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/services/eventlog"
)

// maxToolWait is how long a run that continues waits for the servers of tools.
const maxToolWait = time.Minute

// toolWaiting stores that a call waits, with the reply that asked for it, and shows
// it. The run's time is paused from here on. A call that waited in an earlier attempt
// keeps its id and the time at which it expires.
func (wr *Writer) toolWaiting(e turn.ToolWaiting) {
	wr.levels.EndReply()
	wr.deps.Clock.Pause()
	kind := schemas.WaitApproval
	if wr.ofPage(e.Name) {
		kind = schemas.WaitClientTool
	}
	w := wr.waits.Begin(wr.ctx, e, kind)
	err := wr.Write(&record.Write{Wait: &w}).Wait(wr.ctx)
	if err == nil && wr.run.Earlier != nil {
		w, err = wr.waits.Stored(wr.ctx, e.Index)
	}
	if err == nil && w.Answer == "" {
		wr.asking[e.Index] = true
		if marked := wr.markIdle(wr.idle()); marked != nil {
			err = marked.Wait(wr.ctx) // before anybody sees it
		}
	}
	if err != nil {
		wr.fail(err)
		return
	}
	wr.showWait(e, w)
}

// ofPage reports whether the page runs the tool.
func (wr *Writer) ofPage(name string) bool { return wr.tool(name).Client }

// tool returns the offered tool of that name, or an empty one.
func (wr *Writer) tool(name string) turn.Tool {
	for _, t := range wr.offered {
		if t.Name == name {
			return t
		}
	}
	return turn.Tool{}
}

// showWait shows a call that waits: the status line, and a message where the tool's
// result will be.
func (wr *Writer) showWait(e turn.ToolWaiting, w record.Wait) {
	if w.Kind == schemas.WaitClientTool {
		if w.Answer == "" {
			wr.line(e.Index, e.ID, e.Name, runlog.Status{
				Message: "Waiting for " + e.Name + " on the page...", Code: schemas.StatusWaitingForPage, Tool: e.Name,
			})
		}
		wr.emit(wr.levels.OpenWait(e, "client_tool_call"), &runlog.ClientToolCall{
			Tool: e.Name, ToolUseID: e.ID, Index: e.Index, Input: e.Input, ExpiresAt: w.ExpiresAt, Used: wr.deps.Spent.Total(),
		})
		return
	}
	if w.Answer == "" {
		wr.line(e.Index, e.ID, e.Name, runlog.Status{
			Message: "Waiting for your approval of " + e.Name + "...", Code: schemas.StatusWaitingForUser, Tool: e.Name,
			ApprovalID: w.ID, Reason: w.Reason,
		})
	}
	wr.emit(wr.levels.OpenWait(e, "approval"), &runlog.ApprovalRequest{
		ApprovalID: w.ID, Tool: e.Name, ToolUseID: e.ID, Index: e.Index, Input: e.Input,
		Message: "The assistant wants to run " + e.Name + ". Approve it?", ExpiresAt: w.ExpiresAt,
		Title: wr.tool(e.Name).Title, Description: schemas.CutText(wr.tool(e.Name).Description),
		Reason: w.Reason, ReasonText: w.Reason.Text(), Used: wr.deps.Spent.Total(),
	})
}

// toolAnswered shows that a call no longer waits.
func (wr *Writer) toolAnswered(e turn.ToolAnswered) {
	wr.deps.Clock.Resume()
	delete(wr.asking, e.Index)
	if e.Input != nil {
		wr.notes.change(e.Index, func(n *note) { n.edited = true })
	}
	wr.decided[e.Index] = e.Result != nil
	if !wr.ofPage(e.Name) {
		wr.emit(wr.levels.Tool(e.Index), &runlog.ApprovalResolved{ApprovalID: wr.waits.ApprovalID(e.Index), Approved: e.Approved})
	}
	wr.levels.CloseWait(e.Index)
}

// AwaitTools waits for the servers of the tools that earlier attempts have called, up to
// maxToolWait: they may have started with the service. The run's time is paused meanwhile,
// and the run is idle. Its readers are told if a call waits.
func (wr *Writer) AwaitTools() {
	if wr.deps.Missing == nil {
		return
	}
	ctx, done := context.WithTimeout(wr.ctx, maxToolWait)
	defer done()
	for _, name := range wr.run.Earlier.Called() {
		if there := wr.deps.Missing(name); there != nil && ctx.Err() == nil {
			wr.showLack(name)
			wr.awaitTool(ctx, there)
		}
	}
}

// showLack shows that the next call of the tool waits for its server. The line is of the call:
// one of the model would be in a group, which counts as a reply.
func (wr *Writer) showLack(name string) {
	e := wr.run.Earlier
	reply := &e.Steps[len(e.Steps)-1].Reply
	for i, c := range reply.ToolCalls {
		if index := reply.FirstIndex + i; c.Name == name && e.Calls[index].State != record.ToolFinished {
			wr.line(index, c.ID, name, runlog.Status{Message: "Waiting for the server of " + name + "...", Tool: name})
			return
		}
	}
}

func (wr *Writer) awaitTool(ctx context.Context, there <-chan struct{}) {
	wr.deps.Clock.Pause()
	wr.lacks = true
	wr.reportIdle()
	select {
	case <-there:
	case <-ctx.Done():
	}
	wr.lacks = false
	wr.reportIdle()
	wr.deps.Clock.Resume()
}

// idle reports whether the run only waits: for servers of tools, or for answers. Then each
// call of the last reply waits for one or has ended, and at least one waits.
func (wr *Writer) idle() bool {
	if len(wr.asking) == 0 {
		return wr.lacks
	}
	reply := &wr.steps[len(wr.steps)-1].Reply
	for i := range reply.ToolCalls {
		n := reply.FirstIndex + i
		if ended := n < len(wr.calls) && wr.calls[n] != nil && wr.calls[n].done; !ended && !wr.asking[n] {
			return false
		}
	}
	return true
}

// reportIdle calls deps.Idle when the run becomes idle or is no longer idle. What a run
// has shown that waits for answers is stored at once: a response of a wire ends there, and the
// number of the last event names the next one.
func (wr *Writer) reportIdle() {
	if idle := wr.idle(); idle != wr.wasIdle {
		wr.wasIdle = idle
		wr.markIdle(idle)
		if idle && len(wr.asking) > 0 {
			wr.Write(new(record.Write))
		}
		wr.deps.Idle(idle)
	}
}

// markIdle stores whether the run is idle: the next start does not blame an idle run
// for the end of the process. A first attempt has no mark.
func (wr *Writer) markIdle(idle bool) *eventlog.Commit {
	if wr.run.Earlier == nil || wr.markedIdle == idle {
		return nil
	}
	wr.markedIdle = idle
	return wr.deps.Mark(idle)
}

// await waits for the answer to a call.
func (wr *Writer) await(ctx context.Context, c *turn.Call) (turn.Verdict, error) {
	v, err := wr.waits.Answer(ctx, c.Index)
	if err != nil && ctx.Err() == nil {
		wr.deps.Stop(err) // the attempt cannot continue without it
	}
	return v, err
}

// noticeable is the shortest wait of a model that is shown.
const noticeable = time.Second

// modelWaits shows that the model's server is asked again after d; 0 means that it is
// asked now.
func (wr *Writer) modelWaits(d time.Duration) {
	switch {
	case d >= noticeable:
		wr.emit(wr.levels.Wait(), &runlog.Status{Message: "The model does not answer yet; trying again soon...", Code: schemas.StatusWaitingForModel})
		wr.asksAgain = true
	case d == 0 && wr.asksAgain:
		wr.levels.Waited()
		wr.status(runlog.Status{Message: thinkingStatus, Code: schemas.StatusThinking})
		wr.asksAgain = false
	}
}
