package services

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sync"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/services/eventlog"
)

// DefaultApprovalTimeout is how long a call waits for the user or for the page.
const DefaultApprovalTimeout = 15 * time.Minute

// What the model reads of calls that were not run.
const (
	deniedText = "The user denied this call; it was not run. Do not call it again with the same input; go on without it, or ask what the user wants."
	// unansweredText is of an approval, absentText of a tool of the page.
	unansweredText = "The user did not approve this call in time; it was not run. Go on without it, or tell the user."
	absentText     = "The page did not give the outcome of this call in time. It is not known whether it took effect."
)

// approvalID is the id of a call's approval, the same in every attempt.
func approvalID(runID string, index int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/approval/%d", runID, index))
	return hex.EncodeToString(sum[:12])
}

// bells wake the calls of a run that wait, by index.
type bells struct {
	mu   sync.Mutex
	each map[int]chan struct{}
}

// of returns the bell of the call: one slot, no data.
func (b *bells) of(index int) chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.each == nil {
		b.each = make(map[int]chan struct{})
	}
	if b.each[index] == nil {
		b.each[index] = make(chan struct{}, 1)
	}
	return b.each[index]
}

func (b *bells) ring(index int) {
	select {
	case b.of(index) <- struct{}{}:
	default:
	}
}

// toolWaiting writes down that a call waits, with the reply that asked for it,
// and shows it. The run's time stands still from here on. A call that waited
// already in an earlier attempt keeps its id and its end.
func (rec *recorder) toolWaiting(e turn.ToolWaiting) {
	rec.flushFilterBlock()
	one, now := rec.run, rec.run.runs.now().Truncate(time.Millisecond)
	one.limit.pause()
	w := record.Wait{
		RunID: one.id, Index: e.Index, Kind: record.WaitApproval, ID: approvalID(one.id, e.Index), ToolUseID: e.ID, Tool: e.Name,
		Input: e.Input, Reason: e.Reason, CreatedAt: now, ExpiresAt: now.Add(one.runs.ApprovalTimeout),
	}
	if rec.ofPage(e.Name) {
		w.Kind = record.WaitClient
	}
	err := rec.write(&record.Write{Wait: &w}).Wait(one.ctx)
	if err == nil && one.prior != nil {
		w, err = one.runs.stored(one.ctx, one.id, e.Index)
	}
	if err == nil && w.Answer == "" {
		rec.asking[e.Index] = true
		if marked := rec.markRest(rec.idle()); marked != nil {
			err = marked.Wait(one.ctx) // before anybody sees it
		}
	}
	if err != nil {
		rec.fail(err)
		return
	}
	rec.showWait(e, w)
}

// ofPage says whether the tool is one that the page runs.
func (rec *recorder) ofPage(name string) bool { return rec.tool(name).Client }

// tool is the tool of that name; one that is not offered is empty.
func (rec *recorder) tool(name string) turn.Tool {
	for _, t := range rec.offered {
		if t.Name == name {
			return t
		}
	}
	return turn.Tool{}
}

// showWait shows a call that waits: the status line, and the call's message in
// the place of the tool's.
func (rec *recorder) showWait(e turn.ToolWaiting, w record.Wait) {
	if w.Kind == record.WaitClient {
		if w.Answer == "" {
			rec.status("Waiting for " + e.Name + " on the page...")
		}
		rec.emit(rec.levels.openWait(e, "client_tool_call", rec.parallel(e.Index)), &runlog.ClientToolCall{
			Tool: e.Name, ToolUseID: e.ID, Input: e.Input, ExpiresAt: w.ExpiresAt,
		})
		return
	}
	if w.Answer == "" {
		rec.emit(runlog.Level{}, &runlog.Status{Message: "Waiting for your approval of " + e.Name + "...", ApprovalID: w.ID, Reason: w.Reason})
	}
	rec.emit(rec.levels.openWait(e, "approval", rec.parallel(e.Index)), &runlog.ApprovalRequest{
		ApprovalID: w.ID, Tool: e.Name, ToolUseID: e.ID, Input: e.Input,
		Message: "The assistant wants to run " + e.Name + ". Approve it?", ExpiresAt: w.ExpiresAt,
		Title: rec.tool(e.Name).Title, Description: schemas.CutText(rec.tool(e.Name).Description),
		Reason: w.Reason, ReasonText: w.Reason.Text(),
	})
}

// toolAnswered shows that a call waits no longer.
func (rec *recorder) toolAnswered(e turn.ToolAnswered) {
	rec.run.limit.resume()
	delete(rec.asking, e.Index)
	if e.Input != nil {
		rec.mu.Lock()
		rec.edited[e.Index] = true
		rec.mu.Unlock()
	}
	rec.decided[e.Index] = e.Result != nil
	if !rec.ofPage(e.Name) {
		rec.emit(rec.levels.tool(e.Index), &runlog.ApprovalResolved{ApprovalID: approvalID(rec.run.id, e.Index), Approved: e.Approved})
	}
	rec.levels.closeWait(e.Index, "completed")
}

// idle says whether the run does nothing but wait for answers: each call of the
// last reply waits without one, or has ended.
func (rec *recorder) idle() bool {
	if len(rec.asking) == 0 {
		return false
	}
	reply := &rec.steps[len(rec.steps)-1].Reply
	for i := range reply.ToolCalls {
		n := reply.FirstIndex + i
		if ended := n < len(rec.calls) && rec.calls[n] != nil && rec.calls[n].done; !ended && !rec.asking[n] {
			return false
		}
	}
	return true
}

// rest tells whether the run is idle, when that may have changed.
func (rec *recorder) rest() {
	if resting := rec.idle(); resting != rec.resting {
		rec.resting = resting
		rec.markRest(resting)
		rec.run.runs.rest(rec.run, resting)
	}
}

// markRest writes down whether the run is idle, for a start that asks which run
// the process ended with: none that was idle. A first attempt has no mark.
func (rec *recorder) markRest(resting bool) *eventlog.Commit {
	if rec.run.prior == nil || rec.markedRest == resting {
		return nil
	}
	rec.markedRest = resting
	return rec.run.runs.mark(rec.run, mark{Left: resting})
}

// await waits for the answer to a call: the one that is stored, or the one that
// is given while it waits. When its time is up the service gives it.
func (rec *recorder) await(ctx context.Context, c *turn.Call) (turn.Verdict, error) {
	w, err := rec.run.answered(ctx, c.Index)
	if err != nil {
		if ctx.Err() == nil {
			rec.run.stop(err) // the attempt cannot go on without it
		}
		return turn.Verdict{}, err
	}
	switch w.Answer {
	case record.WaitApproved:
		return turn.Verdict{Approved: true, Input: w.Edited}, nil
	case record.WaitResult:
		return turn.Verdict{Result: &turn.Result{Text: w.Output, IsError: w.IsError}}, nil
	case record.WaitDenied:
		return turn.Verdict{Result: &turn.Result{Text: deniedText, IsError: true}}, nil
	case record.WaitExpired:
		if w.Kind == record.WaitClient {
			return turn.Verdict{Result: &turn.Result{Text: absentText, IsError: true}}, nil
		}
		return turn.Verdict{Result: &turn.Result{Text: unansweredText, IsError: true}}, nil
	default:
		return turn.Verdict{}, fmt.Errorf("a call has the answer %q", w.Answer)
	}
}

// answered returns the wait of a call once it has an answer.
func (one *run) answered(ctx context.Context, index int) (record.Wait, error) {
	bell := one.bells.of(index)
	for {
		w, err := one.runs.stored(ctx, one.id, index)
		if err != nil || w.Answer != "" {
			return w, err
		}
		left := w.ExpiresAt.Sub(one.runs.now())
		if left <= 0 {
			return one.runs.expire(ctx, w)
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
	}
}

// stored reads the wait of a call.
func (r *Runs) stored(ctx context.Context, runID string, index int) (record.Wait, error) {
	list, err := r.Store.Waits(ctx, runID)
	if err != nil {
		return record.Wait{}, err
	}
	for _, w := range list {
		if w.Index == index {
			return w, nil
		}
	}
	return record.Wait{}, fmt.Errorf("call %d of run %s does not wait", index, runID)
}

// expire ends a wait that nobody answered in time, unless somebody did.
func (r *Runs) expire(ctx context.Context, w record.Wait) (record.Wait, error) {
	w.Answer, w.AnsweredAt = record.WaitExpired, r.now()
	return r.Store.AnswerWait(ctx, w)
}

// noted tells the model that the user has changed a call's input.
func (rec *recorder) noted(c *turn.Call, result turn.Result) turn.Result {
	rec.mu.Lock()
	edited := rec.edited[c.Index]
	rec.mu.Unlock()
	if edited {
		result.Text = "(The user changed the input to " + string(c.Input) + ")\n" + result.Text
	}
	return result
}
