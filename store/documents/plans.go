package documents

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/text"
	"github.com/chattray/chattray/store/sqldb"
	"github.com/chattray/chattray/store/values"
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
	d.row.NewTitle, d.row.Plans, d.row.PlannedBy = nil, nil, nil
	if title != "" {
		d.row.NewTitle = &title
	}
	if len(plans) > 0 {
		raw, err := text.Encode(plans)
		if err != nil {
			return err
		}
		d.row.Plans = new(string(raw))
	}
	if by != "" {
		d.row.PlannedBy = &by
	}
	return d.exec("UPDATE documents SET new_title = ?, plans = ?, planned_by = ?, revision = ?, changed_at = ? WHERE owner = ? AND id = ?",
		d.row.NewTitle, d.row.Plans, d.row.PlannedBy, d.next(), d.now, d.owner, d.row.ID)
}

// repeatMark follows the title before a plan that its run has made again: it is one change with
// the plan before it. No pending title ends with it.
const repeatMark = "\n"

// dropTitles drops the pending title and those before each plan.
func (d *change) dropTitles() error {
	plans, err := d.plans()
	if err != nil {
		return err
	}
	for i, before := range plans {
		if plans[i] = ""; strings.HasSuffix(before, repeatMark) {
			plans[i] = repeatMark
		}
	}
	return d.setPlans("", plans, *cmp.Or(d.row.PlannedBy, new(string)))
}

// PlanDocument proposes a new structure. The blocks of the document are hidden
// until the plan is reverted: they are marked to be deleted and keep their
// pending changes. The planned blocks are added at the end, and the title
// becomes pending. Planned blocks that already exist do not change, and those that
// were removed are not added again, so the same plan may be repeated. What the run has
// planned before and not written is dropped. It returns the document with its blocks.
func (t *Tables) PlanDocument(ctx context.Context, owner, id string, p record.Plan) (schemas.Document, error) {
	var planned schemas.Document
	err := t.changeDocument(ctx, owner, id, p.Create, func(d *change) error {
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
			run := record.FenceOf(d.tx.Statement.Context).RunID
			if _, err := d.dropPlanned(run); err != nil {
				return err
			}
			if err := d.hide(values.Clean(p.Title), run); err != nil {
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
	return planned, t.db.Fault("plan document", err)
}

// unwritten is the condition of a block that a plan has added and that has no content yet,
// plannedOnly that of one which the last plan has added.
const (
	unwritten   = "state = 'pending_new' AND new = '' AND (meta IS NULL OR meta LIKE '{\"" + record.PlannedKey + "\":%')"
	plannedOnly = ofThePlan + " AND " + unwritten
)

// DropPlanned removes the blocks of the document that the run has planned and not written,
// and returns them without their content. If nothing else in the document is of the run, its
// plan is undone; what the user has done meanwhile stays. Without a pending plan of the run nothing changes.
func (t *Tables) DropPlanned(ctx context.Context, owner, id, run string) ([]schemas.Block, error) {
	var dropped []schemas.Block
	err := t.changeDocument(ctx, owner, id, nil, func(d *change) (err error) {
		dropped, err = d.dropPlanned(run)
		return err
	})
	return dropped, t.db.Fault("drop planned blocks", err)
}

func (d *change) dropPlanned(run string) (dropped []schemas.Block, err error) {
	if d.row.PlannedBy == nil || *d.row.PlannedBy != run {
		return nil, nil
	}
	const scope = " FROM blocks WHERE owner = ? AND document_id = ? AND "
	err = d.tx.Raw("SELECT id, document_id, type, state, position, revision"+scope+plannedOnly+" ORDER BY position", d.owner, d.row.ID).Scan(&dropped).Error
	if err != nil {
		return nil, err
	}
	if len(dropped) > 0 {
		if _, err := d.remove(" AND " + plannedOnly); err != nil {
			return nil, err
		}
		if err := d.touch(); err != nil {
			return nil, err
		}
	}
	for again := true; again; {
		left := 0
		err = sqldb.ScanRow(d.tx.Raw("SELECT COUNT(*)"+scope+ofThePlan, d.owner, d.row.ID), &left)
		if err != nil || left > 0 || d.row.Plans == nil { // the user has accepted the plan
			return dropped, err
		}
		if again, err = d.undoPlan(run); err != nil {
			return dropped, err
		}
	}
	return dropped, nil
}

// undoPlan undoes the last plan of the run, of which nothing is left; again reports whether
// the plan before it is the run's too.
func (d *change) undoPlan(run string) (again bool, err error) {
	plans, err := d.plans()
	if err != nil {
		return false, err
	}
	last := len(plans) - 1
	before, again := strings.CutSuffix(plans[last], repeatMark)
	if _, err := d.unhideAll(len(plans), again); err != nil {
		return again, err
	}
	if !again {
		run = ""
	}
	return again, d.setPlans(before, plans[:last], run)
}

// hide begins a plan of a run: it hides all blocks that are not hidden yet, and makes
// the title pending. When a run plans again, the user reverts all of its plans at once.
func (d *change) hide(title, run string) error {
	plans, err := d.plans()
	if err != nil {
		return err
	}
	before := ""
	if d.row.NewTitle != nil {
		before = *d.row.NewTitle
	}
	switch title = strings.TrimRight(title, repeatMark); title {
	case "":
		title = before
	case d.row.Title:
		title = ""
	}
	kept := "state"
	if run != "" && len(plans) > 0 && d.row.PlannedBy != nil && *d.row.PlannedBy == run {
		kept, before = beforeRepeat+" || CASE state WHEN 'pending_delete' THEN '-' ELSE '+' END", before+repeatMark
	}
	plans = append(plans, before)
	if err := d.exec("UPDATE blocks SET kept_plan = ?, kept_state = "+kept+", state = 'pending_delete', revision = ?, changed_at = ?"+
		" WHERE owner = ? AND document_id = ? AND kept_plan = 0", len(plans), d.upcoming(), d.now, d.owner, d.row.ID); err != nil {
		return err
	}
	if err := d.setPlans(title, plans, run); err != nil {
		return err
	}
	return d.count()
}

// Values of kept_state of a block that no plan hides, beside its state: then it is older than
// the last plan, or the user's own. NULL is a block that the plan has added, or of which the
// user has accepted something since. When the run of the plan plans again, a block that is
// hidden only then keeps this with a sign: '-' if it was to be deleted, else '+'.
const (
	changedSince = "'changed'" // older or the user's own, and a run has proposed something since
	appliedSince = "'applied'" // what waits is of the user, from a chat
	beforeRepeat = "rtrim(COALESCE(kept_state, ''), '+-')"
)

// Values that unhide gives a block which is restored by itself, while its plan stays, and one
// that is restored with its plan.
const (
	restoredAlone = "kept_state"
	restored      = "NULL"
	restoredAgain = "NULLIF(" + beforeRepeat + ", '')" // the run's earlier plan stays
)

// Conditions of blocks that no plan hides: ofThePlan of one that is the last plan's or that
// a run has changed since, sinceThePlan also of one to which the user has applied something,
// and of one that the run has written before it has planned again.
const (
	ofThePlan    = "kept_plan = 0 AND (kept_state IS NULL OR kept_state = " + changedSince + ")"
	sinceThePlan = beforeRepeat + " IN ('', " + changedSince + ", " + appliedSince + ")"
)

// unhideAll restores all blocks that a plan hides. Those that were restored by themselves are
// no longer older than the last plan that is left, unless it is of the same run.
func (d *change) unhideAll(plan int, again bool) (shown bool, err error) {
	kept := restored
	if again {
		kept = restoredAgain
	}
	if err := d.exec("UPDATE blocks SET kept_state = "+kept+" WHERE owner = ? AND document_id = ? AND kept_plan = 0", d.owner, d.row.ID); err != nil {
		return false, err
	}
	return d.unhide(kept, " AND kept_plan = ?", plan)
}

// unhide restores the hidden blocks in scope to their state before the plan;
// shown reports whether there were any.
func (d *change) unhide(kept, scope string, args ...any) (shown bool, err error) {
	done := d.tx.Exec(`UPDATE blocks SET kept_plan = 0, kept_state = `+kept+`, `+d.decided(record.Revert)+`revision = ?, changed_at = ?, state = CASE
		WHEN kept_state = 'pending_delete' OR kept_state LIKE '%-' THEN 'pending_delete' WHEN current IS NULL THEN 'pending_new'
		WHEN new IS NOT NULL OR new_meta IS NOT NULL THEN 'pending_edit' WHEN new_position IS NOT NULL THEN 'pending_move' ELSE 'clean' END
		WHERE owner = ? AND document_id = ? AND kept_plan > 0`+scope, append([]any{d.upcoming(), d.now, d.owner, d.row.ID}, args...)...)
	if done.RowsAffected > 0 {
		d.next()
	}
	return done.RowsAffected > 0, done.Error
}
