package store

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/store/sqldb"
	"github.com/chattray/chattray/store/values"
)

// runState is the state of a run that a fence needs.
type runState struct {
	id, owner, replica string
	page               string
	chat               int64
	state              schemas.RunState
	attempt            int
	endedAt            int64
	over               bool   // it had ended before this batch
	replaced           string // what it has taken, if it began in this batch
}

// loadRuns locks the runs that exist, in the same order everywhere.
func (b *batch) loadRuns() error {
	ids := make([]string, 0, len(b.writes))
	for _, w := range b.writes {
		if id := runID(w); values.PlainText(id) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	ids = slices.Compact(ids) // a run that ends often has several writes
	query := b.tx.Query
	if b.hasBegins() { // loadChats asks more, and nothing depends on the runs before that is answered
		query = b.tx.Ask
	}
	return lockRuns(b.ctx, query, ids, func(r *runState) { b.runs[r.id] = r })
}

// query is the Query or Ask of a session.
type query func(ctx context.Context, statement string, rows [][]any, scan func(sqldb.Scanner) error) error

// lockRuns locks the runs that exist, and calls found for each.
func lockRuns(ctx context.Context, query query, ids []string, found func(*runState)) error {
	statement, among := selectRun, ""
	switch len(ids) {
	case 0:
		return nil
	case 1:
		among = ids[0]
	default:
		list, err := json.Marshal(ids)
		if err != nil {
			return err
		}
		statement, among = selectRuns, string(list)
	}
	return query(ctx, statement, [][]any{{among}}, func(row sqldb.Scanner) error {
		r := new(runState)
		if err := row.Scan(&r.id, &r.owner, &r.chat, &r.state, &r.attempt, &r.endedAt, &r.replica, &r.page); err != nil {
			return err
		}
		r.over = r.state.Terminal()
		found(r)
		return nil
	})
}

// lockRun locks the run and returns it; nil if it does not exist.
func lockRun(ctx context.Context, tx sqldb.Session, id string) (run *runState, err error) {
	err = lockRuns(ctx, tx.Query, []string{id}, func(r *runState) { run = r })
	return run, err
}
