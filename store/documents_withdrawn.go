package store

import (
	"context"

	"gorm.io/gorm"

	"github.com/chattray/chattray/schemas/record"
)

// The statements of withdrawals. A withdrawal counts while its run is unfinished.
const (
	withdraw         = `INSERT INTO withdrawals (owner, run, document) SELECT owner, id, CAST(? AS TEXT) FROM runs WHERE owner = ? AND ` + openStates
	sweepWithdrawals = `DELETE FROM withdrawals WHERE owner = ? AND run NOT IN (SELECT id FROM runs WHERE owner = ? AND ` + openStates + `)`
)

// withdrawAll withdraws the document from all unfinished runs of the owner: none of them
// makes it again.
func (d *change) withdrawAll() error { return d.withdraw("") }

// withdrawPlan withdraws the document from the run whose plan is reverted.
func (d *change) withdrawPlan() error {
	if d.row.PlannedBy == nil {
		return nil
	}
	return d.withdraw(" AND id = ?", *d.row.PlannedBy)
}

func (d *change) withdraw(scope string, args ...any) error {
	if err := d.exec(sweepWithdrawals, d.owner, d.owner); err != nil {
		return err
	}
	return d.exec(withdraw+scope+" ON CONFLICT (run, document) DO NOTHING", append([]any{d.row.ID, d.owner}, args...)...)
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

// Withdrawn returns the documents that were withdrawn from these runs.
func (s *Store) Withdrawn(ctx context.Context, runs []string) ([]record.Withdrawal, error) {
	var list []record.Withdrawal
	err := s.read(ctx).Raw("SELECT run, document FROM withdrawals WHERE run IN ?", runs).Scan(&list).Error
	return list, s.fault("withdrawals", err)
}
