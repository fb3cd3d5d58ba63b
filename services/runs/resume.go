package runs

import (
	"cmp"
	"context"
	"errors"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/services/answer"
	"github.com/chattray/chattray/services/trials"
)

// earlier is what earlier attempts of a run have stored, and the consequences
// for the next attempt.
type earlier struct {
	trials.Case

	// broken is why the stored data cannot be read; nil if it can.
	broken error
}

// resume brings the writer to the state in which earlier attempts left it, and
// logs that. Some runs end here: cancelled ones, those with too many attempts,
// actions whose outcome is unknown, and runs that cannot be read. They keep all
// that their readers saw, and no model is called for them.
func (r *Runs) resume(run *run, wr *answer.Writer) (end answer.Outcome, over bool) {
	e, cause := run.earlier, context.Cause(run.ctx)
	run.text.Hold(e.Written())
	unready := e.broken
	if !e.Bare {
		outline, err := r.prepare.Outline(run.ctx, run.part())
		if err == nil {
			wr.Use(outline)
		}
		unready = cmp.Or(unready, err)
	}
	switch {
	case e.Fatal:
		end = answer.Outcome{State: schemas.RunFailed, Err: errContained}
	case errors.Is(wr.Unread(), record.ErrUnavailable): // a later attempt ends it
		end = answer.Outcome{Err: wr.Unread()}
	case e.Cancel:
		end = answer.Outcome{State: schemas.RunCancelled, Err: answer.ErrCancelled}
	case cause != nil:
		end = stopped(run.ctx, cause)
	case run.Attempt-e.Uncounted > MaxAttempts, run.Attempt > maxAttemptsEver:
		end = answer.Outcome{State: schemas.RunFailed, Err: schemas.NewError(schemas.CodeInterrupted, "the answer was interrupted several times and was given up")}
	case e.Action:
		end = answer.Outcome{State: schemas.RunFailed, Err: schemas.NewError(schemas.CodeEffectUnknown, "the service was interrupted while the action ran; it is not known whether it took effect")}
	case unready != nil:
		end = stopped(run.ctx, unready)
	default:
		wr.Restore()
		wr.AwaitTools()
		return end, false
	}
	if end.State != "" {
		wr.Keep()
	}
	return end, true
}
