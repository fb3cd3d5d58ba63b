package runs

import (
	"context"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/services/answer"
)

// finish commits the answer, the trace and the whole log with its terminal
// event, and only then shows that event.
func (r *Runs) finish(one *run, wr *answer.Writer, end answer.Outcome) error {
	if end.State != schemas.RunCancelled { // a cancel is not kept waiting
		defer one.text.Alone()()
	}
	fin, event, trace := wr.End(end)
	if end.Err != nil && end.State == schemas.RunFailed {
		r.Logger.Warn("a run failed", "run_id", one.id, "user", one.owner.ID, "code", schemas.Visible(end.Err).Code, "error", end.Err)
	}
	fin.Log, fin.LastSeq = one.log.Seal(&event), event.Seq
	booked := r.budgets.Ending(one.owner.ID, fin)
	err := wr.Write(&record.Write{Finish: fin}).Wait(context.WithoutCancel(one.ctx))
	booked(err)
	if err != nil {
		return err
	}
	one.trace.Store(trace)
	one.log.Publish(event)
	r.answered(one, end, fin, trace)
	return nil
}

// answered tells of the first answer of a new chat.
func (r *Runs) answered(one *run, end answer.Outcome, fin *record.Finish, trace *schemas.Diagnostics) {
	if r.Answered == nil || one.first == nil || end.State != schemas.RunCompleted || fin.Message == nil {
		return
	}
	first := *one.first
	first.Model, first.Answer = trace.Model, fin.Message.Content
	r.Answered(first)
}
