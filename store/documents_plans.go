package store

import (
	"context"
	"encoding/json"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/text"
)

// errHidden is for a change of a block whose pending content a plan hides: it would
// be lost.
var errHidden = schemas.NewError(schemas.CodeConflict, "a plan has replaced this block, which has changes that the user has not decided about; write into the planned blocks")

// uncover makes a hidden block changeable again, unless that would lose its
// pending changes.
func (h *head) uncover() error {
	switch {
	case h.KeptPlan == 0:
		return nil
	case h.CurrentSize == nil, h.NewSize != nil, h.NewMeta != nil, h.NewPosition != nil:
		return errHidden
	}
	h.KeptPlan = 0
	return nil
}

// plans returns the pending titles before each plan that can be reverted.
func (d *change) plans() (titles []string, err error) {
	if d.row.Plans != nil {
		err = json.Unmarshal([]byte(*d.row.Plans), &titles)
	}
	return titles, err
}

// setPlans stores the pending title, those before each plan, and the run of the last
// plan, "" for none.
func (d *change) setPlans(title string, plans []string, by string) error {
	var waiting, stored, planner any
	if title != "" {
		waiting = title
	}
	if len(plans) > 0 {
		raw, err := text.Encode(plans)
		if err != nil {
			return err
		}
		stored = string(raw)
	}
	if by != "" {
		planner = by
	}
	return d.exec("UPDATE documents SET new_title = ?, plans = ?, planned_by = ?, revision = ?, changed_at = ? WHERE owner = ? AND id = ?",
		waiting, stored, planner, d.next(), d.now, d.owner, d.row.ID)
}

// PlanDocument proposes a new structure. The blocks of the document are hidden
// until the plan is reverted: they are marked to be deleted and keep their
// pending changes. The planned blocks are added at the end, and the title
// becomes pending. Planned blocks that already exist do not change, and those that
// were removed are not added again, so the same plan may be repeated. It returns the
// document with its blocks.
func (s *Store) PlanDocument(ctx context.Context, owner, id string, p record.Plan) (schemas.Document, error) {
	var planned schemas.Document
	err := s.changeDocument(ctx, owner, id, p.Create, func(d *change) error {
		removed, err := d.removed(p.Blocks)
		if err != nil {
			return err
		}
		var missing []int
		for i := range p.Blocks {
			if _, err := d.head(p.Blocks[i].ID); isMissing(err) {
				if !removed[p.Blocks[i].ID] {
					missing = append(missing, i)
				}
			} else if err != nil {
				return err
			}
		}
		if len(missing) == len(p.Blocks) {
			if err := d.hide(clean(p.Title)); err != nil {
				return err
			}
		}
		for _, i := range missing {
			if err := d.add(&p.Blocks[i], true); err != nil {
				return err
			}
		}
		planned, err = wholeDocument(d.tx, owner, id)
		return err
	})
	return planned, s.fault("plan document", err)
}

// hide begins a plan: it hides all blocks that are not hidden yet, and makes
// the title pending.
func (d *change) hide(title string) error {
	plans, err := d.plans()
	if err != nil {
		return err
	}
	before := ""
	if d.row.NewTitle != nil {
		before = *d.row.NewTitle
	}
	switch title {
	case "":
		title = before
	case d.row.Title:
		title = ""
	}
	if err := d.exec("UPDATE blocks SET kept_plan = ?, kept_state = state, state = 'pending_delete', revision = ?, changed_at = ?"+
		" WHERE owner = ? AND document_id = ? AND kept_plan = 0", len(plans)+1, d.upcoming(), d.now, d.owner, d.row.ID); err != nil {
		return err
	}
	if err := d.setPlans(title, append(plans, before), record.FenceOf(d.tx.Statement.Context).RunID); err != nil {
		return err
	}
	return d.count()
}

// Values of kept_state of a block that is restored by itself, while its plan stays, and
// of one that is restored with its plan. The first keeps the state before the plan if
// there were pending changes: these are older than the plan.
const (
	restoredAlone = "NULLIF(kept_state, 'clean')"
	restored      = "NULL"
)

// unhide restores the hidden blocks in scope to their state before the plan;
// shown reports whether there were any.
func (d *change) unhide(kept, scope string, args ...any) (shown bool, err error) {
	done := d.tx.Exec(`UPDATE blocks SET kept_plan = 0, kept_state = `+kept+`, revision = ?, changed_at = ?, state = CASE
		WHEN kept_state = 'pending_delete' THEN 'pending_delete' WHEN current IS NULL THEN 'pending_new'
		WHEN new IS NOT NULL OR new_meta IS NOT NULL THEN 'pending_edit' WHEN new_position IS NOT NULL THEN 'pending_move' ELSE 'clean' END
		WHERE owner = ? AND document_id = ? AND kept_plan > 0`+scope, append([]any{d.upcoming(), d.now, d.owner, d.row.ID}, args...)...)
	if done.RowsAffected > 0 {
		d.next()
	}
	return done.RowsAffected > 0, done.Error
}

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
var (
	settleGone = map[record.Settle]string{record.Accept: "state = 'pending_delete'", record.Revert: "kept_plan = 0 AND state = 'pending_new'"}
	settleKept = map[record.Settle]string{
		record.Accept: `current = COALESCE(new, current), meta = COALESCE(new_meta, meta), position = COALESCE(new_position, position),
			size = octet_length(COALESCE(new, current)) + COALESCE(octet_length(COALESCE(new_meta, meta)), 0)`,
		record.Revert: `size = octet_length(current) + COALESCE(octet_length(meta), 0)`,
	}
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
	kept := d.tx.Exec("UPDATE blocks SET "+settleKept[decision]+", new = NULL, new_meta = NULL, new_position = NULL, kept_state = NULL, state = 'clean', revision = ?, changed_at = ?"+
		scope+"kept_plan = 0 AND state <> 'clean'", append([]any{d.upcoming(), d.now}, args...)...)
	if kept.RowsAffected > 0 {
		d.next()
	}
	return gone, gone || kept.RowsAffected > 0, kept.Error
}

// SettleBlock decides about the pending changes of a block. A revert restores a
// hidden block with its pending changes. A block without pending changes, or a
// chat's message, is returned unchanged.
func (s *Store) SettleBlock(ctx context.Context, owner, id string, decision record.Settle, match record.Match) (record.Settled, error) {
	var out record.Settled
	err := s.changeBlock(ctx, owner, id, match, func(d *change, _ *head) (err error) {
		if decision == record.Accept {
			if err := s.unwritten(ctx, d.tx, owner, "", id); err != nil {
				return err
			}
		}
		if out.Block, err = oneBlock(d.tx, owner, id); err != nil {
			return err
		}
		out.Reverted = decision == record.Revert && (out.Block.New != nil || out.Block.State == schemas.BlockPendingDelete)
		shown := false
		if decision == record.Accept && out.Block.State != schemas.BlockClean {
			err = d.keepOften()
		} else if decision == record.Revert {
			shown, err = d.unhide(restoredAlone, " AND id = ?", id)
		}
		if err == nil && out.Reverted {
			err = s.withdrawBlock(ctx, d, id)
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
		if out.Block, err = s.Block(ctx, owner, id); err == nil && !match.Holds(out.Block.Revision) {
			err = schemas.ErrStale
		}
	}
	return out, s.fault("settle block", err)
}

// SettleDocument decides about all pending changes of a document, in one
// transaction, and returns the document with its blocks. A plan is one change:
// a revert restores the state before the last plan, and what was pending then
// remains pending.
func (s *Store) SettleDocument(ctx context.Context, owner, id string, decision record.Settle, match record.Match) (schemas.Document, error) {
	var settled schemas.Document
	err := s.changeDocument(ctx, owner, id, nil, func(d *change) error {
		if !match.Holds(d.revision) {
			return schemas.ErrStale
		}
		var err error
		if decision == record.Accept {
			if err = s.unwritten(ctx, d.tx, owner, id, ""); err == nil {
				err = d.acceptAll()
			}
		} else if err = s.withdrawBlocks(ctx, d); err == nil {
			err = d.revertAll()
		}
		if err == nil {
			settled, err = wholeDocument(d.tx, owner, id)
		}
		return err
	})
	return settled, s.fault("settle document", err)
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
	return d.exec("UPDATE documents SET title = ?, new_title = NULL, plans = NULL, planned_by = NULL, revision = ?, changed_at = ? WHERE owner = ? AND id = ?",
		d.row.Title, d.next(), d.now, d.owner, d.row.ID)
}

// revertAll drops the changes since the last plan and undoes that plan. A plan
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
	since := ""
	if len(plans) > 0 {
		since = " AND kept_state IS NULL"
	}
	_, changed, err := d.settle(record.Revert, since)
	if err != nil {
		return err
	}
	waiting, undone := "", false
	if d.row.NewTitle != nil {
		waiting = *d.row.NewTitle
	}
	for ; len(plans) > 0 && !undone; plans = plans[:len(plans)-1] {
		shown, err := d.unhide(restored, " AND kept_plan = ?", len(plans))
		if err != nil {
			return err
		}
		before := plans[len(plans)-1]
		undone = changed || shown || before != waiting
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
