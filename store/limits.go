package store

import (
	"time"

	"github.com/chattray/chattray/schemas/record"
)

// StartLimits bound what an owner may start while several processes share the
// database. They are checked in the transaction of the start: starts at the same time in
// different processes may together exceed them by one for each other process. 0 means no
// limit.
type StartLimits struct {
	OpenRuns, RunsPerMinute int
}

// recently is the time of RunsPerMinute. Times of runs come from the clocks of the
// processes; a run of a clock that is further ahead is not counted.
const recently = time.Minute

// selectStarted returns how many unfinished runs an owner has, and how many recent ones
// with the time of the oldest of them.
const selectStarted = `SELECT owner, CAST(SUM(open) AS BIGINT), CAST(SUM(recent) AS BIGINT), CAST(COALESCE(MIN(at), 0) AS BIGINT) FROM (
	SELECT owner, 1 AS open, 0 AS recent, CAST(NULL AS BIGINT) AS at FROM runs WHERE owner = ? AND ` + openStates + `
	UNION ALL SELECT owner, 0, 1, created_at FROM runs WHERE owner = ? AND created_at > ? AND created_at <= ?) AS started GROUP BY owner`

// started is what an owner has started.
type started struct {
	open, recent int
	oldest       int64
}

// loadStarted reads what the owners of the Begins have started.
func (b *batch) loadStarted() error {
	if b.limits == (StartLimits{}) {
		return nil
	}
	b.started = make(map[string]*started)
	var rows [][]any
	b.begins(func(_ *writeResult, g *record.Begin) {
		owner := g.Run.Owner.ID
		if b.started[owner] != nil {
			return
		}
		b.started[owner] = new(started)
		now := g.Run.CreatedAt
		rows = append(rows, []any{owner, owner, micros(now.Add(-recently)), micros(now.Add(recently))})
	})
	return b.tx.query(b.ctx, selectStarted, rows, func(row scanner) error {
		var owner string
		var s started
		err := row.Scan(&owner, &s.open, &s.recent, &s.oldest)
		b.started[owner] = &s
		return err
	})
}

// mayStart refuses a run that exceeds a limit of its owner.
func (b *batch) mayStart(g *record.Begin) error {
	s := b.started[g.Run.Owner.ID]
	switch {
	case s == nil:
		return nil
	case b.limits.OpenRuns > 0 && s.open >= b.limits.OpenRuns:
		return record.ErrManyRuns()
	case b.limits.RunsPerMinute > 0 && s.recent >= b.limits.RunsPerMinute:
		return record.ErrManyRequests(recently - g.Run.CreatedAt.Sub(moment(s.oldest)))
	default:
		return nil
	}
}

// hasStarted counts a run of this batch.
func (b *batch) hasStarted(g *record.Begin) {
	if s := b.started[g.Run.Owner.ID]; s != nil {
		s.open++
		s.recent++
	}
}
