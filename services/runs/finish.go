package runs

import (
	"context"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/services/answer"
)

// finish commits the answer, the trace and the whole log with its terminal event.
// Only then does it show that event.
func (r *Runs) finish(run *run, wr *answer.Writer, end answer.Outcome) error {
	if end.State != schemas.RunCancelled { // a cancelled run ends without waiting
		defer run.text.Alone()()
	}
	fin, event, trace := wr.End(end)
	if err := wr.Unstored(); err != nil {
		return err
	}
	if end.Err != nil && end.State == schemas.RunFailed {
		r.Logger.Warn("a run failed", "run_id", run.ID, "user", run.Owner.ID, "code", schemas.Visible(end.Err).Code, "error", end.Err)
	}
	fin.Log, fin.LastSeq = run.log.Seal(&event), event.Seq
	booked := r.budgets.Ending(run.Owner.ID, fin)
	err := wr.Write(&record.Write{Finish: fin}).Wait(context.WithoutCancel(run.ctx))
	booked(err)
	if err != nil {
		return err
	}
	run.trace.Store(trace)
	r.free(run) // who sees the end may ask again at once
	r.Drafts.Ended(run.ID)
	run.log.Publish(event)
	r.answered(run, fin)
	return nil
}

// answered reports what may be the first answer of a chat, once it is stored.
func (r *Runs) answered(run *run, fin *record.Finish) {
	if r.Answered == nil || run.first == nil || fin.State != schemas.RunCompleted || fin.Message == nil {
		return
	}
	first := *run.first
	first.Model, first.Answer = fin.Model, fin.Message.Content
	r.Answered(first)
}
