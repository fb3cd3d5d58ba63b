package documents

import (
	"context"
	"strings"

	"gorm.io/gorm"

	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/store/tables"
)

// The statements of withdrawals. A withdrawal counts while its run is unfinished. That of a
// block has blockMark and the block's id in place of a document's id, which has no slash.
const (
	blockMark        = "/"
	withdraw         = `INSERT INTO withdrawals (owner, run, document) SELECT owner, id, CAST(? AS TEXT) FROM runs WHERE owner = ? AND ` + tables.OpenStates
	withdrawClaimed  = `INSERT INTO withdrawals (owner, run, document) SELECT DISTINCT claims.owner, claims.run, '` + blockMark + `' || `
	fromClaims       = ` FROM claims JOIN runs ON runs.id = claims.run WHERE ` + tables.OpenStates + ` AND claims.owner = ? AND claims.document = ? AND claims.block `
	onceWithdrawn    = ` ON CONFLICT (run, document) DO NOTHING`
	sweepWithdrawals = `DELETE FROM withdrawals WHERE owner = ? AND run NOT IN (SELECT id FROM runs WHERE owner = ? AND ` + tables.OpenStates + `)`
)

// withdrawAll withdraws the document from all unfinished runs of the owner: none of them
// makes it again.
func (d *change) withdrawAll() error { return d.withdraw(withdraw, d.row.ID, d.owner) }

// withdrawPlan withdraws the document from the run whose plan is reverted.
func (d *change) withdrawPlan() error {
	if d.row.PlannedBy == nil || d.row.Plans == nil {
		return nil
	}
	return d.withdraw(withdraw+" AND id = ?", d.row.ID, d.owner, *d.row.PlannedBy)
}

// withdrawBlock withdraws a block that the user reverts or deletes from the runs of other
// processes that have written or planned it. They may write it again.
func (t *Tables) withdrawBlock(ctx context.Context, d *change, id string) error {
	if !t.tells(ctx) {
		return nil
	}
	return d.withdraw(withdrawClaimed+"CAST(? AS TEXT)"+fromClaims+"IN ('', ?)", id, d.owner, d.row.ID, id)
}

// withdrawBlocks does what withdrawBlock does, for all blocks of the document that runs
// have written. Readers are told of those that no longer have the text.
func (t *Tables) withdrawBlocks(ctx context.Context, d *change) error {
	if !t.tells(ctx) {
		return nil
	}
	return d.withdraw(withdrawClaimed+"claims.block"+fromClaims+"<> ''", d.owner, d.row.ID)
}

// tells reports whether other processes are to be told what is done in ctx: what a user
// does, not a run.
func (t *Tables) tells(ctx context.Context) bool {
	return t.many && record.FenceOf(ctx) == (record.Fence{})
}

func (d *change) withdraw(statement string, args ...any) error {
	if err := d.exec(sweepWithdrawals, d.owner, d.owner); err != nil {
		return err
	}
	return d.exec(statement+onceWithdrawn, args...)
}

// permitted returns record.ErrWithdrawn if the change is of a run from which the document
// was withdrawn. The caller has locked the document, if it exists.
func permitted(tx *gorm.DB, document string) error {
	run := record.FenceOf(tx.Statement.Context).RunID
	if run == "" {
		return nil
	}
	n := 0
	err := tx.Raw("SELECT COUNT(*) FROM withdrawals WHERE run = ? AND document = ?", run, document).Scan(&n).Error
	if err == nil && n > 0 {
		err = record.ErrWithdrawn
	}
	return err
}

// Withdrawn returns the documents and blocks that were withdrawn from these runs.
func (t *Tables) Withdrawn(ctx context.Context, runs []string) ([]record.Withdrawal, error) {
	var list []record.Withdrawal
	err := t.db.Read(ctx).Raw("SELECT run, document FROM withdrawals WHERE run IN ?", runs).Scan(&list).Error
	for i := range list {
		if id, isBlock := strings.CutPrefix(list[i].Document, blockMark); isBlock {
			list[i].Document, list[i].Block = "", id
		}
	}
	return list, t.db.Fault("withdrawals", err)
}

// beingWritten finds a claim of a block, or of a document, into which text is written.
const beingWritten = `SELECT 1 FROM claims WHERE owner = ? AND writing AND (block <> '' AND block = ? OR document = ?) AND ` + tables.Held + ` LIMIT 1`

// unwritten refuses a user's change of a block, or of a document, while a run of any
// process is writing text there. The caller holds the lock of the document, without which
// no run begins to write. A single process knows what it is writing.
func (t *Tables) unwritten(ctx context.Context, tx *gorm.DB, owner, document, block string) error {
	if !t.tells(ctx) {
		return nil
	}
	written := 0
	err := tx.Raw(beingWritten, owner, block, document).Scan(&written).Error
	if err == nil && written > 0 {
		return record.ErrBeingWritten
	}
	return err
}
