package userdata

import (
	"context"
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

// begin waits for a deletion that is under way in this process, and returns the number of
// deletions before the export.
func (u *UserData) begin(ctx context.Context, user string) (deletions int64, err error) {
	unlock, err := turn(ctx, &u.deletions, user, errDeleting)
	if err != nil {
		return 0, err
	}
	defer unlock()
	return u.totals.Deletions(ctx, user)
}

// whole returns an error if a deletion has begun or ended since begin, in any process: the
// export lacks what it had not yet read.
func (u *UserData) whole(ctx context.Context, user string, deletions int64) error {
	now, err := u.totals.Deletions(ctx, user)
	if err == nil && now != deletions {
		err = errDeleted
	}
	return err
}
