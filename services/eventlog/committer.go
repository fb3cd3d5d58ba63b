package eventlog

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/seldom"
)

// Settings of the committer.
const (
	// defaultFlush is how often events are stored that are part of no write.
	defaultFlush = 100 * time.Millisecond
	// defaultHold is how long a write waits for a database that is not
	// available.
	defaultHold = 30 * time.Second
	// maxBatch bounds the writes of a commit, and maxBegins the runs that begin with it.
	// Their work comes before the next commit, and so before those that end.
	maxBatch, maxBegins = 512, 64
	// gatherTurns bounds how often a commit lets writers go first: a commit costs about
	// as much as ten writes.
	gatherTurns = 16
	// gatherEnough is the number of writes that are committed without gathering more:
	// on a busy machine each turn lets all other work go first.
	gatherEnough = 64
	minBackoff   = 20 * time.Millisecond
	maxBackoff   = time.Second
)

// Store stores what runs write. Commit applies every write in one transaction;
// a write that cannot be applied has its Err set and does not hold back the
// others. An error of Commit itself (record.ErrUnavailable in its tree when the
// database is not available) means that it is unknown which were applied: the same writes
// may be committed again. Tend does some of what can be done later; it is called when
// nothing waits to be committed.
type Store interface {
	Commit(ctx context.Context, writes []*record.Write) error
	Tend(ctx context.Context) error
}

// CommitterOptions configures a Committer. Store, Logger and Batch must be set; a
// Flush or Hold of 0 is its default.
type CommitterOptions struct {
	Store       Store
	Flush, Hold time.Duration
	// Prompt stores events with the next flush, however few they are, because others
	// read them from the store. Without it few wait up to maxWaits flushes.
	Prompt bool
	Logger *slog.Logger
	// Batch is called after each commit, with its error.
	Batch func(writes int, took time.Duration, err error)
}

// Committer commits the writes of all runs together: one goroutine commits, in
// one transaction, everything that was submitted during the last commit. A
// write includes the events of its log that are not stored yet. It is safe for
// concurrent use.
type Committer struct {
	CommitterOptions

	mu       sync.Mutex
	queue    []*Commit
	begins   []*Commit   // those that begin runs; they come after the others
	later    int         // number of writes in queue that are Later
	unstored []*unstored // see Watch
	wake     chan struct{}
	lines    seldom.Log // of what is tried again and again
	// These are of the goroutine that commits.
	stored time.Time // when a commit last succeeded
	away   bool      // the last line about it says that it is not available
}

// Commit is a write that is to be committed.
type Commit struct {
	Write *record.Write
	Log   *Log // log whose unstored events are included; nil for none
	Hold  bool // wait while the database is not available, at most as long as the committer's Hold
	// Later is true if nobody waits for the write: it is committed with the
	// next flush, or with an earlier write. Events that are appended after it
	// was submitted are not stored before it.
	Later bool
	// After is an earlier write without which this one is not committed; nil
	// means none.
	After   *Commit
	since   time.Time
	through place // after those of the log's events that it stores; zero for none
	ready   chan struct{}
	err     error
}

// NewCommitter returns a committer; nothing is committed before Run.
func NewCommitter(o CommitterOptions) *Committer {
	o.Flush, o.Hold = cmp.Or(o.Flush, defaultFlush), cmp.Or(o.Hold, defaultHold)
	return &Committer{CommitterOptions: o, wake: make(chan struct{}, 1)}
}

// Submit queues a write, and returns it; writes of one run are committed in the order
// in which they were submitted.
func (c *Committer) Submit(commit *Commit) *Commit {
	commit.since, commit.ready = time.Now(), make(chan struct{})
	c.mu.Lock()
	if commit.Write.Begin != nil {
		c.begins = append(c.begins, commit)
	} else {
		c.queue = append(c.queue, commit)
	}
	if commit.Later {
		c.later++
	}
	c.mu.Unlock()
	if !commit.Later {
		select {
		case c.wake <- struct{}{}:
		default:
		}
	}
	return commit
}

// Wait returns the outcome of the write.
func (c *Commit) Wait(ctx context.Context) error {
	select {
	case <-c.ready:
		return c.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Stored reports whether the write is on disk.
func (c *Commit) Stored() bool {
	select {
	case <-c.ready:
		return c.err == nil
	default:
		return false
	}
}

// Failed returns why the write is not on disk; nil while that is not known.
func (c *Commit) Failed() error {
	select {
	case <-c.ready:
		return c.err
	default:
		return nil
	}
}

// Run commits until ctx ends and the queue is empty.
func (c *Committer) Run(ctx context.Context) {
	tick := time.NewTicker(c.Flush)
	defer tick.Stop()
	for {
		select {
		case <-c.wake:
			c.drainWhile(c.awaited)
		case <-tick.C:
			c.flush()
			c.drain()
			c.tend(ctx)
		case <-ctx.Done():
			c.drain()
			return
		}
	}
}

// tend lets the store do what can be done later.
func (c *Committer) tend(ctx context.Context) {
	if c.awaited() {
		return
	}
	if err := c.Store.Tend(ctx); err != nil && ctx.Err() == nil {
		c.lines.Write(ctx, c.Logger, slog.LevelWarn, "could not tend the store", slog.Any("error", err))
	}
}

// drain commits until the queue is empty.
func (c *Committer) drain() {
	c.drainWhile(func() bool { return true })
}

// drainWhile commits while something is queued and more is true. A single write is
// committed at once; while several arrive at the same time, more are gathered.
func (c *Committer) drainWhile(more func() bool) {
	for more() {
		c.gather()
		batch := c.take(maxBegins)
		if len(batch) == 0 {
			return
		}
		c.commit(batch)
	}
}

// gather yields the processor so that writers about to submit can join this
// batch. It never blocks.
func (c *Committer) gather() {
	for before, turns := -1, 0; turns < gatherTurns; turns++ {
		n := c.waiting()
		if n == before || n >= gatherEnough {
			return
		}
		before = n
		runtime.Gosched()
	}
}

// awaited reports whether a queued write is not Later: the others wait for one that
// is not, or for the next flush.
func (c *Committer) awaited() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.queue)+len(c.begins) > c.later
}

func (c *Committer) waiting() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.queue) + len(c.begins)
}

// take removes the writes of a commit from the queues.
func (c *Committer) take(begins int) []*Commit {
	c.mu.Lock()
	defer c.mu.Unlock()
	batch := first(&c.queue, maxBatch)
	batch = append(batch, first(&c.begins, min(begins, maxBatch-len(batch)))...)
	c.countLater()
	return batch
}

// first removes the first n of a queue, or all.
func first(queue *[]*Commit, n int) []*Commit {
	n = min(n, len(*queue))
	taken := (*queue)[:n:n]
	if *queue = (*queue)[n:]; len(*queue) == 0 {
		*queue = nil
	}
	return taken
}

func (c *Committer) countLater() {
	c.later = 0
	for _, w := range c.queue {
		if w.Later {
			c.later++
		}
	}
}

// join adds to a batch the queued writes of its logs, and reports whether there
// were any: a Later write is stored with the events that follow it.
func (c *Committer) join(batch []*Commit) ([]*Commit, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.later == 0 {
		return batch, false
	}
	logs := make(map[*Log]bool, len(batch))
	for _, w := range batch {
		logs[w.Log] = w.Log != nil
	}
	n := len(batch)
	c.queue = slices.DeleteFunc(c.queue, func(w *Commit) bool {
		if logs[w.Log] {
			batch = append(batch, w)
		}
		return logs[w.Log]
	})
	c.countLater()
	return batch, len(batch) > n
}

// commit applies a batch, and repeats it while the database is not available
// and a write of it is held.
func (c *Committer) commit(batch []*Commit) {
	backoff := minBackoff
	for {
		if batch = c.ready(batch); len(batch) == 0 {
			return
		}
		err := c.try(batch)
		if err == nil {
			c.stored = time.Now()
			if c.away {
				c.away = false
				c.Logger.Info("the database is available again; writes are no longer held")
			}
			for _, w := range batch {
				if w.Write.Err == nil && w.Log != nil {
					w.Log.markStored(w.through)
				}
				w.finish(w.Write.Err)
			}
			return
		}
		if !errors.Is(err, record.ErrUnavailable) {
			c.Logger.Error("a commit failed", "error", err, "writes", len(batch))
			for _, w := range batch {
				w.finish(err)
			}
			return
		}
		// Nobody waits for a flush, so that nothing else would tell of it.
		if c.lines.Write(context.Background(), c.Logger, slog.LevelWarn, "the database is not available; writes are held or refused", slog.Int("writes", len(batch)), slog.Any("error", err)) {
			c.away = true
		}
		if batch = c.keepHeld(batch, err); len(batch) == 0 {
			return
		}
		<-time.After(backoff)
		backoff = min(2*backoff, maxBackoff)
		batch = append(batch, c.take(maxBatch)...)
	}
}

// ready completes a batch: it removes the writes that are not to be tried, and
// adds the events of its logs and the writes that must come before these.
func (c *Committer) ready(batch []*Commit) []*Commit {
	for more := true; more; {
		batch = c.dropLate(batch)
		addSegments(batch)
		batch, more = c.join(batch)
	}
	return batch
}

func (c *Committer) try(batch []*Commit) error {
	writes := make([]*record.Write, len(batch))
	end := time.Now().Add(writeWait)
	for i, w := range batch {
		w.Write.Err = nil
		writes[i] = w.Write
		if own, bounded := c.deadline(w); bounded && own.Before(end) {
			end = own
		}
	}
	ctx, cancel := context.WithDeadline(context.Background(), end)
	defer cancel()
	began := time.Now()
	err := c.Store.Commit(ctx, writes)
	c.Batch(len(writes), time.Since(began), err)
	return err
}

// addSegments gives the first write of each log the log's unstored events.
func addSegments(batch []*Commit) {
	var seen map[*Log]bool
	if len(batch) > 1 {
		seen = make(map[*Log]bool, len(batch))
	}
	for _, w := range batch {
		w.through = place{}
		if w.Log == nil || w.Write.Finish != nil || seen[w.Log] {
			continue
		}
		if seen != nil {
			seen[w.Log] = true
		}
		w.Write.Segment, w.through = w.Log.unstored()
	}
}

func (c *Commit) finish(err error) {
	c.err, c.After = err, nil // frees the earlier write
	close(c.ready)
}
