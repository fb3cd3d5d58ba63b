package services

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"github.com/chattray/chattray/schemas/record"
)

// Settings of the journal.
const (
	// DefaultFlush is how often the events of all runs are stored.
	DefaultFlush = 100 * time.Millisecond
	// DefaultHold is how long a write waits for a database that is away.
	DefaultHold = 30 * time.Second

	maxBatch   = 512
	commitWait = 20 * time.Second
	// gatherTurns bounds how often a commit lets others go first: one costs about
	// as much as ten writes.
	gatherTurns = 16
	minBackoff  = 20 * time.Millisecond
	maxBackoff  = time.Second
)

// journal brings the writes of all runs together: one goroutine commits what
// has come up while the last commit ran, in one transaction. With each write go
// the run's events that are not stored yet.
type journal struct {
	store   journalStore
	flush   time.Duration
	hold    time.Duration
	logs    *slog.Logger
	metrics Metrics
	// live returns the runs with events to store; it is asked every flush.
	live func() []*run

	mu    sync.Mutex
	queue []*entry
	wake  chan struct{}
	done  chan struct{}
}

// entry is a write under way.
type entry struct {
	write *record.Write
	run   *run // whose unstored events go along; nil for none
	hold  bool // wait for a database that is away
	since time.Time
	ready chan struct{}
	err   error
}

func newJournal(o RunsOptions, live func() []*run) *journal {
	return &journal{
		store: o.Store, flush: o.Flush, hold: o.Hold, logs: o.Logger, metrics: o.Metrics, live: live,
		wake: make(chan struct{}, 1), done: make(chan struct{}),
	}
}

// submit queues a write; writes of one run are committed in the order of their
// submission. With hold the write outlasts a database that is away for a while.
func (j *journal) submit(w *record.Write, r *run, hold bool) *entry {
	e := &entry{write: w, run: r, hold: hold, since: time.Now(), ready: make(chan struct{})}
	j.mu.Lock()
	j.queue = append(j.queue, e)
	j.mu.Unlock()
	select {
	case j.wake <- struct{}{}:
	default:
	}
	return e
}

// wait returns the outcome of the write.
func (e *entry) wait(ctx context.Context) error {
	select {
	case <-e.ready:
		return e.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// run commits until ctx ends and the queue is empty.
func (j *journal) run(ctx context.Context) {
	defer close(j.done)
	tick := time.NewTicker(j.flush)
	defer tick.Stop()
	for {
		select {
		case <-j.wake:
		case <-tick.C:
			j.flushLive()
		case <-ctx.Done():
			j.drain()
			return
		}
		j.drain()
	}
}

// drain commits until the queue is empty. A write that comes alone is committed
// at once; while several come at a time, more are gathered.
func (j *journal) drain() {
	for {
		j.gather()
		batch := j.take()
		if len(batch) == 0 {
			return
		}
		j.commit(batch)
	}
}

// gather lets those go first who are about to submit, until no more comes. It
// waits for nobody.
func (j *journal) gather() {
	for before, turns := -1, 0; turns < gatherTurns; turns++ {
		n := j.waiting()
		if n == before {
			return
		}
		before = n
		runtime.Gosched()
	}
}

func (j *journal) waiting() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.queue)
}

func (j *journal) take() []*entry {
	j.mu.Lock()
	defer j.mu.Unlock()
	n := min(len(j.queue), maxBatch)
	batch := j.queue[:n:n]
	j.queue = j.queue[n:]
	if len(j.queue) == 0 {
		j.queue = nil
	}
	return batch
}

// flushLive stores the events of the runs under way, in batches.
func (j *journal) flushLive() {
	var batch []*entry
	for _, r := range j.live() {
		batch = append(batch, &entry{write: &record.Write{RunID: r.id, Attempt: r.attempt}, run: r, ready: make(chan struct{})})
		if len(batch) == maxBatch {
			j.commit(batch)
			batch = nil
		}
	}
	if len(batch) > 0 {
		j.commit(batch)
	}
}

// commit applies a batch, again and again while the database is away and an
// entry wants to wait for it.
func (j *journal) commit(batch []*entry) {
	backoff := minBackoff
	for {
		through := j.addSegments(batch)
		err := j.try(batch)
		if err == nil {
			for i, e := range batch {
				if e.write.Err == nil && e.run != nil && through[i] > 0 {
					e.run.log.markStored(through[i])
				}
				e.finish(e.write.Err)
			}
			return
		}
		if !errors.Is(err, record.ErrUnavailable) {
			j.logs.Error("commit", "error", err, "writes", len(batch))
			for _, e := range batch {
				e.finish(err)
			}
			return
		}
		if batch = j.keepHeld(batch, err); len(batch) == 0 {
			return
		}
		j.logs.Warn("the database is away; writes are held", "writes", len(batch), "error", err)
		<-time.After(backoff)
		backoff = min(2*backoff, maxBackoff)
		batch = append(batch, j.take()...)
	}
}

// keepHeld ends the entries that wait no longer.
func (j *journal) keepHeld(batch []*entry, err error) []*entry {
	var held []*entry
	for _, e := range batch {
		if e.hold && time.Since(e.since) < j.hold {
			held = append(held, e)
			continue
		}
		e.finish(err)
	}
	return held
}

func (j *journal) try(batch []*entry) error {
	writes := make([]*record.Write, len(batch))
	for i, e := range batch {
		e.write.Err = nil
		writes[i] = e.write
	}
	ctx, cancel := context.WithTimeout(context.Background(), commitWait)
	defer cancel()
	began := time.Now()
	err := j.store.Commit(ctx, writes)
	j.metrics.StoreBatch(len(writes), time.Since(began))
	return err
}

// addSegments gives the first write of each run the run's unstored events, and
// returns for each write the last number of them (0 for none).
func (j *journal) addSegments(batch []*entry) []int64 {
	through := make([]int64, len(batch))
	var seen map[*run]bool
	if len(batch) > 1 {
		seen = make(map[*run]bool, len(batch))
	}
	for i, e := range batch {
		if e.run == nil || e.write.Finish != nil || seen[e.run] {
			continue
		}
		if seen != nil {
			seen[e.run] = true
		}
		e.write.Segment = nil
		if events := e.run.log.unstored(); len(events) > 0 {
			through[i] = events[len(events)-1].Seq
			e.write.Segment = &record.Segment{First: events[0].Seq, Last: through[i], Data: appendEvents(make([]byte, 0, packedSize(events)), events)}
		}
	}
	return through
}

func (e *entry) finish(err error) {
	e.err = err
	close(e.ready)
}
