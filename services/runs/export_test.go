package runs

import (
	"context"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/services/attempts"
	"github.com/chattray/chattray/services/documents"
	"github.com/chattray/chattray/services/exchange"
	"github.com/chattray/chattray/services/trials"
)

// Work does f as work of a run.
func (r *Runs) Work(f func()) { r.work.Go(f) }

// Begin notes that the first write of a run is under way.
func (r *Runs) Begin(id string) { r.beginning.Add(id) }

// Enlist registers a queued run.
func (r *Runs) Enlist(ctx context.Context, id string) {
	r.enlistAt(ctx, id, 0)
}

// EnlistWriting registers a queued run of a chat that writes blocks of Ann's.
func (r *Runs) EnlistWriting(ctx context.Context, id string, chat int64, blocks ...string) {
	r.enlistWriting(ctx, id, 0, chat, blocks)
}

func (r *Runs) enlistWriting(ctx context.Context, id string, attempt int, chat int64, blocks []string) *run {
	run := r.enlistAt(ctx, id, attempt)
	run.Owner.ID, run.ChatID = "ann", chat
	run.claim = documents.Claim{Run: id, Owner: "ann", Document: "doc", Blocks: blocks}
	return run
}

// EnlistHeld registers a run that waits for its trial and has claimed blocks of Ann's. Try
// starts it.
func (r *Runs) EnlistHeld(ctx context.Context, id string, chat int64, blocks ...string) (try func()) {
	held := []*run{r.enlistWriting(ctx, id, 2, chat, blocks)}
	_, _ = r.Drafts.Claim(ctx, held[0].claim)
	held[0].earlier = &earlier{Case: trials.Case{Earlier: attempts.Nothing()}}
	r.hold(held[0])
	return func() { r.try(ctx, held, time.Second) }
}

func (r *Runs) enlistAt(ctx context.Context, id string, attempt int) *run {
	run := newRun(&record.Run{ID: id}, r.leases.Current(), func() {})
	run.take(&schemas.ChatRequest{}, documents.Claim{})
	run.Attempt = attempt
	r.enlist(ctx, run, 1)
	return run
}

// EnlistLater returns what registers a queued run that has begun now.
func (r *Runs) EnlistLater(ctx context.Context, id string) func() {
	run := newRun(&record.Run{ID: id}, r.leases.Current(), func() {})
	run.take(&schemas.ChatRequest{}, documents.Claim{})
	return func() { r.enlist(ctx, run, 1) }
}

// EnlistFollowed registers a run that is under way and has a reader. End ends it; it is
// still followed afterwards.
func (r *Runs) EnlistFollowed(ctx context.Context, id string) (end func()) {
	run := r.enlistAt(ctx, id, 1)
	run.log.Subscribe()
	return func() {
		run.log.Close()
		r.ended(run)
	}
}

// Unclaim releases what a run that does not begin has claimed.
func (r *Runs) Unclaim(owner, id string) { r.unclaim(owner, id, 0) }

// Next starts the oldest queued run of a chat, if none is running.
func (r *Runs) Next(chat int64) { r.next(chat) }

// Follows reports whether readers find the run here.
func (r *Runs) Follows(id string) bool { return r.own(id) != nil }

// Light is the request as a run keeps it.
var Light = light

// Tell says to other replicas that there is a run to look for.
func (r *Runs) Tell(id string) { r.exchange.Tell(exchange.Look, id) }
