// Package admin reads what an operator sees of all users: the runs, what one run did
// over time, totals, and the processes that serve. It changes nothing, and it does not
// decide who may see it.
package admin

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/services/eventlog"
	"github.com/chattray/chattray/services/trace"
)

// Limits of what is shown.
const (
	defaultDays = 30
	maxDays     = 366
	defaultTop  = 10
	// maxSpans bounds the spans of a timeline, maxRead the events that are read for one.
	maxSpans = 2000
	maxRead  = 1_000_000
	// maxEvents and maxEventBytes bound one answer with events.
	maxEvents     = 500
	maxEventBytes = 1 << 20
	// logCache is how many bytes of stored logs are in memory.
	logCache = 16 << 20
)

// Store reads the runs of all users. An unknown id is schemas.ErrNotFound.
type Store interface {
	AdminRuns(ctx context.Context, q record.AdminRunQuery) (schemas.AdminRunList, error)
	// AdminRun returns a run with its attempts, in order.
	AdminRun(ctx context.Context, id string) (schemas.AdminRun, []schemas.AdminAttempt, error)
	AdminStats(ctx context.Context, q record.AdminStatsQuery) (schemas.AdminStats, error)
	OpenRuns(ctx context.Context) (int64, error)
}

// Logs reads what runs have left.
type Logs interface {
	// NextSegment returns the first stored segment with events after a number; its Last is
	// 0 if there is none.
	NextSegment(ctx context.Context, run string, after int64) (record.Segment, error)
	ToolCalls(ctx context.Context, run string) ([]record.ToolCall, error)
	// Trace is schemas.ErrNotFound for a run without one.
	Trace(ctx context.Context, run string) (json.RawMessage, error)
}

// Replicas lists the processes that serve the database.
type Replicas interface {
	List(ctx context.Context) ([]schemas.AdminReplica, error)
}

// Options are what Admin reads from. Replicas is nil for a database that one process
// serves; the others must be set.
type Options struct {
	Store    Store
	Logs     Logs
	Replicas Replicas
	// Self returns the id of this process.
	Self func() string
	// Servers returns the state of the MCP servers.
	Servers func() []schemas.AdminMCPServer
	Now     func() time.Time
}

// Admin is safe for concurrent use.
type Admin struct {
	Options
	replays *eventlog.Replays
}

// errEnough ends the reading of a log.
var errEnough = errors.New("no further event is needed")

// New returns an Admin of the options.
func New(o Options) *Admin {
	return &Admin{o, eventlog.NewReplays(eventlog.ReplayOptions{Load: o.Logs.NextSegment, Cache: logCache})}
}

// Runs returns a page of the runs of all users. A state that does not exist, and times
// that make no range, are errors of code invalid.
func (a *Admin) Runs(ctx context.Context, q record.AdminRunQuery) (schemas.AdminRunList, error) {
	switch schemas.RunState(q.State) {
	case "", schemas.RunQueued, schemas.RunRunning, schemas.RunWaiting, schemas.RunCompleted, schemas.RunFailed, schemas.RunCancelled:
	default:
		return schemas.AdminRunList{}, schemas.NewError(schemas.CodeInvalid, "state is not the state of a run")
	}
	if !q.From.IsZero() && !q.To.IsZero() && !q.From.Before(q.To) {
		return schemas.AdminRunList{}, errDays
	}
	return a.Store.AdminRuns(ctx, q)
}

var errDays = schemas.NewError(schemas.CodeInvalid, "from is after to")

// Stats returns the totals of the days from first to last. A zero day is the default; the
// number of entries of a table is top, or the default for 0.
func (a *Admin) Stats(ctx context.Context, first, last time.Time, top int) (schemas.AdminStats, error) {
	if last.IsZero() {
		last = a.Now()
	}
	last = last.UTC().Truncate(24 * time.Hour)
	if first.IsZero() {
		first = last.AddDate(0, 0, 1-defaultDays)
	}
	first = first.UTC().Truncate(24 * time.Hour)
	switch {
	case first.After(last):
		return schemas.AdminStats{}, errDays
	case last.Sub(first) >= maxDays*24*time.Hour:
		return schemas.AdminStats{}, schemas.NewError(schemas.CodeInvalid, "from and to are more than a year apart")
	}
	return a.Store.AdminStats(ctx, record.AdminStatsQuery{
		From: first.Format(time.DateOnly), To: last.Format(time.DateOnly), Top: cmp.Or(top, defaultTop),
	})
}

// Processes returns the processes that serve the database, the newest first.
func (a *Admin) Processes(ctx context.Context) ([]schemas.AdminReplica, error) {
	self := a.Self()
	if a.Replicas == nil {
		open, err := a.Store.OpenRuns(ctx)
		return []schemas.AdminReplica{{ID: self, Live: true, OpenRuns: open, This: true}}, err
	}
	list, err := a.Replicas.List(ctx)
	for i := range list {
		list[i].This = list[i].ID == self
	}
	return list, err
}

// MCPServers returns the state of the configured MCP servers.
func (a *Admin) MCPServers() []schemas.AdminMCPServer { return a.Servers() }

// Diagnostics returns the trace of an ended run.
func (a *Admin) Diagnostics(ctx context.Context, id string) (schemas.Diagnostics, error) {
	d, err := a.trace(ctx, id)
	return trace.Expand(d), err
}

func (a *Admin) trace(ctx context.Context, id string) (d schemas.Diagnostics, err error) {
	raw, err := a.Logs.Trace(ctx, id)
	if err == nil {
		err = json.Unmarshal(raw, &d)
	}
	return d, err
}

// Events returns the events of a run's log after a number, at most limit; next is the
// number to continue after, 0 at the end of what is stored.
func (a *Admin) Events(ctx context.Context, id string, after int64, limit int) (events []runlog.Event, next int64, err error) {
	if _, _, err := a.Store.AdminRun(ctx, id); err != nil {
		return nil, 0, err
	}
	limit, size := min(limit, maxEvents), 0
	err = a.read(ctx, id, after, func(e *runlog.Event) bool {
		if len(events) == limit || size > 0 && size+e.Size() > maxEventBytes {
			next = events[len(events)-1].Seq
			return false
		}
		size += e.Size()
		events = append(events, *e)
		return true
	})
	return events, next, err
}

// read calls take for each stored event after a number until it returns false.
func (a *Admin) read(ctx context.Context, id string, after int64, take func(*runlog.Event) bool) error {
	_, err := a.replays.Read(ctx, id, after, 0, func(events []runlog.Event) error {
		for i := range events {
			if !take(&events[i]) {
				return errEnough
			}
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// Timeline returns what a run did, as far as it is stored.
func (a *Admin) Timeline(ctx context.Context, id string) (schemas.AdminTimeline, error) {
	run, attempts, err := a.Store.AdminRun(ctx, id)
	if err != nil {
		return schemas.AdminTimeline{}, err
	}
	t := newTimeline(run, attempts)
	read := 0
	err = a.read(ctx, id, 0, func(e *runlog.Event) bool {
		t.add(e)
		read++
		t.Truncated = t.Truncated || read == maxRead
		return !t.Truncated
	})
	if err != nil {
		return schemas.AdminTimeline{}, err
	}
	if read == 0 && run.State.Terminal() {
		calls, err := a.Logs.ToolCalls(ctx, id)
		if err != nil {
			return schemas.AdminTimeline{}, err
		}
		t.dropped(calls)
	}
	if d, err := a.trace(ctx, id); err == nil {
		t.trace(&d)
	} else if !errors.Is(err, schemas.ErrNotFound) {
		return schemas.AdminTimeline{}, err
	}
	return t.ended(), nil
}
