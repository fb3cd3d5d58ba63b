package documents

import (
	"context"
	"strings"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

// The two decisions. Deletions come first, then the other changes. Each state
// of a block that is not hidden is in one of the statements. A hidden block is
// deleted when it is accepted, and restored by unhide when it is reverted:
//
//	state           accept                 revert
//	clean           as it is               as it is
//	pending_new     clean with new         gone
//	pending_edit    clean with new         clean with current
//	pending_delete  gone                   clean with current
//	pending_move    clean at new_position  clean at position
//
// An acceptance leaves blocks that are only planned as they are.
var (
	settleGone = map[record.Settle]string{record.Accept: "state = 'pending_delete'", record.Revert: "kept_plan = 0 AND state = 'pending_new'"}
	settleKept = map[record.Settle]string{
		record.Accept: `current = COALESCE(new, current), meta = COALESCE(new_meta, meta), position = COALESCE(new_position, position),
			kept_state = NULLIF(kept_state, ` + changedSince + `), size = octet_length(COALESCE(new, current)) + COALESCE(octet_length(COALESCE(new_meta, meta)), 0)`,
		record.Revert: `kept_state = CASE WHEN kept_state = ` + changedSince + ` THEN 'clean' ELSE kept_state END, size = octet_length(current) + COALESCE(octet_length(meta), 0)`,
	}
	settled = map[record.Settle]string{record.Accept: " AND NOT (" + unwritten + ")"}
)

// settle decides about the pending blocks in scope that are not hidden; an
// acceptance includes hidden ones. Gone reports whether some were deleted,
// changed whether there was anything to decide about.
func (d *change) settle(decision record.Settle, scope string, args ...any) (gone, changed bool, err error) {
	if gone, err = d.remove(scope+" AND "+settleGone[decision], args...); err != nil {
		return false, false, err
	}
	if gone {
		if err := d.touch(); err != nil {
			return true, true, err
		}
	}
	scope = " WHERE owner = ? AND document_id = ?" + scope + " AND "
	args = append([]any{d.owner, d.row.ID}, args...)
	kept := d.tx.Exec("UPDATE blocks SET "+d.decided(decision)+settleKept[decision]+", new = NULL, new_meta = NULL, new_position = NULL, state = 'clean', revision = ?, changed_at = ?"+
		scope+"kept_plan = 0 AND state <> 'clean'"+settled[decision], append([]any{d.upcoming(), d.now}, args...)...)
	if kept.RowsAffected > 0 {
		d.next()
	}
	return gone, gone || kept.RowsAffected > 0, kept.Error
}

// decided stores in blocks which of their revisions the user decides about; a run decides nothing.
func (d *change) decided(decision record.Settle) string {
	switch {
	case record.FenceOf(d.tx.Statement.Context) != record.Fence{}:
		return ""
	case decision == record.Revert:
		return "decided = -revision, "
	default:
		return "decided = revision, "
	}
}

// about is how a decision about a revision is stored: that of a revert is negative.
func about(decision record.Settle, revision int64) int64 {
	if decision == record.Revert {
		return -revision
	}
	return revision
}

// undecided refuses a decision about another revision than the present one: it is
// record.ErrDecided if the last decision was the same one about that revision.
func undecided(decision record.Settle, match record.Match, revision, last int64) error {
	if match.Holds(revision) {
		return nil
	}
	if last = about(decision, last); last > 0 && match.Holds(last) {
		return record.ErrDecided
	}
	return schemas.ErrStale
}

// SettleBlock decides about the pending changes of a block. A revert restores a
// hidden block with its pending changes. A block without pending changes, one that is only
// planned and accepted, or a chat's message, is returned unchanged. The same decision about
// the same revision again is record.ErrDecided.
func (t *Tables) SettleBlock(ctx context.Context, owner, id string, decision record.Settle, match record.Match) (record.Settled, error) {
	var out record.Settled
	err := t.changeBlock(ctx, owner, id, nil, func(d *change, h *head) (err error) {
		if err := undecided(decision, match, h.Revision, h.Decided); err != nil {
			return err
		}
		if decision == record.Accept {
			if err := t.unwritten(ctx, d.tx, owner, "", id); err != nil {
				return err
			}
		}
		if out.Block, err = oneBlock(d.tx, owner, id); err != nil {
			return err
		}
		out.Reverted = decision == record.Revert && (out.Block.New != nil || out.Block.State == schemas.BlockPendingDelete)
		shown := false
		if decision == record.Accept && out.Block.State != schemas.BlockClean && !h.unwritten() {
			err = d.keepOften(schemas.VersionAccepted, h)
		} else if decision == record.Revert {
			shown, err = d.unhide(restoredAlone, " AND id = ?", id)
		}
		if err == nil && out.Reverted {
			err = t.withdrawBlock(ctx, d, id)
		}
		if !shown && err == nil {
			out.Gone, _, err = d.settle(decision, " AND id = ?", id)
		}
		if err != nil || out.Gone {
			return err
		}
		out.Block, err = oneBlock(d.tx, owner, id)
		return err
	})
	if isMissing(err) {
		if out.Block, err = t.Block(ctx, owner, id); err == nil && !match.Holds(out.Block.Revision) {
			err = schemas.ErrStale
		}
	}
	return out, t.db.Fault("settle block", err)
}

// SettleDocument decides about all pending changes of a document, in one
// transaction, and returns the document with its blocks. Blocks that are only planned
// stay pending when all is accepted. A plan is one change:
// a revert restores the state before the last plan, and what was pending then
// remains pending. The same decision about the same revision again is record.ErrDecided.
func (t *Tables) SettleDocument(ctx context.Context, owner, id string, decision record.Settle, match record.Match) (schemas.Document, error) {
	var settled schemas.Document
	err := t.changeDocument(ctx, owner, id, nil, func(d *change) error {
		decided := about(decision, d.revision)
		err := undecided(decision, match, d.revision, d.row.Decided)
		if err != nil {
			return err
		}
		if decision == record.Accept {
			if err = t.unwritten(ctx, d.tx, owner, id, ""); err == nil {
				err = d.acceptAll()
			}
		} else if err = t.withdrawBlocks(ctx, d); err == nil {
			err = d.revertAll()
		}
		if err == nil && d.changed {
			err = d.exec("UPDATE documents SET decided = ? WHERE owner = ? AND id = ?", decided, owner, id)
		}
		if err == nil {
			settled, err = wholeDocument(d.tx, owner, id)
		}
		return err
	})
	return settled, t.db.Fault("settle document", err)
}

func (d *change) acceptAll() error {
	waiting, err := d.waiting()
	if err == nil && waiting {
		err = d.keep(schemas.VersionAccepted)
	}
	if err != nil {
		return err
	}
	if _, _, err := d.settle(record.Accept, ""); err != nil {
		return err
	}
	if d.row.NewTitle == nil && d.row.Plans == nil {
		return nil
	}
	if d.row.NewTitle != nil {
		d.row.Title = *d.row.NewTitle
	}
	return d.exec("UPDATE documents SET title = ?, new_title = NULL, plans = NULL, revision = ?, changed_at = ? WHERE owner = ? AND id = ?",
		d.row.Title, d.next(), d.now, d.owner, d.row.ID)
}

// revertAll drops the changes since the last plan and undoes that plan, and with it the plans
// that its run has made before without another one in between. A plan
// of which nothing is left is skipped. Changes that are older than the plan stay
// pending, also those of a block that was restored by itself.
func (d *change) revertAll() error {
	plans, err := d.plans()
	if err != nil {
		return err
	}
	if err := d.withdrawPlan(); err != nil {
		return err
	}
	waiting, undone := "", false
	if d.row.NewTitle != nil {
		waiting = *d.row.NewTitle
	}
	for again := false; len(plans) > 0 && (again || !undone); plans = plans[:len(plans)-1] {
		if _, err := d.unhide(restoredAlone, " AND kept_plan = ? AND "+sinceThePlan, len(plans)); err != nil {
			return err
		}
		_, changed, err := d.settle(record.Revert, " AND "+sinceThePlan)
		if err != nil {
			return err
		}
		var before string
		before, again = strings.CutSuffix(plans[len(plans)-1], repeatMark)
		shown, err := d.unhideAll(len(plans), again)
		if err != nil {
			return err
		}
		undone = undone || changed || shown || before != waiting
		waiting = before
	}
	if !undone {
		waiting = ""
		if _, _, err := d.settle(record.Revert, ""); err != nil {
			return err
		}
	}
	if d.row.Plans == nil && d.row.NewTitle == nil {
		return nil
	}
	return d.setPlans(waiting, plans, "")
}
