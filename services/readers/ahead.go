package readers

import (
	"context"

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
		if run := r.Own(id); run != nil && run.Log == log && r.Tail == nil {
			return true, nil
		} else if run != nil && run.Log == log { // another process may have taken it since
			stored, err := r.Runs.Run(ctx, id)
			return err == nil && runlog.Future(after, before(stored)), err
		}
		if !changes(wait, log, newest) {
			return true, ctx.Err()
		}
	}
}

// changes waits until a log has more than it had, or is closed, and reports false if ctx
// ends first.
func changes(ctx context.Context, log *eventlog.Log, had int64) bool {
	bell, leave := log.Subscribe()
	defer leave()
	if log.Last() > had || log.Closed() {
		return true
	}
	select {
	case <-bell:
		return true
	case <-ctx.Done():
		return false
	}
}
