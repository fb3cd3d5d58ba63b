package leases

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/chattray/chattray/schemas/concurrent"
)

// Metrics is told about runs that pass from one replica to another.
type Metrics interface {
	// RunsTaken counts runs that this process has taken: why is dead if their replica was
	// gone, let_go if it has handed them over.
	RunsTaken(why string, n int)
	// TookOver records the time from the last renewal of a replica that is gone to the
	// first event of its run here.
	TookOver(took time.Duration)
	// Fenced counts runs that this process has lost while it worked on them.
	Fenced()
}

type none struct{}

func (none) RunsTaken(string, int)  {}
func (none) TookOver(time.Duration) {}
func (none) Fenced()                {}

// Why a replica's runs were taken: it is gone, or it has let them go.
const whyDead, whyLetGo = "dead", "let_go"

// Spread waits for a short random time, so that replicas that take runs at the
// same time share them.
func (l *Leases) Spread(ctx context.Context) error {
	if !l.Many {
		return nil
	}
	return concurrent.Pause(ctx, rand.N(spread)) //nolint:gosec // it guards nothing
}

// spread is the longest wait of Spread.
const spread = 50 * time.Millisecond

// Took records that runs of the replicas were taken, nil for all others, of which nothing
// is recorded. The caller calls began for each that continues with its first event.
func (l *Leases) Took(ctx context.Context, from []string, runs int) (began func()) {
	began = func() {}
	switch {
	case len(from) == 0 || runs == 0:
	case from[0] == "":
		l.Metrics.RunsTaken(whyLetGo, runs)
	default:
		l.Metrics.RunsTaken(whyDead, runs)
		expired, err := l.Takeover.ExpiredFor(ctx, from)
		if err != nil {
			l.Logger.Debug("the time of a takeover is not known", "error", err)
			return began
		}
		at := time.Now()
		began = func() { l.Metrics.TookOver(l.Time + expired + time.Since(at)) }
	}
	return began
}

// Fenced records that a run of this process was lost to another while it was worked on.
func (l *Leases) Fenced() { l.Metrics.Fenced() }

// Left returns how long the lease is still valid, 0 if it has expired.
func (l *Leases) Left() time.Duration {
	lease := l.Current()
	if lease.Lost() {
		return 0
	}
	lease.mu.Lock()
	defer lease.mu.Unlock()
	return max(0, l.Time-time.Since(lease.sent))
}

// desertion is how long, in times of a lease, a process that was replaced finds no other one
// before Deserted says so.
const desertion = 5

// Deserted returns a channel that is closed when a process that was alone has been replaced
// and no other one serves the database any longer: the later one has ended, or an older state
// of the database was restored, which does not have this process.
func (l *Leases) Deserted() <-chan struct{} { return l.deserted }

// checkSuccessor checks that a process serves the database in place of this one.
func (l *Leases) checkSuccessor(ctx context.Context, patience time.Duration) error {
	served, err := within(ctx, patience, func(ctx context.Context) (bool, error) { return l.Table.Served(ctx, l.Current().ID) })
	switch since := l.desertedSince; {
	case served || err != nil:
		l.desertedSince = time.Time{}
	case since.IsZero():
		l.desertedSince = time.Now()
	case time.Since(since) >= desertion*l.Time:
		select {
		case <-l.deserted:
		default:
			close(l.deserted)
		}
	}
	return err
}
