package answer

import (
	"context"
	"errors"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/services/eventlog"
	"github.com/chattray/chattray/services/trace"
)

// Outcome is how an attempt ended.
type Outcome struct {
	State schemas.RunState // terminal, or "" for an abandoned attempt
	Err   error
}

// End ends everything that is still open. It returns the end of the run as it
// is stored, the last event of its log, and the trace. The caller adds the log
// and stores everything with Write.
func (wr *Writer) End(end Outcome) (*record.Finish, runlog.Event, *schemas.Diagnostics) {
	complete, status := end.State == schemas.RunCompleted, levelStatus[end.State]
	if !complete {
		wr.breakOff(status)
	}
	if wr.written != nil {
		wr.written.End(status)
		switch end.State {
		case schemas.RunCompleted:
			wr.lookForWithdrawals()
		case schemas.RunFailed, schemas.RunCancelled:
			wr.dropPlanned()
		default:
		}
		wr.answer.End(complete)
	}
	restored := false
	if complete {
		wr.unstored = wr.answer.Unstored() // else warnings say what its blocks lack
	} else {
		restored = wr.restore()
		wr.lastMarkers() // after restore, to which a marker is text
	}
	wr.levels.Close(status)
	d := wr.diagnostics(end.State)
	fin := &record.Finish{
		State: end.State, StopReason: wr.stop, Usage: wr.deps.Spent.Total(), Spent: wr.deps.Spent.Of(d.Model), EndedAt: wr.deps.Now(), Trace: trace.Encode(&d),
		Model: d.Model, Fallback: wr.prepared != nil && d.Model != wr.prepared.Request.Model, Restores: restored,
	}
	return fin, runlog.Event{Body: wr.terminal(end, fin)}, &d
}

// Unstored returns record.ErrUnavailable if the run cannot end in this attempt, after End: the
// database was away for so long that not all of a complete answer is in its blocks, or that
// the answers are not known which the run has replaced for nothing.
func (wr *Writer) Unstored() error { return wr.unstored }

// restore shows the earlier answers again whose blocks the run has cleared, if it has
// brought nothing in their place. It reports whether there are any.
func (wr *Writer) restore() bool {
	if wr.visible.Worded() || len(wr.payloads.All()) > 0 || !wr.run.Replaces && wr.run.Earlier == nil {
		return false
	}
	ctx, done := context.WithTimeout(context.WithoutCancel(wr.ctx), eventlog.CommitWait)
	defer done()
	list, err := record.Persist(ctx, func() ([]record.Replaced, error) { return wr.deps.Store.Replaced(ctx, wr.run.ID) })
	switch {
	case errors.Is(err, record.ErrUnavailable):
		wr.unstored = err
	case err != nil:
		wr.deps.Logger.Warn("could not read the answers that a run has replaced", "run_id", wr.run.ID, "error", err)
	}
	for _, r := range list {
		place := runlog.Place{BlockIDs: r.ID, Type: schemas.BlockMarkdown}
		wr.emit(runlog.Level{}, &runlog.BlockReset{Place: place})
		if r.Text != "" {
			wr.emit(runlog.Level{}, &runlog.BlockContent{Place: place, Text: r.Text})
		}
		wr.emit(runlog.Level{}, &runlog.BlockDone{Place: place})
	}
	return len(list) > 0
}

// levelStatus is the status of the levels that are open when a run ends.
var levelStatus = map[schemas.RunState]string{
	schemas.RunCompleted: "completed", schemas.RunFailed: "error", schemas.RunCancelled: "cancelled",
}

// terminal makes the last event of the run and the stored message.
func (wr *Writer) terminal(end Outcome, fin *record.Finish) runlog.Body {
	if end.State == schemas.RunCompleted {
		wr.warnOfNothing()
	}
	if wr.prepared != nil {
		wr.payloads.Link(wr.actions, wr.prepared.Actions)
	}
	used := fin.Usage
	m := &schemas.Message{
		ID: wr.run.MessageID, ConversationID: wr.run.ChatID, Role: "assistant", Type: "md", Content: wr.visible.Whole(),
		CreatedAt: fin.EndedAt, RunID: wr.run.ID, Usage: &used,
		SuggestedValues: wr.values, SuggestedActions: wr.actions, CustomPayload: wr.customPayload(), Payloads: wr.payloads.All(), Warnings: wr.warnings,
	}
	fin.Message = m
	if fin.Restores {
		m.ID = turn.AnswerBlock(wr.run.ID)
	}
	switch end.State {
	case schemas.RunCompleted:
		m.Status, m.StopReason = schemas.MessageComplete, wr.stop
		if wr.stop == schemas.MaxTokens || wr.stop == schemas.ContentFilter {
			m.Status = schemas.MessageIncomplete
		}
		return &runlog.Completed{Payload: wr.complete(m)}
	case schemas.RunCancelled:
		m.Status = schemas.MessageCancelled
		if !wr.produced() && (!wr.run.Replaces || fin.Restores) { // an id that had an answer keeps one
			fin.Message = nil
		}
		return &runlog.Cancelled{MessageID: keptID(fin), Used: used}
	default:
		seen := schemas.Visible(end.Err)
		m.Status, m.Error = schemas.MessageError, &schemas.MessageFailure{Code: seen.Code, Message: seen.Message}
		fin.Error = m.Error
		return &runlog.Failed{Code: seen.Code, Message: seen.Message, Retryable: seen.Code.Retryable(), MessageID: keptID(fin), Used: used}
	}
}

// warnOfNothing adds a warning to an empty answer.
func (wr *Writer) warnOfNothing() {
	switch {
	case wr.produced(), len(wr.payloads.All()) > 0, wr.values != nil, wr.actions != nil, wr.run.Request.InteractionType == schemas.ActionExecuted:
	case wr.stop == schemas.MaxTokens:
		wr.warn("The model reached its limit of tokens before it had written any answer.")
	default:
		wr.warn("The model ended without an answer.")
	}
}

func keptID(fin *record.Finish) string {
	if fin.Message == nil {
		return ""
	}
	return fin.Message.ID
}

// complete is the payload of a completed run with the message.
func (wr *Writer) complete(m *schemas.Message) schemas.ChatResponsePayload {
	return schemas.ChatResponsePayload{
		Message: m.Content, SuggestedValues: m.SuggestedValues, SuggestedActions: m.SuggestedActions, CustomPayload: m.CustomPayload,
		Payloads: m.Payloads, ToolHistory: wr.history(), ConversationID: m.ConversationID, ChatID: wr.run.ChatKey,
		MessageID: m.ID, RunID: m.RunID, StopReason: m.StopReason, Usage: *m.Usage, Warnings: m.Warnings,
	}
}

// customPayload returns the last payload of a tool, else the last one of the
// model's text, else, if tools ran, their history.
func (wr *Writer) customPayload() *schemas.CustomPayload {
	if p := wr.payloads.Newest(); p != nil {
		return p
	}
	if history := wr.history(); len(history) > 0 {
		return &schemas.CustomPayload{Type: schemas.TypeToolHistory, Data: schemas.Encode(history)}
	}
	return nil
}

// produced reports whether the answer has anything to keep.
func (wr *Writer) produced() bool { return wr.visible.Worded() || len(wr.calls) > 0 }

// history is the tool history in the order in which the model asked.
func (wr *Writer) history() []schemas.ToolCall {
	var list []schemas.ToolCall
	for _, c := range wr.calls {
		if c == nil {
			continue
		}
		list = append(list, schemas.ToolCall{
			ToolName: c.Name, Input: schemas.CutStrings(c.Input), Output: c.Output, IsError: c.IsError,
			ToolUseID: c.ToolUseID, DurationMS: c.Duration.Milliseconds(), Title: wr.tool(c.Name).Title, Done: wr.tool(c.Name).Done,
		})
	}
	return list
}
