package readers

import (
	"context"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/services/eventlog"
)

// Future reports whether a cursor is so far past the newest event of a user's unfinished
// run that no reader can have seen that event (runlog.Future). What another process has
// shown is known here only once it is stored. So this waits for it, at most as long as a
// lease is valid: by then it is stored, or that process has lost the run.
func (r *Readers) Future(ctx context.Context, user schemas.User, id string, after int64) (bool, error) {
	wait, cancel := context.WithTimeout(ctx, r.Lease)
	defer cancel()
	for {
		log, newest, _, err := r.find(ctx, user, id)
		if err != nil || log == nil || !runlog.Future(after, newest) {
			return false, err
		}
		own := r.Own(id)
		switch {
		case own == nil || own.Log != log:
			if !changes(wait, log, newest) {
				return true, ctx.Err()
			}
		case r.Tail == nil:
			return true, nil
		default: // another process may have taken it since
			stored, err := r.Runs.Run(ctx, id)
			return err == nil && runlog.Future(after, before(stored)), err
		}
	}
}

// changes waits until a log has more than it had, or may have been replaced, and reports
// false if ctx ends first.
func changes(ctx context.Context, log *eventlog.Log, had int64) bool {
	bell, leave := log.Subscribe()
	defer leave()
	if log.Last() > had {
		return true
	}
	again := time.NewTimer(lookAgain)
	defer again.Stop()
	select {
	case <-bell:
	case <-again.C:
	case <-ctx.Done():
		return false
	}
	return true
}

// lookAgain is after which time a log that does not change may have been replaced.
const lookAgain = 250 * time.Millisecond
