package store

import (
	"context"
	"fmt"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

type waitRow struct {
	RunID      string
	Idx        int
	Kind       schemas.WaitKind
	ID         string
	ToolUseID  string
	Tool       string
	Input      []byte
	Reason     schemas.ApprovalReason
	CreatedAt  int64 `gorm:"autoCreateTime:false"`
	ExpiresAt  int64
	Answer     schemas.WaitAnswer
	AnsweredAt int64
	Edited     []byte
	Output     []byte
	IsError    bool
}

func (r *waitRow) wait() (record.Wait, error) {
	var u unpacker
	w := record.Wait{
		RunID: r.RunID, Index: r.Idx, Kind: r.Kind, ID: r.ID, ToolUseID: r.ToolUseID, Tool: r.Tool, Input: u.bytes(r.Input), Reason: r.Reason,
		CreatedAt: moment(r.CreatedAt), ExpiresAt: moment(r.ExpiresAt), Answer: r.Answer, AnsweredAt: moment(r.AnsweredAt), IsError: r.IsError,
	}
	if r.Edited != nil {
		w.Edited = u.bytes(r.Edited)
	}
	if r.Output != nil {
		w.Output = string(u.bytes(r.Output))
	}
	if u.err != nil {
		return record.Wait{}, fmt.Errorf("wait %d of run %s: %w", r.Idx, r.RunID, u.err)
	}
	return w, nil
}

// Waits returns the calls of the run that wait or have waited, in the order in
// which the model asked for them. An unknown run has none.
func (s *Store) Waits(ctx context.Context, runID string) ([]record.Wait, error) {
	if !plainText(runID) {
		return nil, nil
	}
	var rows []waitRow
	if err := s.read(ctx).Table("waits").Where("run_id = ?", runID).Order("idx").Find(&rows).Error; err != nil {
		return nil, s.fault("waits", err)
	}
	found := make([]record.Wait, len(rows))
	for i := range rows {
		var err error
		if found[i], err = rows[i].wait(); err != nil {
			return nil, s.fault("waits", err)
		}
	}
	return found, nil
}

// AnswerWait stores the answer to a call that waits (RunID, Index and the
// fields from Answer on) and returns the wait, with the earlier answer if there
// was one. The error is schemas.ErrNotFound for a call that never waited,
// record.ErrEnded for an unanswered one whose run has ended, record.ErrFenced for a
// context whose attempt is no longer the run's, and record.ErrEarly for one that is to
// expire and whose time is not up by the clock of the database's server.
func (s *Store) AnswerWait(ctx context.Context, answer record.Wait) (record.Wait, error) {
	over := false
	err := s.batch(ctx, func(ctx context.Context, tx session) (err error) {
		over, err = giveAnswer(ctx, tx, &answer)
		return err
	})
	if err != nil {
		return record.Wait{}, s.fault("answer a wait", err)
	}
	var row waitRow
	if err := s.read(ctx).Table("waits").Where("run_id = ? AND idx = ?", answer.RunID, answer.Index).Take(&row).Error; err != nil {
		return record.Wait{}, s.fault("answer a wait", err)
	}
	w, err := row.wait()
	if err == nil && w.Answer == "" {
		err = record.ErrEarly
		if over {
			err = record.ErrEnded
		}
	}
	return w, s.fault("answer a wait", err)
}

// giveAnswer stores the answer, and reports whether the run has ended.
func giveAnswer(ctx context.Context, tx session, answer *record.Wait) (over bool, err error) {
	if !plainText(answer.RunID) {
		return false, schemas.ErrNotFound
	}
	// The run is locked, so that it neither ends nor adds a wait meanwhile.
	run, err := lockRun(ctx, tx, answer.RunID)
	if err != nil {
		return false, err
	}
	if f := record.FenceOf(ctx); f.RunID == answer.RunID && run != nil && run.attempt != f.Attempt {
		return false, record.ErrFenced
	}
	known := false
	err = tx.query(ctx, selectWait, [][]any{{answer.RunID, int64(answer.Index)}}, func(row scanner) error {
		known = true
		var idx int64
		return row.Scan(&idx)
	})
	switch {
	case err != nil:
		return false, err
	case !known:
		return false, schemas.ErrNotFound
	case run == nil || run.over:
		return true, nil // the earlier answer, or none
	}
	var edited, output any
	if answer.Edited != nil {
		edited = pack(answer.Edited)
	}
	if answer.Output != "" {
		output = pack(answer.Output)
	}
	err = tx.each(ctx, answerWait, [][]any{{
		string(answer.Answer), micros(answer.AnsweredAt), edited, output, answer.IsError, answer.RunID, int64(answer.Index),
		string(answer.Answer), string(answer.Answer),
	}})
	if err != nil {
		return false, err
	}
	return false, tx.each(ctx, waitState, [][]any{{answer.RunID}})
}
