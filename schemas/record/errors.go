package record

import (
	"context"
	"errors"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/concurrent"
)

// ErrFenced is for a write by an attempt that is no longer the run's current
// one, or to a run that has ended.
var ErrFenced = errors.New("record: the run has a newer attempt or has ended")

// ErrUnavailable is wrapped by every error that means that the database cannot
// be reached now.
var ErrUnavailable = errors.New("record: the database is not available")

// ErrDuplicate is for a Begin with an Idempotency-Key that the owner has used
// before.
var ErrDuplicate = errors.New("record: the owner has used this idempotency key before")

// ErrNotCurrent is for a Begin that replaces a message which is replaced already.
var ErrNotCurrent = errors.New("record: the message is replaced already")

// ErrReplaced is for a queued run whose question has been replaced while it waited.
var ErrReplaced = errors.New("record: the question of the queued run is replaced")

// ErrBusy is for a Begin in a chat that has an unfinished run.
var ErrBusy = errors.New("record: the chat has an unfinished run")

// ErrSame is for a Begin whose request, with the same id for its answer, has begun BusyRun.
var ErrSame = errors.New("record: the same request has begun a run that has not ended")

// ErrQueueFull is for a Begin in a chat in which too many runs are queued.
var ErrQueueFull = errors.New("record: too many runs of the chat are queued")

// ErrBeingWritten refuses a decision about a block that a run is writing.
var ErrBeingWritten = schemas.NewError(schemas.CodeBeingWritten, "this is being written; decide about it when it is complete, or reject it now")

// ErrDecided is the error of a decision about a document or a block that was made before, about
// a revision of its match: the client has lost the answer. Nothing changes.
var ErrDecided = schemas.NewError(schemas.CodePrecondition, "this was decided before")

// ErrWithdrawn refuses a run's change of a document of which the user has reverted the
// run's plan, or which the user has deleted, since the run was asked.
var ErrWithdrawn = schemas.NewError(schemas.CodeConflict,
	"the user has reverted the plan of this document, or deleted it, while this answer was being written; nothing more of the answer goes into it, and it is not to be written again unless the user asks for it")

// ErrManyRuns refuses a run of a user who has too many that have not ended.
func ErrManyRuns() *schemas.Error {
	return &schemas.Error{Code: schemas.CodeTooManyRuns, Message: "too many answers are under way; wait for one to end", RetryAfter: 5}
}

// ErrManyRequests refuses a request of a user who has made too many in a minute; again is
// when the next one is possible.
func ErrManyRequests(again time.Duration) *schemas.Error {
	e := schemas.NewError(schemas.CodeTooManyRequests, "too many requests in a minute; wait a little")
	e.RetryAfter = max(int((again+time.Second-1)/time.Second), 1)
	return e
}

// againAfter is the pause of Persist.
const againAfter = 100 * time.Millisecond

// Persist calls do again, with pauses, as long as the database is not available and ctx has not
// ended. What do changes must change nothing a second time.
func Persist[T any](ctx context.Context, do func() (T, error)) (T, error) {
	for {
		done, err := do()
		if !errors.Is(err, ErrUnavailable) || concurrent.Pause(ctx, againAfter) != nil {
			return done, err
		}
	}
}
