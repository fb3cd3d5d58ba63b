package services

import (
	"context"
	"slices"
	"strconv"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/services/eventlog"
)

// at returns the call of that index, making room for it.
func (rec *recorder) at(index int) *call {
	for len(rec.calls) <= index {
		rec.calls = append(rec.calls, nil)
	}
	if rec.calls[index] == nil {
		rec.calls[index] = &call{ToolCall: record.ToolCall{RunID: rec.run.id, Index: index}}
	}
	return rec.calls[index]
}

// toolStart writes down that a call begins, with the reply that asked for it,
// and shows the call. A reply is on disk before its first tool is shown. Of a
// call that may be run again no more has to be known; any other waits for its
// own write, see runTool.
func (rec *recorder) toolStart(e turn.ToolStart) {
	rec.flushFilterBlock()
	c := rec.at(e.Index)
	c.ToolUseID, c.Name, c.Input = e.ID, e.Name, e.Input
	c.State, c.Attempt, c.StartedAt = record.ToolStarted, rec.run.attempt, rec.run.runs.now()
	rec.noteDraft(e.Index)
	rec.noteSteps(e.Index)
	if rec.decided[e.Index] { // it does not begin
		rec.begin(e)
		return
	}
	var w *eventlog.Commit
	first := rec.checkpoint != nil
	if row := c.ToolCall; !rec.idempotent(e.Name) {
		w = rec.write(&record.Write{ToolCall: &row})
		rec.mu.Lock()
		rec.started[e.Index] = w
		rec.mu.Unlock()
	} else if first {
		w = rec.write(&record.Write{})
	}
	if first {
		if err := w.Wait(rec.run.ctx); err != nil {
			rec.fail(err)
			return
		}
	}
	rec.begin(e)
}

// idempotent says whether the tool may be run again.
func (rec *recorder) idempotent(name string) bool {
	return rec.tool(name).Idempotent
}

// begin shows that a call begins.
func (rec *recorder) begin(e turn.ToolStart) {
	rec.status("Running " + e.Name + "...")
	rec.emit(rec.levels.openTool(e, rec.parallel(e.Index)), &runlog.ToolStart{
		Tool: e.Name, ToolUseID: e.ID, Index: e.Index, Input: e.Input, Title: rec.tool(e.Name).Title,
	})
	rec.showPlanned(e.Index)
}

// fail notes the first error that ends the attempt; that the run is being
// stopped is none of them.
func (rec *recorder) fail(err error) {
	if rec.err == nil && context.Cause(rec.run.ctx) == nil {
		rec.err = err
	}
}

// runTool gives a call the user, the chat and the page, and lets one that may
// not be run again begin only when it is on disk that it does. A call of that
// kind that an earlier attempt began is answered as interrupted.
func (rec *recorder) runTool(ctx context.Context, t *turn.Tool, c *turn.Call) (turn.Result, error) {
	if !t.Idempotent && rec.interrupted[c.Index] {
		return turn.Result{Text: interruptedText, IsError: true}, nil
	}
	if !t.Idempotent {
		rec.mu.Lock()
		w := rec.started[c.Index]
		rec.mu.Unlock()
		if err := c.Waiting(func() error { return w.Wait(ctx) }); err != nil {
			rec.run.stop(err) // the attempt cannot go on without this write
			return turn.Result{}, err
		}
	}
	if rec.withdrawn(ctx, c) {
		return turn.Result{Text: withdrawnText, IsError: true}, nil
	}
	rec.identify(c)
	rec.threads(c)
	result, err := t.Run(ctx, c)
	return rec.noted(c, result), err
}

// interruptedText is what the model reads of a call whose outcome is unknown.
const interruptedText = "The service was interrupted while this call ran. It is not known whether it took effect, and it was not repeated. " +
	"Find out what state things are in before you call it again, and tell the user."

// parallel says whether the step that the call belongs to has other calls.
func (rec *recorder) parallel(index int) bool {
	for _, v := range slices.Backward(rec.steps) {
		if s := v; index >= s.Reply.FirstIndex {
			return len(s.Reply.ToolCalls) > 1
		}
	}
	return false
}

// flushFilterBlock ends a block of the model that a reply left open.
func (rec *recorder) flushFilterBlock() {
	if rec.levels.kind == "llm" {
		rec.levels.closeBlock("completed")
	}
}

func (rec *recorder) toolProgress(e turn.ToolProgress) {
	rec.emit(rec.levels.tool(e.Index), &runlog.ToolProgress{
		Tool: e.Name, ToolUseID: e.ID, Index: e.Index, Stage: e.Stage, Message: e.Message, Progress: e.Fraction, Data: e.Data,
		Document: turn.DocumentChange(e.Stage, e.Data),
	})
}

// toolPayload names a tool's payload; it is stored and shown with the result.
func (rec *recorder) toolPayload(e turn.PayloadMade) {
	rec.at(e.Index).payload = rec.name(e.Payload, "tool")
}

// toolComplete stores a call's outcome and then shows it, and the markers that
// are due: marker N comes after all markers below N.
func (rec *recorder) toolComplete(e turn.ToolComplete) {
	c := rec.at(e.Index)
	c.ToolUseID, c.Name, c.State = e.ID, e.Name, record.ToolFinished
	c.Output, c.ModelOutput, c.IsError, c.Duration = e.Result.Text, e.ModelText, e.Result.IsError, e.Result.Duration
	if c.Input == nil {
		c.Input = []byte("{}")
	}
	c.Payload = c.payload
	if c.payload != nil {
		rec.pending = append(rec.pending, *c.payload)
	}
	rec.result(e.Index, e.Result)
	row := c.ToolCall
	// A run that is being stopped keeps what it has.
	if err := rec.write(&record.Write{ToolCall: &row}).Wait(context.WithoutCancel(rec.run.ctx)); err != nil {
		rec.fail(err)
		return
	}
	rec.completed(c)
}

// stoppedText is the output of a call that the end of its run cut short.
const stoppedText = "The answer was stopped before this call had ended. It is not known whether it took effect."

// breakOff ends what was under way when the run failed or was cancelled, so that
// what was produced is kept: text that the filter held back, payloads that were
// whole, and the calls that ran, with the outcome that there is none.
func (rec *recorder) breakOff() {
	if rec.filter != nil {
		rest, found := rec.filter.End(true)
		rec.show(rest)
		rec.found(found)
	}
	for _, c := range rec.calls {
		if c == nil || c.State == record.ToolFinished {
			continue
		}
		c.State, c.Output, c.ModelOutput, c.IsError = record.ToolFinished, stoppedText, stoppedText, true
		c.Duration = rec.run.runs.now().Sub(c.StartedAt)
		row := c.ToolCall
		rec.write(&record.Write{ToolCall: &row})
	}
}

// result puts a call's outcome into its step.
func (rec *recorder) result(index int, result turn.Result) {
	for _, v := range slices.Backward(rec.steps) {
		if s := v; index >= s.Reply.FirstIndex {
			if n := index - s.Reply.FirstIndex; n < len(s.Results) {
				s.Results[n] = &result
			}
			return
		}
	}
}

// completed shows a finished call, its payload and the markers that are due.
func (rec *recorder) completed(c *call) {
	rec.emit(rec.levels.tool(c.Index), &runlog.ToolComplete{
		Tool: c.Name, ToolUseID: c.ToolUseID, Index: c.Index, IsError: c.IsError, Done: rec.tool(c.Name).Done, Output: schemas.CutText(c.Output),
	})
	rec.levels.closeTool(c.Index, c.IsError, c.payload)
	c.done = true
	rec.dueMarkers()
}

// dueMarkers shows the markers of finished calls in the order in which the model
// asked; in silence only those that have been shown.
func (rec *recorder) dueMarkers() {
	for n := rec.marked; n < len(rec.calls) && rec.calls[n] != nil && rec.calls[n].done; n++ {
		if rec.silent && n >= rec.keptMarkers {
			return
		}
		rec.marker(n)
		rec.marked++
	}
}

// markerStart begins [[tool:N]].
const markerStart = "[[tool:"

// marker shows [[tool:N]] after a blank line, if there is text before it.
func (rec *recorder) marker(n int) {
	if rec.shown && rec.newlines < 2 {
		rec.putMarker("\n\n"[rec.newlines:])
	}
	rec.putMarker(markerStart + strconv.Itoa(n) + "]]")
	rec.atMarker = true
}

// write submits a write of the run, with the checkpoint and the payloads that
// wait for one. It is held while the database is away.
func (rec *recorder) write(w *record.Write) *eventlog.Commit { return rec.submit(w, true) }

func (rec *recorder) submit(w *record.Write, hold bool) *eventlog.Commit {
	w.RunID, w.Attempt = rec.run.id, rec.run.attempt
	if rec.checkpoint != nil && w.Finish == nil {
		w.Checkpoint = &record.Checkpoint{N: rec.checkpointN, Data: encode(rec.checkpoint)}
	}
	rec.checkpoint = nil
	w.Payloads = append(w.Payloads, rec.takePayloads()...)
	e := rec.run.runs.committer.Submit(w, rec.run.log, hold)
	rec.writes = append(slices.DeleteFunc(rec.writes, (*eventlog.Commit).Stored), e)
	return e
}

func (rec *recorder) takePayloads() []record.Payload {
	var rows []record.Payload
	for _, p := range rec.pending {
		rows = append(rows, record.Payload{
			CustomPayload: p, ConversationID: rec.run.conversationID, RunID: rec.run.id, MessageID: rec.run.messageID, CreatedAt: rec.run.runs.now(),
		})
	}
	rec.pending = nil
	return rows
}
