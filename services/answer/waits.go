package answer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/concurrent"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/services/eventlog"
)

// maxToolWait is how long a run that continues waits for the servers of tools.
const maxToolWait = time.Minute

// clockWait prolongs a wait that has expired by the clock of this process and
// not by the database's.
const clockWait = time.Second

// lookAgain is how often a call looks for its answer while the database is away.
const lookAgain = time.Second / 2

// DefaultApprovalTimeout is how long a call waits for the user or for the page.
const DefaultApprovalTimeout = 15 * time.Minute

// What the model reads about calls that were not run.
const (
	deniedText = "The user denied this call; it was not run. Do not call it again with the same input; go on without it, or ask what the user wants."
	// unansweredText is for an approval, absentText for a tool that the page
	// runs.
	unansweredText = "The user did not approve this call in time; it was not run. Go on without it, or tell the user."
	absentText     = "The page did not send the result of this call in time. It is not known whether it took effect."
)

// approvalID returns the id of a call's approval, the same in every attempt.
func approvalID(runID string, index int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/approval/%d", runID, index))
	return hex.EncodeToString(sum[:12])
}

// Wakeups wake the waiting calls of a run, by index. The zero value is ready; it is
// safe for concurrent use.
type Wakeups struct {
	mu      sync.Mutex
	each    map[int]chan struct{}
	waiting int // calls that wait
}

// of returns the bell of the call: a channel with one slot and no data.
func (w *Wakeups) of(index int) chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.each == nil {
		w.each = make(map[int]chan struct{})
	}
	if w.each[index] == nil {
		w.each[index] = make(chan struct{}, 1)
	}
	return w.each[index]
}

// Awaited reports whether a call waits.
func (w *Wakeups) Awaited() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.waiting > 0
}

// wait counts a call that waits, until done is called.
func (w *Wakeups) wait() (done func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiting++
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.waiting--
	}
}

// Ring wakes the call: its answer is stored.
func (w *Wakeups) Ring(index int) {
	select {
	case w.of(index) <- struct{}{}:
	default:
	}
}

// toolWaiting stores that a call waits, with the reply that asked for it, and shows
// it. The run's time is paused from here on. A call that waited in an earlier attempt
// keeps its id and the time at which it expires.
func (wr *Writer) toolWaiting(e turn.ToolWaiting) {
	wr.levels.EndReply()
	now := wr.sharedNow()
	wr.deps.Clock.Pause()
	w := record.Wait{
		RunID: wr.run.ID, Index: e.Index, Kind: schemas.WaitApproval, ID: approvalID(wr.run.ID, e.Index), ToolUseID: e.ID, Tool: e.Name,
		Input: e.Input, Reason: e.Reason, CreatedAt: now, ExpiresAt: now.Add(wr.deps.ApprovalTimeout),
	}
	if wr.ofPage(e.Name) {
		w.Kind = schemas.WaitClientTool
	}
	err := wr.Write(&record.Write{Wait: &w}).Wait(wr.ctx)
	if err == nil && wr.run.Earlier != nil {
		w, err = wr.wait(wr.ctx, e.Index)
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

// sharedNow returns the time by the clock by which calls expire.
func (wr *Writer) sharedNow() time.Time {
	now := wr.deps.Now()
	if wr.deps.SharedNow != nil {
		if shared, err := wr.deps.SharedNow(wr.ctx); err == nil { // else the wait cannot be stored either
			now = shared.UTC()
		}
	}
	return now.Truncate(time.Millisecond)
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
		wr.mu.Lock()
		wr.edited[e.Index] = true
		wr.mu.Unlock()
	}
	wr.decided[e.Index] = e.Result != nil
	if !wr.ofPage(e.Name) {
		wr.emit(wr.levels.Tool(e.Index), &runlog.ApprovalResolved{ApprovalID: approvalID(wr.run.ID, e.Index), Approved: e.Approved})
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

// reportIdle calls deps.Idle when the run becomes idle or is no longer idle.
func (wr *Writer) reportIdle() {
	if idle := wr.idle(); idle != wr.wasIdle {
		wr.wasIdle = idle
		wr.markIdle(idle)
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

// await waits for the answer to a call, which may already be stored. When the
// call expires, that is its answer.
func (wr *Writer) await(ctx context.Context, c *turn.Call) (turn.Verdict, error) {
	w, err := wr.answerTo(ctx, c.Index)
	if err != nil {
		if ctx.Err() == nil {
			wr.deps.Stop(err) // the attempt cannot continue without it
		}
		return turn.Verdict{}, err
	}
	switch w.Answer {
	case schemas.WaitApproved:
		return turn.Verdict{Approved: true, Input: w.Edited}, nil
	case schemas.WaitResult:
		return turn.Verdict{Result: &turn.Result{Text: w.Output, IsError: w.IsError}}, nil
	case schemas.WaitDenied:
		return turn.Verdict{Result: &turn.Result{Text: deniedText, IsError: true}}, nil
	case schemas.WaitExpired:
		if w.Kind == schemas.WaitClientTool {
			return turn.Verdict{Result: &turn.Result{Text: absentText, IsError: true}}, nil
		}
		return turn.Verdict{Result: &turn.Result{Text: unansweredText, IsError: true}}, nil
	default:
		return turn.Verdict{}, fmt.Errorf("a call has the answer %q", w.Answer)
	}
}

// answerTo returns the wait of a call once it has an answer. A call that is woken while the
// database is away looks again: who woke it may have met the same.
func (wr *Writer) answerTo(ctx context.Context, index int) (record.Wait, error) {
	bell := wr.deps.Wakeups.of(index)
	defer wr.deps.Wakeups.wait()()
	w, err := wr.wait(ctx, index)
	latest := time.Now().Add(w.ExpiresAt.Sub(w.CreatedAt))
	for err == nil && w.Answer == "" {
		left := min(w.ExpiresAt.Sub(wr.deps.Now()), time.Until(latest)) // the clock of this process may be behind, or set back
		if left <= 0 {
			if w, err = wr.expire(ctx, w); !errors.Is(err, record.ErrEarly) {
				return w, err
			}
			left = clockWait
		}
		timer := time.NewTimer(left)
		select {
		case <-bell:
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return w, context.Cause(ctx)
		}
		timer.Stop()
		w, err = wr.wait(ctx, index)
		for errors.Is(err, record.ErrUnavailable) && concurrent.Pause(ctx, lookAgain) == nil {
			w, err = wr.wait(ctx, index)
		}
	}
	return w, err
}

// wait reads the wait of a call.
func (wr *Writer) wait(ctx context.Context, index int) (record.Wait, error) {
	list, err := wr.deps.Store.Waits(ctx, wr.run.ID)
	if err != nil {
		return record.Wait{}, err
	}
	for _, w := range list {
		if w.Index == index {
			return w, nil
		}
	}
	return record.Wait{}, fmt.Errorf("call %d of run %s does not wait", index, wr.run.ID)
}

// expire ends a wait whose time is up. An answer that was stored before counts.
func (wr *Writer) expire(ctx context.Context, w record.Wait) (record.Wait, error) {
	w.Answer, w.AnsweredAt = schemas.WaitExpired, wr.deps.Now()
	return wr.deps.Store.AnswerWait(ctx, w)
}

// noted adds a note to a result if the user has changed the call's input.
func (wr *Writer) noted(c *turn.Call, result turn.Result) turn.Result {
	wr.mu.Lock()
	edited := wr.edited[c.Index]
	wr.mu.Unlock()
	if edited {
		result.Text = "(The user changed the input to " + string(c.Input) + ")\n" + result.Text
	}
	return result
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
