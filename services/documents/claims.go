package documents

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/text"
	"github.com/chattray/chattray/schemas/turn"
)

// ClaimWait is how long Await waits for another run to release a claim.
const ClaimWait = 30 * time.Second

// Claim is what a run writes.
type Claim = record.Claim

// ClaimOf returns what the run of a request claims when it begins: the blocks
// that its answer goes to, or that its message is about. A run of a document
// without such blocks claims none, and waits only for a run that plans the
// document.
func ClaimOf(owner, run string, req *schemas.ChatRequest) Claim {
	if req.InteractionType == schemas.ActionExecuted {
		return Claim{}
	}
	document, blocks := turn.Answer(req.Context)
	switch {
	case document == "":
		if document = req.Context.String(turn.ContextDocument); !text.IsID(document) {
			return Claim{}
		}
	case len(blocks) == 0:
		blocks = []string{turn.AnswerBlock(run)}
	}
	return Claim{Run: run, Owner: owner, Document: document, Blocks: blocks}
}

// claimable returns the claim without ids that no block can have. Nothing is written there,
// and the database may not be able to store them.
func claimable(w Claim) Claim {
	w.Blocks = slices.DeleteFunc(slices.Clone(w.Blocks), func(id string) bool { return !text.IsID(id) })
	return w
}

// place is a document or a block of an owner.
type place struct{ owner, id string }

// claims are what runs write. A run holds its claims until it releases them: no
// other run writes a block that it holds or plans a document in which it holds
// one, and no other run writes in a document that it plans. A run waits for one claim
// at a time, so only a new wait can close a circle of waits. It is safe for concurrent
// use.
type claims struct {
	mu      sync.Mutex
	blocks  map[place]claimed
	plans   map[place]string // the run that plans the document
	waiters []*waiter        // each waits for a holder; in the order of arrival
}

type claimed struct{ run, document string }

// waiter is a claim that is granted as soon as no other run holds any of it.
type waiter struct {
	claim Claim
	given chan struct{} // closed when the claim is granted
}

func newClaims() *claims {
	return &claims{blocks: make(map[place]claimed), plans: make(map[place]string)}
}

// take grants the run all that it claims, or nothing if another run holds some
// of it; it returns that run.
func (c *claims) take(w Claim) (holder string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if holder := c.holder(&w); holder != "" {
		return holder
	}
	c.give(&w)
	return ""
}

// await is like take, but queues a claim that cannot be granted; waits is then
// not nil. A claim whose holder waits for this run is neither granted nor queued:
// await returns the holder.
func (c *claims) await(w Claim) (waits *waiter, holder string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	holders := c.holders(&w)
	if len(holders) == 0 {
		c.give(&w)
		return nil, ""
	}
	if holder := c.deadlock(w.Run, holders); holder != "" {
		return nil, holder
	}
	waits = &waiter{w, make(chan struct{})}
	c.waiters = append(c.waiters, waits)
	return waits, ""
}

// deadlock returns one of the holders that waits for the run, through others or
// directly; "" for none.
func (c *claims) deadlock(run string, holders []string) string {
	seen := make(map[string]bool)
	var waitsFor func(holder string) bool
	waitsFor = func(holder string) bool {
		if holder == run || seen[holder] {
			return holder == run
		}
		seen[holder] = true
		return slices.ContainsFunc(c.waiters, func(w *waiter) bool {
			return w.claim.Run == holder && slices.ContainsFunc(c.holders(&w.claim), waitsFor)
		})
	}
	if at := slices.IndexFunc(holders, waitsFor); at >= 0 {
		return holders[at]
	}
	return ""
}

// give grants the run all that it claims.
func (c *claims) give(w *Claim) {
	for _, id := range w.Blocks {
		c.blocks[place{w.Owner, id}] = claimed{w.Run, w.Document}
	}
	if w.Plan {
		c.plans[place{w.Owner, w.Document}] = w.Run
	}
}

// leave ends a wait. It returns the run that still holds the claim, "" if the
// claim has been granted.
func (c *claims) leave(waits *waiter) (holder string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := slices.Index(c.waiters, waits)
	if at < 0 {
		return ""
	}
	c.waiters = slices.Delete(c.waiters, at, at+1)
	return c.holder(&waits.claim)
}

// holder returns another run that holds some of what is claimed, "" for none.
func (c *claims) holder(w *Claim) string {
	if list := c.holders(w); len(list) > 0 {
		return list[0]
	}
	return ""
}

// holders returns the other runs that hold some of what is claimed. A run may be there
// several times.
func (c *claims) holders(w *Claim) (list []string) {
	add := func(run string) {
		if run != "" && run != w.Run {
			list = append(list, run)
		}
	}
	add(c.plans[place{w.Owner, w.Document}])
	for _, id := range w.Blocks {
		add(c.blocks[place{w.Owner, id}].run)
	}
	if w.Plan {
		for at, has := range c.blocks {
			if at.owner == w.Owner && has.document == w.Document {
				add(has.run)
			}
		}
	}
	return list
}

// document returns the document for which a run holds the block, "" for none.
func (c *claims) document(owner, block string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.blocks[place{owner, block}].document
}

// release releases what the run holds. Waiting claims are granted before any
// new one.
func (c *claims) release(run string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.blocks, func(_ place, has claimed) bool { return has.run == run })
	maps.DeleteFunc(c.plans, func(_ place, has string) bool { return has == run })
	var left []*waiter
	for _, w := range c.waiters {
		if c.holder(&w.claim) != "" {
			left = append(left, w)
			continue
		}
		c.give(&w.claim)
		close(w.given)
	}
	c.waiters = left
}

// Claim grants the run what it is about to write, until Release, and returns
// "". If another run holds some of it, nothing is granted and the holder is
// that run. A run may claim again what it already holds. Only where other processes run
// too there may be an error.
func (d *Documents) Claim(ctx context.Context, w Claim) (holder string, err error) {
	w = claimable(w)
	if d.shared != nil {
		return d.shared.take(ctx, w)
	}
	return d.claims.take(w), nil
}

// claimedIn returns the document in which a run writes the block, "" for none.
func (d *Documents) claimedIn(ctx context.Context, owner, block string) (string, error) {
	if d.shared != nil {
		return d.shared.claims.ClaimedIn(ctx, owner, block)
	}
	return d.claims.document(owner, block), nil
}

// Holder returns another run of this process that holds some of what is claimed, "" for
// none.
func (d *Documents) Holder(w Claim) string {
	d.claims.mu.Lock()
	defer d.claims.mu.Unlock()
	return d.claims.holder(&w)
}

// Await is like Claim, but waits for other runs, at most for limit; a limit of
// 0 waits as long as ctx lasts. A released claim goes to those that wait for
// it, in their order, before a later Claim. Await returns the run that still
// holds the claim when the wait ends, "" if the claim was granted. It ends at once if a
// run that holds it waits for this one, because neither would end.
func (d *Documents) Await(ctx context.Context, w Claim, limit time.Duration) (holder string) {
	w = claimable(w)
	if d.shared != nil {
		return d.shared.await(ctx, w, limit)
	}
	waits, holder := d.claims.await(w)
	if waits == nil {
		return holder
	}
	var late <-chan time.Time
	if limit > 0 {
		timer := time.NewTimer(limit)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-waits.given:
	case <-late:
	case <-ctx.Done():
	}
	return d.claims.leave(waits)
}

// Ended releases the claims of a run whose end is stored, among the runs of this process.
// Those of all processes have ended with it. A nil Documents has none.
func (d *Documents) Ended(run string) {
	if d != nil {
		d.claims.release(run)
	}
}

// Release releases all claims of a run, at the end of an attempt; 0 is a run that has not
// begun. Its drafts end and store nothing more. A nil Documents has none.
func (d *Documents) Release(run string, attempt int) {
	if d == nil {
		return
	}
	d.writing.drop(run)
	d.watched.drop(run)
	if d.shared != nil {
		d.shared.release(run, attempt)
		return
	}
	d.claims.release(run)
}
