package store

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/store/sqldb"
	"github.com/chattray/chattray/store/tables"
	"github.com/chattray/chattray/store/values"
)

// takeBatch is how many runs one Take takes at most.
const takeBatch = 64

// Take gives unfinished runs to the replica to, in the order of their starts,
// at most 64 at a time: the runs of the replicas from ("" means runs without an
// owner), or of all other replicas if from is nil. A replica that was marked as
// gone, which it may not know yet, gets none. A run that had begun is then at its
// next attempt, so that its former owner can write nothing more; only after that
// may it be read. The last attempt of a run that was waiting, or was let go, or
// whose replica, one of several, has left in good order, does not count. If several
// replicas take at the same time, one of them gets the run. Runs that are being written
// now are not returned, so the caller asks again later, until the list is empty.
func (s *Store) Take(ctx context.Context, from []string, to string) ([]record.Taken, error) {
	type row struct {
		record.Taken
		place int64
	}
	statement, args := takeAllRuns, []any{to, int64(tables.RunFormat), to, int64(takeBatch), to}
	if from != nil {
		among, err := json.Marshal(from)
		if err != nil {
			return nil, err
		}
		statement, args[0] = takeRuns, string(among)
	}
	var rows []row
	err := s.db.Batch(ctx, func(ctx context.Context, tx sqldb.Session) error {
		rows = nil
		return tx.Query(ctx, statement, [][]any{args}, func(found sqldb.Scanner) error {
			var r row
			err := found.Scan(&r.ID, &r.State, &r.Attempt, &r.place)
			rows = append(rows, r)
			return err
		})
	})
	if err != nil {
		return nil, s.db.Fault("take runs", err)
	}
	slices.SortFunc(rows, func(a, b row) int { return int(a.place - b.place) })
	taken := make([]record.Taken, len(rows))
	for i, r := range rows {
		taken[i] = r.Taken
	}
	return taken, nil
}

// Held returns the runs of the replica that have not ended, in the order of their
// starts.
func (s *Store) Held(ctx context.Context, replica string) ([]record.Taken, error) {
	var list []record.Taken
	err := s.db.Read(ctx).Raw("SELECT id, state, attempt FROM runs WHERE replica = ? AND "+tables.OpenStates+" ORDER BY place", replica).Scan(&list).Error
	return list, s.db.Fault("runs of a replica", err)
}

// BeginAttempt makes attempt the current one of a run of the replica, and the state running,
// or waiting while a call waits; the previous attempt does not count if it was
// waiting. If the run is another replica's, has ended or is not at attempt-1, the error
// is record.ErrFenced. A queued run can begin only while no other run of its chat
// is running or waiting, otherwise the error is record.ErrBusy.
func (s *Store) BeginAttempt(ctx context.Context, id string, attempt int, replica string) error {
	err := s.db.Batch(ctx, func(ctx context.Context, tx sqldb.Session) error {
		_, err := beginAttempt(ctx, tx, id, attempt, replica, nil)
		return err
	})
	return s.db.Fault("begin an attempt", err)
}

// BeginQueued is BeginAttempt for the first attempt of a queued run. Names are the
// ids that the client has chosen for its answer, see Begin.Reserve; what they belong
// to is decided now. Those that belong to something else by now are Lost. If the run's
// question has been replaced meanwhile, the error is record.ErrReplaced.
func (s *Store) BeginQueued(ctx context.Context, id, replica string, names []string) (begun record.Begun, err error) {
	err = s.db.Batch(ctx, func(ctx context.Context, tx sqldb.Session) error {
		if begun, err = beginAttempt(ctx, tx, id, 1, replica, names); err != nil {
			return err
		}
		return tx.Query(ctx, selectReplacedQuestion, [][]any{{id}}, func(sqldb.Scanner) error { return record.ErrReplaced })
	})
	return begun, s.db.Fault("begin a queued run", err)
}

func beginAttempt(ctx context.Context, tx sqldb.Session, id string, attempt int, replica string, names []string) (begun record.Begun, err error) {
	if !values.PlainText(id) {
		return begun, schemas.ErrNotFound
	}
	run, err := lockRun(ctx, tx, id)
	switch {
	case err != nil:
		return begun, err
	case run == nil:
		return begun, schemas.ErrNotFound
	case run.over || run.attempt != attempt-1 || run.replica != replica:
		return begun, record.ErrFenced
	}
	if run.state == schemas.RunQueued {
		if err := free(ctx, tx, run.chat); err != nil {
			return begun, err
		}
		if begun, err = newBatch(ctx, tx, nil, 0).beginQueued(run, names); err != nil {
			return begun, err
		}
		if err := tx.Each(ctx, moveUserMessage, [][]any{{run.id, run.owner, run.id, run.id}}); err != nil {
			return begun, err
		}
	}
	return begun, tx.Each(ctx, beginAttemptOfRun, [][]any{{attempt, id}})
}

// free returns record.ErrBusy if a run of the chat is running or waiting. It
// locks the chat, so that no run begins meanwhile.
func free(ctx context.Context, tx sqldb.Session, chat int64) error {
	err := tx.Query(ctx, selectChat, [][]any{{chat}}, func(sqldb.Scanner) error { return nil })
	if err != nil {
		return err
	}
	busy := false
	err = tx.Query(ctx, selectOpenRuns, [][]any{{chat}}, func(row sqldb.Scanner) error {
		var run openRun
		if err := row.Scan(&chat, &run.id, &run.state); err != nil {
			return err
		}
		busy = busy || run.state != schemas.RunQueued
		return nil
	})
	if err == nil && busy {
		return record.ErrBusy
	}
	return err
}
