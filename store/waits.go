package store

import (
	"context"
	"fmt"
	"slices"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/store/packed"
	"github.com/chattray/chattray/store/sqldb"
	"github.com/chattray/chattray/store/values"
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
		CreatedAt: values.Moment(r.CreatedAt), ExpiresAt: values.Moment(r.ExpiresAt), Answer: r.Answer, AnsweredAt: values.Moment(r.AnsweredAt), IsError: r.IsError,
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
	if !values.PlainText(runID) {
		return nil, nil
	}
	var rows []waitRow
	if err := s.db.Read(ctx).Table("waits").Where("run_id = ?", runID).Order("idx").Find(&rows).Error; err != nil {
		return nil, s.db.Fault("waits", err)
	}
	found := make([]record.Wait, len(rows))
	for i := range rows {
		var err error
		if found[i], err = rows[i].wait(); err != nil {
			return nil, s.db.Fault("waits", err)
		}
	}
	return found, nil
}

// AnswerWait is AnswerWaits for one call. The error is record.ErrEnded for an unanswered
// call whose run has ended, and record.ErrEarly for one that is to expire and whose time is
// not up by the clock of the database's server.
func (s *Store) AnswerWait(ctx context.Context, answer record.Wait) (record.Wait, error) {
	list, over, err := s.answerWaits(ctx, []record.Wait{answer})
	switch {
	case err != nil:
		return record.Wait{}, err
	case list[0].Answer != "":
		return list[0], nil
	case over:
		return list[0], record.ErrEnded
	}
	return list[0], record.ErrEarly
}

// AnswerWaits stores the answers to calls of one run that wait (RunID, Index and the
// fields from Answer on), all or none, and returns the waits, each with the earlier answer
// if there was one. A call whose run has ended has none, and neither has one that is to
// expire and whose time is not up by the clock of the database's server. The error is
// schemas.ErrNotFound for a call that never waited, and record.ErrFenced for a context
// whose attempt is no longer the run's.
func (s *Store) AnswerWaits(ctx context.Context, answers []record.Wait) ([]record.Wait, error) {
	list, _, err := s.answerWaits(ctx, answers)
	return list, err
}

// answerWaits also reports whether the run has ended.
func (s *Store) answerWaits(ctx context.Context, answers []record.Wait) (list []record.Wait, over bool, err error) {
	if len(answers) == 0 {
		return nil, false, nil
	}
	run := answers[0].RunID
	err = s.db.Batch(ctx, func(ctx context.Context, tx sqldb.Session) (err error) {
		over, err = giveAnswers(ctx, tx, run, answers)
		return err
	})
	if err != nil {
		return nil, false, s.db.Fault("answer a wait", err)
	}
	stored, err := s.Waits(ctx, run)
	if err != nil {
		return nil, false, err
	}
	for _, a := range answers {
		i := slices.IndexFunc(stored, func(w record.Wait) bool { return w.Index == a.Index })
		if i < 0 {
			return nil, false, schemas.ErrNotFound // deleted meanwhile
		}
		list = append(list, stored[i])
	}
	return list, over, nil
}

// giveAnswers stores the answers, and reports whether the run has ended.
func giveAnswers(ctx context.Context, tx sqldb.Session, id string, answers []record.Wait) (over bool, err error) {
	if !values.PlainText(id) {
		return false, schemas.ErrNotFound
	}
	// The run is locked, so that it neither ends nor adds a wait meanwhile.
	run, err := lockRun(ctx, tx, id)
	if err != nil {
		return false, err
	}
	if f := record.FenceOf(ctx); f.RunID == id && run != nil && run.attempt != f.Attempt {
		return false, record.ErrFenced
	}
	asked, given := make([][]any, len(answers)), make([][]any, len(answers))
	for i := range answers {
		a := &answers[i]
		var edited, output any
		if a.Edited != nil {
			edited = packed.Value(a.Edited)
		}
		if a.Output != "" {
			output = packed.Value(a.Output)
		}
		asked[i] = []any{id, int64(a.Index)}
		given[i] = []any{
			string(a.Answer), values.Micros(a.AnsweredAt), edited, output, a.IsError, id, int64(a.Index), string(a.Answer), string(a.Answer),
		}
	}
	known := 0
	err = tx.Query(ctx, selectWait, asked, func(row sqldb.Scanner) error {
		known++
		var idx int64
		return row.Scan(&idx)
	})
	switch {
	case err != nil:
		return false, err
	case known < len(answers):
		return false, schemas.ErrNotFound
	case run == nil || run.over:
		return true, nil // the earlier answers, or none
	}
	if err := tx.Each(ctx, answerWait, given); err != nil {
		return false, err
	}
	return false, tx.Each(ctx, waitState, [][]any{{id}})
}
