// Package waits has the calls of a run that wait, for the user's approval or for the page:
// how long they wait, what wakes them, and what their answers mean.
package waits

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/concurrent"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/turn"
)

// clockWait prolongs a wait that has expired by the clock of this process and
// not by the database's.
const clockWait = time.Second

// lookAgain is how often a call looks for its answer while the database is away.
const lookAgain = time.Second / 2

// DefaultTimeout is how long a call waits for the user or for the page.
const DefaultTimeout = 15 * time.Minute

// What the model reads about calls that were not run.
const (
	deniedText = "The user denied this call; it was not run. Do not call it again with the same input; go on without it, or ask what the user wants."
	// unansweredText is for an approval, absentText for a tool that the page
	// runs.
	unansweredText = "The user did not approve this call in time; it was not run. Go on without it, or tell the user."
	absentText     = "The page did not send the result of this call in time. It is not known whether it took effect."
)

// Refused reports whether a call's output says that the user did not approve it.
func Refused(output string) bool { return output == deniedText || output == unansweredText }

// Store reads and ends the waits of calls.
type Store interface {
	// Waits returns the calls of the run that wait or have waited, in order.
	Waits(ctx context.Context, runID string) ([]record.Wait, error)
	// AnswerWait stores the answer to a waiting call and returns the wait with the
	// first answer it got.
	AnswerWait(ctx context.Context, answer record.Wait) (record.Wait, error)
}

// Options describes the run. All fields but SharedNow must be set.
type Options struct {
	Run     string
	Store   Store
	Wakeups *Wakeups
	Timeout time.Duration // how long a call waits
	Now     func() time.Time
	// SharedNow is the time of the clock by which the waits of all processes expire; nil
	// means Now.
	SharedNow func(context.Context) (time.Time, error)
}

// Waits are the waits of a run. Answer is safe for concurrent use; only the run's
// goroutine calls the others.
type Waits struct {
	Options

	earlier map[int]record.Wait // those of earlier attempts, by call; nil while not read
}

// New returns the waits of a run.
func New(o Options) *Waits { return &Waits{Options: o} }

// ApprovalID returns the id of a call's approval, the same in every attempt.
func (w *Waits) ApprovalID(index int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/approval/%d", w.Run, index))
	return hex.EncodeToString(sum[:12])
}

// Begin returns the wait of a call that begins to wait now; the caller stores it.
func (w *Waits) Begin(ctx context.Context, e turn.ToolWaiting, kind schemas.WaitKind) record.Wait {
	now := w.Now()
	if w.SharedNow != nil {
		if shared, err := w.SharedNow(ctx); err == nil { // else the wait cannot be stored either
			now = shared.UTC()
		}
	}
	now = now.Truncate(time.Millisecond)
	return record.Wait{
		RunID: w.Run, Index: e.Index, Kind: kind, ID: w.ApprovalID(e.Index), ToolUseID: e.ID, Tool: e.Name,
		Input: e.Input, Reason: e.Reason, CreatedAt: now, ExpiresAt: now.Add(w.Timeout),
	}
}

// Earlier returns how a call waited in an earlier attempt, if it did.
func (w *Waits) Earlier(ctx context.Context, index int) (wait record.Wait, waited bool, err error) {
	if w.earlier == nil {
		w.earlier, err = w.read(ctx)
	}
	wait, waited = w.earlier[index]
	return wait, waited, err
}

// Stored returns the wait of a call as it is stored.
func (w *Waits) Stored(ctx context.Context, index int) (record.Wait, error) {
	all, err := w.read(ctx)
	wait, waits := all[index]
	if err == nil && !waits {
		err = fmt.Errorf("call %d of run %s does not wait", index, w.Run)
	}
	return wait, err
}

func (w *Waits) read(ctx context.Context) (map[int]record.Wait, error) {
	list, err := w.Store.Waits(ctx, w.Run)
	if err != nil {
		return nil, err
	}
	all := make(map[int]record.Wait, len(list))
	for _, wait := range list {
		all[wait.Index] = wait
	}
	return all, nil
}

// Answer waits for the answer to a call, which may already be stored. When the call
// expires, that is its answer.
func (w *Waits) Answer(ctx context.Context, index int) (turn.Verdict, error) {
	wait, err := w.answered(ctx, index)
	if err != nil {
		return turn.Verdict{}, err
	}
	refused := func(text string) (turn.Verdict, error) {
		return turn.Verdict{Result: &turn.Result{Text: text, IsError: true}}, nil
	}
	switch wait.Answer {
	case schemas.WaitApproved:
		return turn.Verdict{Approved: true, Input: wait.Edited}, nil
	case schemas.WaitResult:
		return turn.Verdict{Result: &turn.Result{Text: wait.Output, IsError: wait.IsError}}, nil
	case schemas.WaitDenied:
		return refused(deniedText)
	case schemas.WaitExpired:
		if wait.Kind == schemas.WaitClientTool {
			return refused(absentText)
		}
		return refused(unansweredText)
	default:
		return turn.Verdict{}, fmt.Errorf("a call has the answer %q", wait.Answer)
	}
}

// answered returns the wait of a call once it has an answer. A call that is woken while the
// database is away looks again: who woke it may have met the same.
func (w *Waits) answered(ctx context.Context, index int) (record.Wait, error) {
	bell := w.Wakeups.of(index)
	defer w.Wakeups.wait()()
	wait, err := w.Stored(ctx, index)
	latest := time.Now().Add(wait.ExpiresAt.Sub(wait.CreatedAt))
	for err == nil && wait.Answer == "" {
		left := min(wait.ExpiresAt.Sub(w.Now()), time.Until(latest)) // the clock of this process may be behind, or set back
		if left <= 0 {
			if wait, err = w.expire(ctx, wait); !errors.Is(err, record.ErrEarly) {
				return wait, err
			}
			left = clockWait
		}
		timer := time.NewTimer(left)
		select {
		case <-bell:
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return wait, context.Cause(ctx)
		}
		timer.Stop()
		wait, err = w.Stored(ctx, index)
		for errors.Is(err, record.ErrUnavailable) && concurrent.Pause(ctx, lookAgain) == nil {
			wait, err = w.Stored(ctx, index)
		}
	}
	return wait, err
}

// expire ends a wait whose time is up. An answer that was stored before counts.
func (w *Waits) expire(ctx context.Context, wait record.Wait) (record.Wait, error) {
	wait.Answer, wait.AnsweredAt = schemas.WaitExpired, w.Now()
	return w.Store.AnswerWait(ctx, wait)
}
