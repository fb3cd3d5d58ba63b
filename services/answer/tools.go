package answer

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/schemas/text"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/services/answer/argstream"
	"github.com/chattray/chattray/services/answer/levels"
	"github.com/chattray/chattray/services/answer/payloads"
	"github.com/chattray/chattray/services/eventlog"
	"github.com/chattray/chattray/services/leases"
)

// at returns the call of that index; it adds the call if there is none.
func (wr *Writer) at(index int) *call {
	for len(wr.calls) <= index {
		wr.calls = append(wr.calls, nil)
	}
	if wr.calls[index] == nil {
		wr.calls[index] = &call{ToolCall: record.ToolCall{RunID: wr.run.ID, Index: index}}
	}
	return wr.calls[index]
}

// toolStart stores that a call begins, with the reply that asked for it, and shows the
// call. A reply is on disk before its first tool is shown, unless all its calls may run
// again, see repeatable. A call that may run again needs no write of its own;
// any other call waits until its write is stored, see runTool.
func (wr *Writer) toolStart(e turn.ToolStart) {
	wr.levels.EndReply()
	c := wr.at(e.Index)
	c.ToolUseID, c.Name, c.Input = e.ID, e.Name, e.Input
	c.State, c.Attempt, c.StartedAt = record.ToolStarted, wr.run.Attempt, wr.deps.Now()
	wr.reading.Begin(e.Index, wr.finished(e.Index))
	if wr.decided[e.Index] { // it does not begin
		wr.begin(e)
		return
	}
	first := wr.writes.Waiting()
	var w *eventlog.Commit
	switch {
	case !wr.tool(e.Name).Idempotent:
		w = wr.writeCall(c)
		wr.notes.change(e.Index, func(n *note) { n.start = w })
	case first && wr.repeatable(e.Index):
		wr.writes.AddLater(&record.Write{})
	case first:
		w = wr.Write(&record.Write{})
	}
	if first && w != nil {
		if err := w.Wait(wr.ctx); err != nil {
			wr.fail(err)
			return
		}
	}
	wr.begin(e)
}

// writeCall submits a write of the call as it is now.
func (wr *Writer) writeCall(c *call) *eventlog.Commit {
	row := c.ToolCall
	return wr.Write(&record.Write{ToolCall: &row})
}

// stepOf returns the number of the step that asks for the call; the number of steps for none.
func (wr *Writer) stepOf(index int) int {
	n := slices.IndexFunc(wr.steps, func(s turn.Step) bool { return index < s.Reply.FirstIndex+len(s.Reply.ToolCalls) })
	if n < 0 {
		return len(wr.steps)
	}
	return n
}

// repeatable reports whether the reply that asked for the call may be repeated
// with all its calls, because none of them changes anything. Such a reply and
// its outcomes are stored with the next flush. If the process ends before that,
// the next attempt begins before the reply, and the model writes it again.
func (wr *Writer) repeatable(index int) bool {
	n := wr.stepOf(index)
	return n < len(wr.steps) && !slices.ContainsFunc(wr.steps[n].Reply.ToolCalls, func(c turn.ToolCall) bool {
		t := wr.tool(c.Name)
		return !t.Idempotent || t.Effects || t.Document
	})
}

// begin shows that a call begins.
func (wr *Writer) begin(e turn.ToolStart) {
	start := runlog.ToolStart{Tool: e.Name, ToolUseID: e.ID, Index: e.Index, Input: e.Input, Title: wr.tool(e.Name).Title}
	if wr.written != nil {
		start.Streamed = wr.written.Streamed(e.Index)
	}
	if start.Streamed != "" {
		start.Beside = argstream.Without(e.Input, start.Streamed)
	}
	if wr.decided[e.Index] && !wr.ofPage(e.Name) {
		wr.emit(wr.levels.OpenTool(e), &runlog.ToolRefused{ToolStart: start})
	} else {
		running := runlog.Running(e.Name)
		running.Shown = wr.written != nil && wr.written.Draft(e.Index) != nil
		wr.line(e.Index, e.ID, e.Name, running)
		wr.emit(wr.levels.OpenTool(e), &start)
	}
	if wr.decided[e.Index] || wr.at(e.Index).State == record.ToolFinished { // it does not run
		return
	}
	wr.claim(e)
	if wr.written != nil {
		wr.written.Begin(e)
		draft := wr.written.Draft(e.Index)
		wr.notes.change(e.Index, func(n *note) { n.draft = draft })
	}
}

// line shows a status line of a call.
func (wr *Writer) line(index int, id, name string, s runlog.Status) {
	wr.emit(wr.levels.Line(index, id, name), &s)
}

// fail keeps the first error that ends the attempt; nil is none. While the run is being
// stopped it keeps none, because errors then follow from the stop.
func (wr *Writer) fail(err error) {
	if err != nil && wr.err == nil && context.Cause(wr.ctx) == nil {
		wr.err = err
	}
}

// runTool runs a call with the user, the chat and the page. A call that must not run
// again begins only when its start is on disk. If an earlier attempt began such a
// call, its result is that it was interrupted.
func (wr *Writer) runTool(ctx context.Context, t *turn.Tool, c *turn.Call) (turn.Result, error) {
	if !t.Idempotent && wr.interrupted[c.Index] {
		return turn.Result{Text: interruptedText, IsError: true}, nil
	}
	n := wr.notes.of(c.Index)
	if !t.Idempotent {
		if err := c.Waiting(func() error { return n.start.Wait(ctx) }); err != nil {
			wr.deps.Stop(err) // the attempt cannot continue without this write
			return turn.Result{}, err
		}
	}
	wr.identify(c)
	if n.elsewhere {
		return turn.Result{Text: elsewhereText, IsError: true}, nil
	}
	if result, withdrawn, _ := wr.withdrawn(ctx, t, c); withdrawn { // what cannot be read now is read before it writes
		return result, nil
	}
	wr.threads(c)
	if err := c.Waiting(func() error { return leases.Hold(ctx) }); err != nil {
		wr.deps.Stop(err)
		return turn.Result{}, err
	}
	result, err := t.Run(wr.checkWrite(ctx, t, c), c)
	if late, ok := errors.AsType[errWithdrawn](err); ok {
		return late.result, nil
	}
	wr.stopFenced(err)
	if n.edited {
		result.Text = "(The user changed the input to " + string(c.Input) + ")\n" + result.Text
	}
	return result, err
}

// stopFenced ends the attempt if an error says that a later one has begun elsewhere.
func (wr *Writer) stopFenced(err error) {
	if errors.Is(err, record.ErrFenced) {
		wr.deps.Stop(record.ErrFenced)
	}
}

// interruptedText is what the model reads about a call whose outcome is
// unknown.
const interruptedText = "The service was interrupted while this call ran. It is not known whether it took effect, and it was not repeated. " +
	"Find out what state things are in before you call it again, and tell the user."

func (wr *Writer) toolProgress(e turn.ToolProgress) {
	wr.emit(wr.levels.Tool(e.Index), &runlog.ToolProgress{
		Tool: e.Name, ToolUseID: e.ID, Index: e.Index, Stage: e.Stage, Message: e.Message, Progress: e.Fraction, Data: e.Data,
		Document: turn.DocumentChange(e.Stage, e.Data),
	})
}

// toolPayload names a tool's payload; it is stored and shown with the result.
func (wr *Writer) toolPayload(e turn.PayloadMade) {
	wr.at(e.Index).payload = wr.addPayload(e.Payload, "tool", payloads.CallPlace(e.Index))
}

// toolComplete stores a call's outcome, then shows it and the markers that are
// due: marker N comes after all markers below N. The outcome of a call in a
// repeatable reply is stored later.
func (wr *Writer) toolComplete(e turn.ToolComplete) {
	c := wr.at(e.Index)
	c.ToolUseID, c.Name, c.State = e.ID, e.Name, record.ToolFinished
	if e.Result.IsError && wr.shows() {
		wr.written.Failed(e.Index)
	}
	c.Output, c.ModelOutput, c.IsError, c.Duration = e.Result.Text, e.ModelText, e.Result.IsError, e.Result.Duration
	c.Payload = c.payload
	if c.payload != nil {
		wr.writes.Payload(*c.payload)
	}
	wr.result(e.Index, turn.Result{Text: e.ModelText, IsError: e.Result.IsError})
	row := c.ToolCall
	c.Output = schemas.CutText(c.Output)
	if write := (&record.Write{ToolCall: &row}); wr.repeatable(e.Index) {
		wr.writes.AddLater(write)
	} else if err := wr.Write(write).Wait(context.WithoutCancel(wr.ctx)); err != nil { // it is stored even while the run is being stopped
		wr.fail(err)
		return
	}
	wr.completed(c)
}

// What is the output of a call when its run ended: while it ran, and before it began.
const (
	stoppedText  = "The answer was stopped before this call had ended. It is not known whether it took effect."
	notBegunText = "The answer was stopped before this call began. It was not run."
)

// breakOff ends what was unfinished when the run failed or was cancelled, with that status. It keeps the
// text that the filter held back, whole payloads, the running calls and those that later ones overtook.
func (wr *Writer) breakOff(status string) {
	if wr.filter != nil {
		rest, found := wr.filter.End(true)
		wr.showLast(rest)
		wr.found(found)
	}
	for _, c := range wr.calls {
		if c == nil || c.State == record.ToolFinished {
			continue
		}
		c.State, c.Output, c.ModelOutput, c.IsError = record.ToolFinished, stoppedText, stoppedText, true
		c.Duration = wr.deps.Now().Sub(c.StartedAt)
		wr.writeCall(c)
		if wr.levels.Runs(c.Index) { // otherwise its levels ended with an earlier attempt
			wr.showEnd(c, status)
		}
	}
	wr.recordOvertaken()
}

// recordOvertaken records and shows the calls that never began although later ones did,
// such as those that wait for the user. A marker has a call's place in the tool history:
// without them, those of the later ones would show other calls.
func (wr *Writer) recordOvertaken() {
	for _, s := range wr.steps {
		for i, asked := range s.Reply.ToolCalls {
			n := s.Reply.FirstIndex + i
			if n >= len(wr.calls) || wr.calls[n] != nil {
				continue
			}
			c := wr.at(n)
			c.ToolUseID, c.Name, c.State, c.Attempt, c.StartedAt = asked.ID, asked.Name, record.ToolFinished, wr.run.Attempt, wr.deps.Now()
			c.Input, _ = turn.Input(asked.Arguments)
			c.Output, c.IsError = notBegunText, true
			if slices.ContainsFunc(wr.run.Request.ClientTools, func(t schemas.ClientTool) bool { return t.Name == asked.Name }) {
				c.Output = stoppedText // the page may have run it
			}
			c.ModelOutput = c.Output
			wr.writeCall(c)
			wr.decided[n] = true // it does not begin
			wr.levels.CloseWait(n)
			wr.begin(turn.ToolStart{Index: n, ID: c.ToolUseID, Name: c.Name, Input: c.Input})
			wr.showEnd(c, levels.StatusOf(true))
		}
	}
}

// result puts a call's outcome into its step: what the model got.
func (wr *Writer) result(index int, result turn.Result) {
	if n := wr.stepOf(index); n < len(wr.steps) {
		s := &wr.steps[n]
		s.Results[index-s.Reply.FirstIndex] = &result
	}
}

// completed shows a finished call, its payload and the markers that are due.
func (wr *Writer) completed(c *call) {
	wr.showEnd(c, levels.StatusOf(c.IsError))
	wr.dueMarkers()
}

func (wr *Writer) showEnd(c *call, status string) {
	wr.emit(wr.levels.Result(c.Index, status), &runlog.ToolComplete{
		Tool: c.Name, ToolUseID: c.ToolUseID, Index: c.Index, IsError: c.IsError, Done: wr.tool(c.Name).Done, Output: c.Output, Apart: true,
	})
	wr.levels.CloseTool(c.Index, status, c.payload)
	c.done = true
}

// dueMarkers shows the markers of finished calls in the order in which the model asked
// for the calls. While silent it stops after the markers that the log shows.
func (wr *Writer) dueMarkers() {
	for n := wr.marked; n < len(wr.calls) && wr.calls[n] != nil && wr.calls[n].done; n++ {
		if wr.silent && n >= wr.keptMarkers {
			return
		}
		wr.marker(n)
		wr.marked++
	}
}

// lastMarkers shows the markers of the calls that the end of the run interrupted, and
// those that waited for them: a stored answer shows its calls by their markers. It stops
// before a call of which nothing is known, because the stored replies cannot be read. That
// one is not in the tool history, so the markers after it would show other calls.
func (wr *Writer) lastMarkers() {
	for ; wr.marked < len(wr.calls) && wr.calls[wr.marked] != nil; wr.marked++ {
		wr.marker(wr.marked)
	}
}

// marker shows [[tool:N]] after a blank line, if there is text before it.
func (wr *Writer) marker(n int) {
	if gap := wr.visible.Gap(); gap != "" {
		wr.putMarker(gap)
	}
	wr.putMarker(text.ToolMarker + strconv.Itoa(n) + "]]")
	wr.visible.EndMarker()
}
