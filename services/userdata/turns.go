package userdata

import (
	"context"
	"sync"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/concurrent"
)

// turnWait is how long an export waits for another one of the user, and a deletion for
// another deletion. It is longer than a client that does not read may hold an export.
const turnWait = 15 * time.Second

// The errors of those that have waited, and of an export that a deletion has ended.
var (
	errExporting = &schemas.Error{Code: schemas.CodeBusy, Message: "another export of your data is under way; try again later", RetryAfter: 15}
	errDeleting  = &schemas.Error{Code: schemas.CodeBusy, Message: "your data is being deleted; try again later", RetryAfter: 15}
	errDeleted   = schemas.NewError(schemas.CodeConflict, "the data is being deleted")
)

// turn waits for the lock of that name, at most for turnWait; the error is then late.
func turn(ctx context.Context, locks *concurrent.Locks, name string, late error) (unlock func(), err error) {
	waiting, cancel := context.WithTimeoutCause(ctx, turnWait, late)
	defer cancel()
	return locks.Lock(waiting, name)
}

// exports are the running exports of users, one for each at most. The zero value is ready.
type exports struct {
	mu    sync.Mutex
	stops map[string]context.CancelCauseFunc
}

// begin returns a context for an export, which ends with a deletion of the user's data. It
// waits for one that is under way.
func (u *UserData) begin(ctx context.Context, user string) (_ context.Context, end func(), err error) {
	unlock, err := turn(ctx, &u.deletions, user, errDeleting)
	if err != nil {
		return nil, nil, err
	}
	defer unlock()
	ctx, stop := context.WithCancelCause(ctx)
	u.running.set(user, stop)
	return ctx, func() {
		u.running.set(user, nil)
		stop(errStopped)
	}, nil
}

func (x *exports) set(user string, stop context.CancelCauseFunc) {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case stop == nil:
		delete(x.stops, user)
	case x.stops == nil:
		x.stops = map[string]context.CancelCauseFunc{user: stop}
	default:
		x.stops[user] = stop
	}
}

// stop ends the export of the user: what it has not read yet is being deleted. It does not
// wait for the end, because the export may be waiting for its reader.
func (x *exports) stop(user string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if stop := x.stops[user]; stop != nil {
		stop(errDeleted)
	}
}
