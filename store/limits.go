package store

import (
	"slices"
	"strings"
	"time"

	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/store/sqldb"
	"github.com/chattray/chattray/store/tables"
	"github.com/chattray/chattray/store/values"
)

// StartLimits bound what an owner may start while several processes share the
// database. They are checked in the transaction of the start: single starts at the same
// time in different processes may together exceed them by one for each other process. 0
// means no limit.
type StartLimits struct {
	OpenRuns, RunsPerMinute int
}

// recently is the time of RunsPerMinute. Times of runs come from the clocks of the
// processes; a run of a clock that is further ahead is not counted.
const recently = time.Minute

// selectStarted returns how many unfinished runs an owner has, and how many recent ones
// with the time of the oldest of them.
const selectStarted = `SELECT owner, CAST(SUM(open) AS BIGINT), CAST(SUM(recent) AS BIGINT), CAST(COALESCE(MIN(at), 0) AS BIGINT) FROM (
	SELECT owner, 1 AS open, 0 AS recent, CAST(NULL AS BIGINT) AS at FROM runs WHERE owner = ? AND ` + tables.OpenStates + `
	UNION ALL SELECT owner, 0, 1, created_at FROM runs WHERE owner = ? AND created_at > ? AND created_at <= ?) AS started GROUP BY owner`

// started is what an owner has started.
type started struct {
	open, recent int
	oldest       int64
}

// startLock distinguishes the locks of owners' starts from other locks.
const startLock = 0x63747273

// loadStarted reads what the owners of the Begins have started. Commits that begin several
// runs of an owner come one after the other in all processes, because each of two at the
// same time would begin as many as the limits allow.
func (b *batch) loadStarted() error {
	if b.limits == (StartLimits{}) {
		return nil
	}
	b.started = make(map[string]*started)
	asked := make(map[string]int)
	var rows, locks [][]any
	b.begins(func(_ *writeResult, g *record.Begin) {
		owner, now := g.Run.Owner.ID, g.Run.CreatedAt
		switch asked[owner]++; asked[owner] {
		case 1:
			b.started[owner] = new(started)
			rows = append(rows, []any{owner, owner, values.Micros(now.Add(-recently)), values.Micros(now.Add(recently))})
		case 2:
			locks = append(locks, []any{startLock, owner})
		}
	})
	// In this order two processes cannot wait for each other.
	slices.SortFunc(locks, func(x, y []any) int { return strings.Compare(x[1].(string), y[1].(string)) })
	if err := b.tx.Ask(b.ctx, tables.LockOwner, locks, func(sqldb.Scanner) error { return nil }); err != nil {
		return err
	}
	return b.tx.Ask(b.ctx, selectStarted, rows, func(row sqldb.Scanner) error {
		var owner string
		var s started
		err := row.Scan(&owner, &s.open, &s.recent, &s.oldest)
		b.started[owner] = &s
		return err
	})
}

// mayStart refuses a run that exceeds a limit of its owner once some of the owner's runs
// have ended.
func (b *batch) mayStart(g *record.Begin, ended int) error {
	s := b.started[g.Run.Owner.ID]
	switch {
	case s == nil:
		return nil
	case b.limits.OpenRuns > 0 && s.open-ended >= b.limits.OpenRuns:
		return record.ErrManyRuns()
	case b.limits.RunsPerMinute > 0 && s.recent >= b.limits.RunsPerMinute:
		return record.ErrManyRequests(recently - g.Run.CreatedAt.Sub(values.Moment(s.oldest)))
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
