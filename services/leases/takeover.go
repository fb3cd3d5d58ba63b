package leases

import (
	"context"
	"time"
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
