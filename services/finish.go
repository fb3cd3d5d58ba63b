package services

import (
	"context"
	"slices"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/runlog"
)

// finish commits the answer, the trace and the whole log with its terminal
// event, and only then shows that event.
func (r *Runs) finish(one *run, rec *recorder, end outcome) error {
	if end.state != schemas.RunCancelled { // a cancel is not kept waiting
		defer one.text.alone()()
	}
	if end.state != schemas.RunCompleted {
		rec.breakOff()
	}
	rec.endBlocks(levelStatus[end.state])
	rec.levels.closeBlock(levelStatus[end.state])
	rec.usage = one.spent.Total()
	d := rec.diagnostics(end.state)
	fin := &record.Finish{
		State: end.state, StopReason: rec.stop, Usage: rec.usage, Spent: one.spent.Of(d.Model), EndedAt: r.now(), Trace: encodeTrace(&d),
	}
	event := runlog.Event{Body: rec.terminal(end, fin)}
	if end.err != nil && end.state == schemas.RunFailed {
		r.Logger.Warn("a run failed", "run_id", one.id, "user", one.owner.ID, "code", schemas.Visible(end.err).Code, "error", end.err)
	}
	w := &record.Write{Finish: fin}
	fin.Log, fin.LastSeq = one.log.Seal(&event), event.Seq
	booked := r.budgets.Ending(one.owner.ID, fin)
	err := rec.write(w).Wait(context.WithoutCancel(one.ctx))
	booked(err)
	if err != nil {
		return err
	}
	one.trace.Store(&d)
	one.log.Publish(event)
	if r.Answered != nil && one.newChat && end.state == schemas.RunCompleted && fin.Message != nil {
		r.Answered(record.FirstAnswer{
			Owner: one.owner.ID, ConversationID: one.conversationID, Title: title(firstMessage(one.req)), Model: d.Model,
			Question: firstMessage(one.req), Answer: fin.Message.Content,
		})
	}
	return nil
}

// levelStatus is the status of levels that a run's end closes.
var levelStatus = map[schemas.RunState]string{
	schemas.RunCompleted: "completed", schemas.RunFailed: "error", schemas.RunCancelled: "cancelled",
}

// terminal makes the last event of the run, and the message that is kept.
func (rec *recorder) terminal(end outcome, fin *record.Finish) runlog.Body {
	if end.state == schemas.RunCompleted {
		rec.warnOfNothing()
	}
	message := rec.message()
	m := &schemas.Message{
		ID: rec.run.messageID, ConversationID: rec.run.conversationID, Role: "assistant", Type: "md", Content: message,
		CreatedAt: fin.EndedAt, RunID: rec.run.id, Usage: &rec.usage,
		SuggestedValues: rec.values, SuggestedActions: rec.actions, CustomPayload: rec.customPayload(), Warnings: rec.warnings,
	}
	fin.Message = m
	switch end.state {
	case schemas.RunCompleted:
		m.Status, m.StopReason = schemas.MessageComplete, rec.stop
		if rec.stop == schemas.MaxTokens || rec.stop == schemas.ContentFilter {
			m.Status = schemas.MessageIncomplete
		}
		return &runlog.Completed{Payload: rec.complete(message)}
	case schemas.RunCancelled:
		m.Status = schemas.MessageCancelled
		if !rec.produced() {
			fin.Message = nil
		}
		return &runlog.Cancelled{MessageID: keptID(fin)}
	default:
		seen := schemas.Visible(end.err)
		m.Status, m.Error = schemas.MessageError, &schemas.MessageFailure{Code: seen.Code, Message: seen.Message}
		fin.Error = m.Error
		return &runlog.Failed{Code: seen.Code, Message: seen.Message, Retryable: seen.Code.Retryable(), MessageID: keptID(fin)}
	}
}

// warnOfNothing says in words that there is no answer, where the model gave none.
func (rec *recorder) warnOfNothing() {
	switch {
	case rec.produced(), len(rec.payloads) > 0, rec.values != nil, rec.actions != nil, rec.run.req.InteractionType == schemas.ActionExecuted:
	case rec.stop == schemas.MaxTokens:
		rec.warn("The model reached its limit of tokens before it had written any answer.")
	default:
		rec.warn("The model ended without an answer.")
	}
}

func keptID(fin *record.Finish) string {
	if fin.Message == nil {
		return ""
	}
	return fin.Message.ID
}

// complete is the payload of a run that has its answer.
func (rec *recorder) complete(message string) schemas.ChatResponsePayload {
	return schemas.ChatResponsePayload{
		Message: message, SuggestedValues: rec.values, SuggestedActions: rec.actions, CustomPayload: rec.customPayload(),
		Payloads: rec.payloads, ToolHistory: rec.history(), ConversationID: rec.run.conversationID, ChatID: rec.run.chatKey,
		MessageID: rec.run.messageID, RunID: rec.run.id, StopReason: rec.stop, Usage: rec.usage, Warnings: rec.warnings,
	}
}

// customPayload is the last payload of a tool, else the last of the model's
// text, else, when tools ran, their history.
func (rec *recorder) customPayload() *schemas.CustomPayload {
	for _, source := range []string{"tool", "llm"} {
		for _, v := range slices.Backward(rec.payloads) {
			if v.Source == source {
				p := v
				return &p
			}
		}
	}
	if history := rec.history(); len(history) > 0 {
		return &schemas.CustomPayload{Type: "tool_history", Data: encode(history)}
	}
	return nil
}
