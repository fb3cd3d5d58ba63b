package runs

import (
	"context"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/services/answer"
)

// prior is what earlier attempts of a run left behind.
type prior struct {
	*answer.Prior

	action bool
	cancel bool
	spent  []record.ModelUsage
	// waited is how many of the attempts before this one only waited at their end.
	waited int
	// broken says why it cannot be read.
	broken error
	// mark is what the attempt before wrote at its start; bare says that what the
	// run has done is not gone through again, and fatal that it ends here, because
	// the process ended with it.
	mark        *mark
	bare, fatal bool
	fresh       bool // see mark.Fresh
}

// broken is what an attempt left behind that cannot be read.
func broken(err error) *prior { return &prior{Prior: answer.NewPrior(nil, nil, nil), broken: err} }

// resume brings the writer to where earlier attempts left it and says so in
// the log. It ends runs that are not to go on: cancelled ones, those with too
// many attempts, actions whose outcome is unknown, and what cannot be read;
// these keep all that their reader saw, and no model is called for them.
func (r *Runs) resume(one *run, wr *answer.Writer) (end answer.Outcome, over bool) {
	p, cause := one.prior, context.Cause(one.ctx)
	one.text.Hold(p.Written())
	var unready error
	if !p.bare {
		var outline *answer.Prepared
		if outline, _, unready = r.outline(one); unready == nil {
			wr.Use(outline)
		}
	}
	if p.broken != nil {
		unready = p.broken
	}
	switch {
	case p.fatal:
		end = answer.Outcome{State: schemas.RunFailed, Err: errContained}
	case p.cancel:
		end = answer.Outcome{State: schemas.RunCancelled, Err: answer.ErrCancelled}
	case cause != nil:
		end = r.stopped(one, cause)
	case one.attempt-p.waited > MaxAttempts, one.attempt > maxAttemptsEver:
		end = answer.Outcome{State: schemas.RunFailed, Err: schemas.NewError(schemas.CodeInterrupted, "the answer was interrupted several times and was given up")}
	case p.action:
		end = answer.Outcome{State: schemas.RunFailed, Err: schemas.NewError(schemas.CodeInterrupted, "the service was interrupted while the action ran; it is not known whether it took effect")}
	case unready != nil:
		end = r.stopped(one, unready)
	default:
		wr.Restore()
		return end, false
	}
	if end.State != "" {
		wr.Keep()
	}
	return end, true
}
