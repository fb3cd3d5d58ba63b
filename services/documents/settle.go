package documents

import (
	"context"
	"errors"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

// SettleAll accepts all that is pending in a document, including its title, or
// reverts it to the state before the last plan, in one transaction. The
// returned document shows what is still pending. While a block is being
// written, accepting is an error of code being_written. Reverting withdraws what
// unfinished runs have written and is not in the document any more; a run whose plan is
// reverted writes nothing more into the document. A decision that is sent again with the
// revision that it was about, because its answer was lost, changes nothing.
func (d *Documents) SettleAll(ctx context.Context, user schemas.User, id string, decision record.Settle, match record.Match) (schemas.Document, error) {
	o, unlock, err := d.own(ctx, user.ID)
	if err != nil {
		return schemas.Document{}, err
	}
	defer unlock()
	written := d.writing.in(user.ID, id)
	if decision == record.Accept && len(written) > 0 {
		return schemas.Document{}, record.ErrBeingWritten
	}
	settled, err := withdrawing(written, func() (schemas.Document, error) { return d.records.SettleDocument(ctx, user.ID, id, decision, match) })
	if errors.Is(err, record.ErrDecided) {
		return d.Get(ctx, user, id)
	}
	if err == nil && decision == record.Revert {
		o.withdrawShown(ctx, id)
	}
	return settled, err
}

// Settle accepts or reverts what is pending in a block. If nothing is pending,
// or the block is in a chat, the block is returned unchanged. While the block
// is being written, accepting is an error of code being_written. Reverting withdraws what
// unfinished runs have written into it, or are writing. It may be sent again as SettleAll may.
func (d *Documents) Settle(ctx context.Context, user schemas.User, id string, decision record.Settle, match record.Match) (record.Settled, error) {
	o, unlock, err := d.own(ctx, user.ID)
	if err != nil {
		return record.Settled{}, err
	}
	defer unlock()
	written := d.writing.into(user.ID, id)
	if decision == record.Accept && len(written) > 0 {
		return record.Settled{}, record.ErrBeingWritten
	}
	settled, err := withdrawing(written, func() (record.Settled, error) { return d.blocks.SettleBlock(ctx, user.ID, id, decision, match) })
	switch {
	case errors.Is(err, record.ErrDecided):
		settled.Block, err = d.Block(ctx, user, id)
	case err != nil || !settled.Reverted:
	case settled.Gone:
		o.withdrawBlock(id, nil)
	default:
		o.withdrawBlock(id, &settled.Block)
	}
	return settled, err
}

// persist calls do with the owner's lock, and again while the database is away, as long as
// ctx says. What the user does meanwhile waits for one try at most.
func persist[T any](ctx context.Context, d *Documents, owner string, do func(owned) (T, error)) (T, error) {
	return record.Persist(ctx, func() (none T, err error) {
		o, unlock, err := d.own(ctx, owner)
		if err != nil {
			return none, err
		}
		defer unlock()
		return do(o)
	})
}

// Drop reverts what a run has written into a block, which is gone if it no longer exists. It
// waits for the database as long as ctx says. The caller tells the run's readers.
func (d *Documents) Drop(ctx context.Context, user schemas.User, id string) (record.Settled, error) {
	settled, err := persist(ctx, d, user.ID, func(o owned) (record.Settled, error) {
		return o.docs.blocks.SettleBlock(ctx, o.owner, id, record.Revert, nil)
	})
	if errors.Is(err, schemas.ErrNotFound) { // a try whose answer was lost may have removed it
		return record.Settled{Gone: true}, nil
	}
	return settled, err
}
