// Package readers owns the reading of runs: of those of this process from their logs, of
// ended ones from the store, and of those of other processes from mirrors, which are the
// same kind of log and are fed with what those processes store. A reader cannot tell one
// from the other, and continues when its run moves from process to process.
package readers

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/services/eventlog"
	"github.com/chattray/chattray/services/exchange"
	"github.com/chattray/chattray/services/meters"
)

// DefaultBytes bounds the bytes of all mirrors.
const DefaultBytes = 256 << 20

// Run is a run of this process, for its readers.
type Run struct {
	Owner  string // the user
	Log    *eventlog.Log
	Queued bool
	// Before is the number of the last event that earlier attempts have stored, 0 if it is
	// not known.
	Before int64
	// Came is called when a reader has come, and Left when it leaves: leave ends its
	// subscription to the log and returns the number of readers that remain.
	Came func()
	Left func(leave func() int)
}

// Runs reads stored runs. An unknown id is schemas.ErrNotFound.
type Runs interface {
	Run(ctx context.Context, id string) (record.Run, error)
}

// Options are what Readers reads from. All up to Replays must be set.
type Options struct {
	// Own returns a run of this process, nil for any other one.
	Own     func(id string) *Run
	Runs    Runs
	Answers Answers
	// Words returns the words in which the user is shown a tool's calls.
	Words   func(tool string, user schemas.User) turn.Words
	Replays *eventlog.Replays
	// Tail reads what other processes store; nil for a process that has the database to
	// itself.
	Tail Tail
	// Bus asks other processes for the events of their runs, so that they come at once;
	// nil for none.
	Bus *exchange.Exchange
	// Lease is how long the leases of the processes are valid.
	Lease time.Duration
	// Bytes bounds the bytes of all mirrors; 0 means DefaultBytes.
	Bytes int64
	// Keep is how long a log is shown after the end of its run; 0 is forever.
	Keep time.Duration
	// PerUser and All bound how many stored logs are read at once; 0 means no limit.
	PerUser, All int

	Metrics meters.Readers
	Logger  *slog.Logger
}

// Readers read runs. It is safe for concurrent use.
type Readers struct {
	Options
	mirrors *mirrors
	turns   *turns

	ends chan struct{} // closed when the readers of mirrors have to leave, until the time

	mu      sync.Mutex
	until   time.Time
	spread  bool // not all at once
	over    bool // no mirror is read any more
	reading int
	left    chan struct{} // receives a value when a reader leaves
}

// New returns Readers. Those of other processes' runs need Watch.
func New(o Options) *Readers {
	o.Bytes = cmp.Or(o.Bytes, DefaultBytes)
	if o.Metrics == nil {
		o.Metrics = meters.None{}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Readers{Options: o, mirrors: newMirrors(o), turns: newTurns(o.PerUser, o.All), ends: make(chan struct{}), left: make(chan struct{}, 1)}
}

// Follow returns the events of a user's run after the cursor: first the stored
// ones, then live ones as they happen, up to the terminal event. An empty batch
// means keep-alive: one after each idle period (0 sends none), and one at once
// if the run is queued or the reader has missed nothing.
//
// The sequence ends with runlog.ErrInterrupted if the run continues later: the reader
// comes back with its cursor. It ends with an error when ctx ends. A cursor at or
// after the terminal event gives runlog.ErrEnded. A cursor after the newest
// event of a running run gets the events after it, unless it is far ahead
// (runlog.Future): then it reads from the start. An ended run whose log is no longer
// kept is shown as one more attempt, which is its answer as one text.
//
// Readers of stored events take turns. A reader whose turn does not come within a
// few seconds gets an error of code too_many_streams, which may also end the
// sequence; it comes back with its cursor.
func (r *Readers) Follow(ctx context.Context, user schemas.User, id string, after int64, idle time.Duration) (iter.Seq2[[]runlog.Event, error], error) {
	f := &follower{Readers: r, user: user.ID, id: id, after: after, idle: idle}
	log, newest, stored, err := r.find(ctx, user, id)
	if err != nil {
		return nil, err
	}
	if log != nil {
		if last, over := log.Ended(); over && after >= last {
			return nil, runlog.ErrEnded
		}
		if after > newest && r.Tail != nil { // another process has shown more than is known here
			if stored, err = r.Runs.Run(ctx, id); err != nil {
				return nil, err
			}
			if stored.State.Terminal() && after >= stored.LastSeq {
				return nil, runlog.ErrEnded
			}
			newest = max(newest, before(stored))
		}
		f.ahead = runlog.Future(after, newest)
		return func(yield func([]runlog.Event, error) bool) {
			f.yield = yield
			r.readers(1)
			defer r.readers(-1)
			f.end(ctx, f.follow(ctx))
		}, nil
	}
	if stored.State.Terminal() && after >= stored.LastSeq {
		return nil, runlog.ErrEnded
	}
	done, err := r.turns.take(ctx, user.ID)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, done) // even if nobody ranges over the events
	return func(yield func([]runlog.Event, error) bool) {
		defer stop()
		defer done()
		f.yield = yield
		f.end(ctx, f.replay(ctx, &stored))
	}, nil
}

// find returns the log of a user's run, of this process or a mirror, with the number of
// its newest event, and nil with the stored run if it can only be read from the store.
func (r *Readers) find(ctx context.Context, user schemas.User, id string) (log *eventlog.Log, newest int64, stored record.Run, err error) {
	for {
		if run := r.Own(id); run != nil && (r.Tail == nil || !run.Log.Given()) {
			if run.Owner != user.ID {
				err = schemas.ErrNotFound
			}
			return run.Log, run.Log.Last(), stored, err
		}
		if stored, err = r.Runs.Run(ctx, id); err == nil && stored.Owner.ID != user.ID {
			err = schemas.ErrNotFound
		}
		if err != nil || stored.State.Terminal() || r.Tail == nil {
			return nil, 0, stored, err
		}
		if r.closed() != nil {
			return nil, 0, stored, nil
		}
		m, err := r.mirrors.open(ctx, stored)
		if errors.Is(err, runlog.ErrInterrupted) { // the mirrors were stopped in the meantime
			return nil, 0, stored, nil
		}
		if err != nil {
			return nil, 0, stored, err
		}
		if m != nil {
			defer r.mirrors.leave(m)
			return m.current().Log, max(m.current().Last(), before(stored)), stored, nil
		}
	}
}

// before returns the number before the first event of the attempt at which a run is.
func before(stored record.Run) int64 { return int64(max(stored.Attempt-1, 0)) * runlog.AttemptSpan }

// Last returns the number of the newest event of an unfinished run, as far as this
// process can know it. It may have been read a moment ago.
func (r *Readers) Last(ctx context.Context, stored record.Run) int64 {
	if run := r.Own(stored.ID); run != nil {
		return max(run.Log.Last(), before(stored))
	}
	if r.Tail == nil || r.closed() != nil {
		return 0
	}
	m, err := r.mirrors.open(ctx, stored)
	if err != nil || m == nil {
		return 0
	}
	defer r.mirrors.leave(m)
	return max(m.current().Last(), before(stored))
}

// Came tells the readers of a run elsewhere that it is this process's now.
func (r *Readers) Came(id string) { r.mirrors.came(id) }

// Watch feeds the mirrors until ctx ends.
func (r *Readers) Watch(ctx context.Context) {
	if r.Tail != nil {
		r.mirrors.watch(ctx)
	}
}

// End makes the readers of other processes' runs leave, each at a random instant within
// the time, and waits until all readers have left, at most for that time and until ctx
// ends. The readers of own runs leave as their logs are closed. Only the first call has an
// effect.
func (r *Readers) End(ctx context.Context, within time.Duration) {
	r.mu.Lock()
	first := r.until.IsZero()
	if first {
		r.until, r.spread = time.Now().Add(within), within > 0
		close(r.ends)
	}
	r.mu.Unlock()
	if !first || r.Tail == nil {
		return
	}
	late := time.NewTimer(within)
	defer late.Stop()
	for waiting := within > 0; waiting && r.readers(0) > 0; {
		select {
		case <-r.left:
		case <-late.C:
			waiting = false
		case <-ctx.Done():
			waiting = false
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
}

// readers adds change to the number of readers and returns it.
func (r *Readers) readers(change int) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.reading += change; change < 0 {
		select {
		case r.left <- struct{}{}:
		default:
		}
	}
	return r.reading
}

// leaveAfter returns when a reader that has to leave does so.
func (r *Readers) leaveAfter() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return random(0, time.Until(r.until))
}

// closed returns why no mirror can be read any more, nil if they can.
func (r *Readers) closed() error {
	r.mu.Lock()
	over := r.over
	r.mu.Unlock()
	if over {
		return r.leaving()
	}
	return nil
}

// leaving is why a reader has to leave.
func (r *Readers) leaving() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.spread {
		return runlog.ErrInterrupted
	}
	return &runlog.Interrupted{Retry: random(retryMin, retryMax)}
}

// How long readers wait before they come back, if many have to at once.
const retryMin, retryMax = 500 * time.Millisecond, 3 * time.Second

// random returns a time between the two.
func random(from, to time.Duration) time.Duration {
	if to <= from {
		return from
	}
	return from + rand.N(to-from) //nolint:gosec // it guards nothing
}

// errFull refuses a reader of another process's run while the mirrors take too much.
var errFull = &schemas.Error{Code: schemas.CodeTooManyStreams, Message: "too many answers are being followed here; try again in a moment", RetryAfter: 2}
