package acts

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/chattray/chattray/services/exchange"
)

// readLasts is how long it counts that a run has a reader at a replica, which says so
// again and again. It is shorter than the grace in which a reader may come back.
const readLasts = 3 * time.Second

// Reading knows which runs are read at which replica.
type Reading interface {
	// Read records that runs have readers at the replica, for that time.
	Read(ctx context.Context, runs []string, replica string, lasts time.Duration) error
	// ReadElsewhere reports whether a run has readers at another replica.
	ReadElsewhere(ctx context.Context, run, replica string) (bool, error)
}

// readers are the readers here of runs of other replicas that end with their last
// reader. It is safe for concurrent use.
type readers struct {
	mu   sync.Mutex
	open map[string]int
}

// add counts a reader by change, and returns how many the run has.
func (r *readers) add(run string, change int) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open == nil {
		r.open = make(map[string]int)
	}
	if r.open[run] += change; r.open[run] == 0 {
		delete(r.open, run)
		return 0
	}
	return r.open[run]
}

func (r *readers) runs() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Keys(r.open))
}

// Reads tells the run's replica that the run has a reader here, until done is called.
func (a *Acts) Reads(ctx context.Context, run string) (done func()) {
	if a.readers.add(run, 1) == 1 {
		if err := a.tellRead(ctx, run); err != nil {
			a.logger.Warn("tell that a run has a reader here", "run_id", run, "error", err)
		}
	}
	return func() {
		if a.readers.add(run, -1) == 0 {
			a.unread(run)
		}
	}
}

// unread tells the run's replica that the run has no reader here any more. If that fails
// it finds out a few seconds later.
func (a *Acts) unread(run string) {
	ctx, cancel := context.WithTimeout(context.Background(), readLasts)
	defer cancel()
	if err := a.tellRead(ctx, run); err != nil {
		a.logger.Warn("tell that a run has no reader here", "run_id", run, "error", err)
	}
	a.tell.Tell(exchange.Look, run)
}

// tellRead records whether a run has a reader here now. One record of a run comes after the
// other: else that of a reader who has left might replace that of one who has just come.
func (a *Acts) tellRead(ctx context.Context, run string) error {
	unlock, err := a.telling.Lock(ctx, run)
	if err != nil {
		return err
	}
	defer unlock()
	lasts := readLasts
	if a.readers.add(run, 0) == 0 {
		lasts = 0
	}
	return a.store.Reading.Read(ctx, []string{run}, a.here.Replica(), lasts)
}

// tellReads says again which runs are read here.
func (a *Acts) tellReads(ctx context.Context) error {
	runs := a.readers.runs()
	if len(runs) == 0 {
		return nil
	}
	return a.store.Reading.Read(ctx, runs, a.here.Replica(), readLasts)
}

// ReadElsewhere reports whether a run of this process has a reader at another replica. It
// is false for a process without others.
func (a *Acts) ReadElsewhere(ctx context.Context, run string) (bool, error) {
	if a == nil {
		return false, nil
	}
	return a.store.Reading.ReadElsewhere(ctx, run, a.here.Replica())
}
