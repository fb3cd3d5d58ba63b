package runs

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/concurrent"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/services/documents"
	"github.com/chattray/chattray/services/questions"
)

// claim claims what a run writes. It returns the run that this one has to wait
// for: one that holds some of it, or an earlier one that waits for the same. ""
// means that the claim is granted.
func (r *Runs) claim(ctx context.Context, w documents.Claim) (holder string, err error) {
	if r.Drafts == nil || w.Run == "" {
		return "", nil
	}
	if holder, err := r.Drafts.Claim(ctx, w); holder != "" || err != nil {
		return holder, err
	}
	if first := r.waitsFirst(w); first != "" {
		r.unclaim(w.Owner, w.Run, 0)
		return first, nil
	}
	return "", nil
}

// waitsFirst returns the earliest run that waits for blocks of the claim.
func (r *Runs) waitsFirst(w documents.Claim) string {
	if len(w.Blocks) == 0 {
		return ""
	}
	earlier := r.those(func(run *run) bool {
		return run.blocked && run.Owner.ID == w.Owner && run.ID < w.Run && context.Cause(run.ctx) == nil &&
			slices.ContainsFunc(run.claim.Blocks, func(block string) bool { return slices.Contains(w.Blocks, block) })
	})
	if len(earlier) == 0 {
		return ""
	}
	return earlier[0].ID
}

// claimFirst claims what a new run writes, before it is stored: a run that has
// to wait is stored as queued, if its request allows that. If the same request holds
// the claim, it returns that run.
func (r *Runs) claimFirst(ctx context.Context, q *questions.Question, o record.StartOptions) (again record.Run, err error) {
	const why = "another answer is writing here"
	for late := time.Now().Add(busyWait); ; {
		holder, err := r.claim(ctx, q.Claim)
		if err != nil {
			return again, err
		}
		if q.Wait = holder != ""; !q.Wait || q.Queue {
			return again, nil
		}
		if r.acts != nil {
			switch _, err := r.Store.Runs.Run(ctx, holder); {
			case errors.Is(err, schemas.ErrNotFound) && time.Now().After(late):
				return again, questions.Busy(holder, why, 2)
			case errors.Is(err, schemas.ErrNotFound): // its first write is under way in another process
				if err := concurrent.Pause(ctx, claimEvery); err != nil {
					return again, err
				}
				continue
			case err != nil:
				return again, err
			}
		}
		if again, err = r.questions.Repeated(ctx, q.Run.Owner, q.Request, o); !errors.Is(err, schemas.ErrNotFound) {
			return again, err
		}
		if err := r.busy(ctx, q, holder, why); err != nil {
			return record.Run{}, err
		}
	}
}

// setBlocked records whether a queued run waits for the claims of others.
func (r *Runs) setBlocked(run *run, blocked bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if run.blocked = blocked; blocked {
		run.waits = true
	}
}

// claimQueued claims what a queued run writes that is being started. If the run has to wait,
// it is no longer being started, and the end of another run starts it.
func (r *Runs) claimQueued(ctx context.Context, run *run) (claimed bool) {
	// A run that waits after another one does not claim: nobody has to be woken then.
	if r.waitsFirst(run.claim) == "" {
		if holder, err := r.claim(ctx, run.claim); holder == "" && err == nil {
			r.setBlocked(run, false)
			return true
		}
	}
	r.setBlocked(run, true)
	if r.acts != nil { // it is tried again every second
		return false
	}
	// What it waits for may have been released before this was recorded.
	if w := run.claim; r.Drafts.Holder(w) == "" && r.waitsFirst(w) == "" {
		r.startOnce(run, func() { claimed = r.claimQueued(ctx, run) })
	}
	return claimed
}

// unclaim releases what a run has held for a moment, whose attempt does not begin; attempt 0
// is a run's first. Queued runs of its owner may have met that; revive starts them.
func (r *Runs) unclaim(owner, run string, attempt int) {
	r.Drafts.Release(run, attempt)
	r.reviveBlocked(owner)
}

// reviveBlocked leaves the queued runs of an owner that wait for others to revive.
func (r *Runs) reviveBlocked(owner string) {
	for _, chat := range r.blockedChats(owner) {
		r.noteUnpolled(chat)
	}
}

// giveBack releases what a run holds, and starts the queued runs of its owner
// that have waited for it, the earliest first. If a later attempt of it is here, that holds it.
func (r *Runs) giveBack(run *run) {
	if now := r.find(run.ID); now == nil || now == run {
		r.Drafts.Release(run.ID, run.Attempt)
	}
	if r.Drafts == nil || r.Draining() {
		return
	}
	for _, chat := range r.blockedChats(run.Owner.ID) {
		r.next(chat)
	}
}

// blockedChats returns the chats of an owner's queued runs that wait for the
// claims of others, the chat of the earliest run first.
func (r *Runs) blockedChats(owner string) (chats []int64) {
	for _, run := range r.those(func(run *run) bool { return run.blocked && run.Owner.ID == owner }) {
		if !slices.Contains(chats, run.ChatID) {
			chats = append(chats, run.ChatID)
		}
	}
	return chats
}
