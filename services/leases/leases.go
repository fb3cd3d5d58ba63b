// Package leases knows which runs this process may work on. Several processes,
// the replicas, may serve one database. Each has a lease there, which it
// renews; its runs are its own until its lease has expired and another replica
// has taken them. A live replica that was marked as gone, because it was
// suspended or cut off from the database, finds that out here: it stops its
// runs and joins again with a new id.
package leases

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/chattray/chattray/schemas/concurrent"
	"github.com/chattray/chattray/schemas/record"
)

const (
	// defaultTime is how long a lease is valid.
	defaultTime = 3 * time.Second
	// renewals and looks are how often, within the time of a lease, it is
	// renewed and the leases of others are checked.
	renewals, looks = 3, 12
	// mostPatience bounds, in times of a lease, how long a renewal waits for its answer
	// after others had none or came late: one that is given up costs its connection, and where
	// that takes longer than the wait, as on a machine that is too busy, none would ever end.
	mostPatience = 4
	// joins is how often a start tries to join while the database is not available: it was
	// there a moment before, when the store was opened.
	joins = 5
	// margin is the part of a lease in which it no longer counts for its owner, so that
	// it has stopped before others begin.
	margin = 6
	// leaveTime bounds the call of Leave.
	leaveTime = 2 * time.Second
)

// Table is the table of the replicas. Its times come from the database.
type Table interface {
	// Join adds a replica, or returns those that are in its way.
	Join(ctx context.Context, me record.Replica, lease time.Duration) (inTheWay []record.Replica, err error)
	// Renew returns how many replicas have a valid lease; 0 means that this one has been
	// marked as gone.
	Renew(ctx context.Context, id string, lease time.Duration) (live int, err error)
	// Drain says that the replica is about to leave, and returns whether there is
	// another one that is not.
	Drain(ctx context.Context, id string) (others bool, err error)
	Leave(ctx context.Context, id string) error
	// Served reports to a replica that is gone whether another one has a valid lease; the
	// error is also that none can renew its lease.
	Served(ctx context.Context, id string) (bool, error)
}

// Takeover finds replicas that are gone and what they have left.
type Takeover interface {
	// Expired returns the replicas whose lease has expired. MarkGone marks those as gone
	// whose lease is still expired, and returns them.
	Expired(ctx context.Context) ([]string, error)
	MarkGone(ctx context.Context, expired []string) ([]string, error)
	// Unfinished returns the replicas that are gone and have left runs or data; ""
	// is for runs without an owner.
	Unfinished(ctx context.Context) ([]string, error)
	// LetGo leaves runs of the replica without an owner.
	LetGo(ctx context.Context, id string, runs []string) error
	// ExpiredFor returns how long ago the first of the replicas' leases has expired; less
	// than 0 if that is still to come.
	ExpiredFor(ctx context.Context, replicas []string) (time.Duration, error)
}

// Options configure a process as a replica. The zero value is a process that
// has its database to itself.
type Options struct {
	// Table and Takeover are nil for a database that one process serves.
	Table    Table
	Takeover Takeover
	// Many is true if the process is one of several. Otherwise it takes over
	// from an earlier process, and continues while the database is not
	// available.
	Many bool
	// Name is for logs. Time is how long a lease is valid; 0 means 3 s.
	Name    string
	Time    time.Duration
	Metrics Metrics // nil counts nothing
	Logger  *slog.Logger
}

// Leases is the process's membership. It is safe for concurrent use.
type Leases struct {
	Options
	//nolint:containedctx // the parent of all leases, which live as long as the process
	base context.Context

	mu      sync.Mutex
	current *Lease
	joined  bool

	live atomic.Int64  // replicas at the last renewal
	now  chan struct{} // see LookNow

	deserted      chan struct{} // see Deserted
	desertedSince time.Time     // for Renew alone
}

// Live returns how many replicas serve the database, at least 1.
func (l *Leases) Live() int { return max(1, int(l.live.Load())) }

// New returns the membership of a process that has not joined yet. Leases end with
// base.
func New(base context.Context, o Options) *Leases {
	o.Time = cmp.Or(o.Time, defaultTime)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Metrics == nil {
		o.Metrics = none{}
	}
	l := &Leases{Options: o, base: base, now: make(chan struct{}, 1), deserted: make(chan struct{})}
	l.current = l.lease()
	return l
}

// lease makes a lease under a new id.
func (l *Leases) lease() *Lease {
	id, err := uuid.NewV7()
	if err != nil {
		panic(err) // the system has no random numbers
	}
	made := &Lease{ID: id.String(), good: l.Time - l.Time/margin, guarded: l.Many, renewed: make(chan struct{})}
	ctx, lose := context.WithCancelCause(l.base)
	made.ctx, made.lose = context.WithValue(ctx, leaseKey{}, made), lose
	return made
}

// Current returns the lease to which new runs belong. It may already be lost.
func (l *Leases) Current() *Lease {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.current
}

// Join makes the process a replica. It waits for the leases of conflicting
// processes to expire; the error names those that have renewed their leases
// meanwhile.
func (l *Leases) Join(ctx context.Context) error {
	if l.Table == nil {
		return nil
	}
	lease := l.Current()
	var first map[string]time.Time
	for failed := 0; ; {
		sent := time.Now()
		others, err := l.Table.Join(ctx, record.Replica{ID: lease.ID, Name: l.Name, Alone: !l.Many}, l.Time)
		if err != nil {
			if failed++; failed == joins || !errors.Is(err, record.ErrUnavailable) || concurrent.Pause(ctx, l.Time/looks) != nil {
				return fmt.Errorf("join the replicas: %w", err)
			}
			continue
		}
		if len(others) == 0 {
			lease.renew(sent)
			l.mu.Lock()
			l.joined = true
			l.mu.Unlock()
			l.Logger.Info("joined the replicas", "replica", lease.ID, "name", l.Name, "alone", !l.Many)
			return nil
		}
		if first == nil {
			first = make(map[string]time.Time, len(others))
			for _, other := range others {
				first[other.ID] = other.Until
			}
			l.Logger.Warn("other processes serve the database; waiting for their end", "replicas", names(others))
		}
		others = slices.DeleteFunc(others, func(other record.Replica) bool { return other.Until.Equal(first[other.ID]) })
		if len(others) > 0 && l.Many {
			return fmt.Errorf("%s serves the database alone (setting replicas: one); stop it first", names(others))
		} else if len(others) > 0 {
			return fmt.Errorf("%s serve the database together (setting replicas: many); stop them first, or set replicas to many here too", names(others))
		}
		if err := concurrent.Pause(ctx, l.Time/looks); err != nil {
			return err
		}
	}
}

func names(list []record.Replica) string {
	all := make([]string, len(list))
	for i, r := range list {
		all[i] = r.Name + " (" + r.ID + ")"
	}
	return strings.Join(all, ", ")
}

// Renew renews the lease until ctx ends. If the replica was marked as gone, the
// lease is lost, the contexts of all its runs end, and then lost is called. One
// of several replicas joins again.
func (l *Leases) Renew(ctx context.Context, lost func(*Lease)) {
	if l.Table == nil {
		return
	}
	first := l.Time / renewals
	wait, patience, failing, gone := first, first, false, false
	for concurrent.Pause(ctx, wait) == nil {
		sent := time.Now()
		err := l.renew(ctx, patience, lost)
		took := time.Since(sent)
		switch {
		case err == nil:
			if failing && !l.Current().Lost() {
				l.Logger.Info("the lease is renewed again", "replica", l.Current().ID)
			}
			// Where answers take long, the next one does too.
			wait, patience = first-took, min(max(first, 2*took), mostPatience*l.Time)
		case ctx.Err() != nil:
			return
		default:
			if now := l.Current(); !failing || now.Lost() != gone {
				gone = now.Lost()
				l.Logger.Warn("the lease could not be renewed", "replica", now.ID, "gone", gone, "error", err)
			}
			if took >= patience {
				patience = min(2*patience, mostPatience*l.Time)
			}
			wait = l.Time / looks // one that had no answer must not cost the lease
		}
		failing = err != nil
	}
}

// renew renews the lease, or joins again for one that is lost. It waits for the database
// as long as patience says.
func (l *Leases) renew(ctx context.Context, patience time.Duration, lost func(*Lease)) error {
	lease, sent := l.Current(), time.Now()
	if lease.Lost() {
		return l.joinAgain(ctx, patience)
	}
	live, err := within(ctx, patience, func(ctx context.Context) (int, error) { return l.Table.Renew(ctx, lease.ID, l.Time) })
	switch {
	case err != nil:
		lease.fail()
		return err
	case live > 0:
		lease.renew(sent)
		l.live.Store(int64(live))
		return nil
	}
	line := "this replica was marked as gone; other replicas continue its runs"
	if !l.Many {
		line = "a later process serves the database; this one refuses all questions and can be stopped"
	}
	l.Logger.Error(line, "replica", lease.ID)
	lease.lose(record.ErrFenced)
	lost(lease)
	return l.joinAgain(ctx, patience)
}

// joinAgain gets a new lease for one of several replicas. A process that was alone has been
// replaced.
func (l *Leases) joinAgain(ctx context.Context, patience time.Duration) error {
	if !l.Many {
		return l.checkSuccessor(ctx, patience)
	}
	if ctx.Err() != nil {
		return nil
	}
	lease, sent := l.lease(), time.Now()
	others, err := within(ctx, patience, func(ctx context.Context) ([]record.Replica, error) {
		return l.Table.Join(ctx, record.Replica{ID: lease.ID, Name: l.Name}, l.Time)
	})
	if err == nil && len(others) > 0 {
		err = fmt.Errorf("%s serves the database alone (setting replicas: one)", names(others))
	}
	if err != nil {
		lease.lose(record.ErrFenced)
		return fmt.Errorf("join the replicas again: %w", err)
	}
	lease.renew(sent)
	l.mu.Lock()
	l.current = lease
	l.mu.Unlock()
	l.Logger.Info("joined the replicas", "replica", lease.ID, "name", l.Name, "alone", false)
	return nil
}

// within calls do with a context that ends after the time.
func within[T any](ctx context.Context, d time.Duration, do func(ctx context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	return do(ctx)
}

// Look checks until ctx ends for replicas whose lease has expired, and calls
// take with those that are gone and have left runs or data, and with "" alone for runs
// that were let go. Only one of several replicas does so.
func (l *Leases) Look(ctx context.Context, take func(ctx context.Context, from []string) error) {
	if !l.Many {
		return
	}
	tick := time.NewTicker(l.Time / looks)
	defer tick.Stop()
	for failing := false; ; {
		select {
		case <-tick.C:
		case <-l.now:
		case <-ctx.Done():
			return
		}
		unfinished, err := l.look(ctx)
		dead := slices.DeleteFunc(slices.Clone(unfinished), func(id string) bool { return id == "" })
		if len(dead) > 0 && !l.Current().Lost() {
			err = errors.Join(err, take(ctx, dead))
		}
		if len(dead) < len(unfinished) && !l.Current().Lost() {
			err = errors.Join(err, take(ctx, []string{""}))
		}
		if err != nil && ctx.Err() == nil && !failing {
			l.Logger.Warn("could not take the runs of replicas that are gone", "error", err)
		}
		failing = err != nil
	}
}

// LookNow makes Look look at once, because a replica has let runs go.
func (l *Leases) LookNow() {
	select {
	case l.now <- struct{}{}:
	default:
	}
}

// look marks replicas as gone whose lease has expired, and returns Unfinished. Only
// a replica whose own renewals have been in time for a whole lease may do so:
// after an outage of the database all may renew first.
func (l *Leases) look(ctx context.Context) ([]string, error) {
	expired, err := l.Takeover.Expired(ctx)
	if err != nil {
		return nil, err
	}
	if me := l.Current(); len(expired) > 0 && me.steady(l.Time) {
		gone, err := l.Takeover.MarkGone(ctx, expired)
		if err != nil {
			return nil, err
		}
		if len(gone) > 0 {
			l.Logger.Warn("replicas are gone: their leases have expired", "replicas", gone, "found_by", me.ID)
		}
	}
	return l.Takeover.Unfinished(ctx)
}

// HandOver says that the process is about to leave, and reports whether another
// replica can continue its runs.
func (l *Leases) HandOver(ctx context.Context) bool {
	lease := l.Current()
	if !l.Many || lease.Lost() {
		return false
	}
	others, err := within(context.WithoutCancel(ctx), leaveTime, func(ctx context.Context) (bool, error) { return l.Table.Drain(ctx, lease.ID) })
	if err != nil {
		l.Logger.Warn("could not look for a replica to hand runs over to", "error", err)
	}
	return others
}

// LetGo leaves runs of the lease without an owner: any replica may take them.
func (l *Leases) LetGo(ctx context.Context, lease *Lease, runs []string) error {
	return l.Takeover.LetGo(ctx, lease.ID, runs)
}

// Leave tells the others that the process no longer works on anything, so that
// they need not wait for its lease to expire.
func (l *Leases) Leave() {
	l.mu.Lock()
	joined, lease := l.joined, l.current
	l.mu.Unlock()
	if !joined || lease.Lost() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), leaveTime)
	defer cancel()
	if err := l.Table.Leave(ctx, lease.ID); err != nil && !errors.Is(err, context.Canceled) {
		l.Logger.Warn("could not leave the replicas; the others wait for the end of the lease", "error", err)
	}
}
