package leases

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/chattray/chattray/schemas/record"
)

// Lease is one membership of the process, with an id of its own. A run belongs
// to one lease.
type Lease struct {
	ID string

	//nolint:containedctx // the parent of the contexts of its runs
	ctx  context.Context
	lose context.CancelCauseFunc
	// good is how long the lease is valid after a renewal was sent; guarded is
	// true if nothing may be done after that.
	good    time.Duration
	guarded bool

	mu          sync.Mutex
	sent        time.Time     // when the last successful renewal was sent
	steadySince time.Time     // the time since which all renewals have been in time
	renewed     chan struct{} // closed at the next renewal
}

type leaseKey struct{}

// Context is the parent of the contexts of the lease's runs. It ends with
// record.ErrFenced when the lease is lost.
func (l *Lease) Context() context.Context { return l.ctx }

// Lost reports whether the replica was marked as gone: the runs are no longer
// its own.
func (l *Lease) Lost() bool { return errors.Is(context.Cause(l.ctx), record.ErrFenced) }

// Hold returns nil if the work of the context may be done now, or the reason
// why not: the context has ended, or its run no longer belongs to this process.
// Call it directly before calling a tool, an action or a model. While it is not
// known whether the lease is still valid, Hold waits for the next renewal.
func Hold(ctx context.Context) error {
	l, of := ctx.Value(leaseKey{}).(*Lease)
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if !of {
			return nil
		}
		if l.Lost() {
			return record.ErrFenced
		}
		held, renewed := l.held()
		if held {
			return nil
		}
		select {
		case <-renewed:
		case <-l.ctx.Done():
		case <-ctx.Done():
		}
	}
}

// held reports whether the lease is valid, and returns a channel that is closed
// at the next renewal.
func (l *Lease) held() (bool, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.guarded || l.fresh(time.Now()), l.renewed
}

// fresh reports whether the last successful renewal was sent recently, by both
// clocks: the monotonic clock stands still while a machine is suspended, and
// the wall clock may be set. The caller has l.mu.
func (l *Lease) fresh(now time.Time) bool {
	wall := now.Round(0).Sub(l.sent.Round(0))
	return !l.sent.IsZero() && now.Sub(l.sent) < l.good && wall < l.good && wall > -l.good
}

// renew records a successful renewal that was sent at that time.
func (l *Lease) renew(sent time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.fresh(time.Now()) || l.steadySince.IsZero() {
		l.steadySince = time.Now()
	}
	l.sent = sent
	close(l.renewed)
	l.renewed = make(chan struct{})
}

// fail records a failed renewal.
func (l *Lease) fail() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.steadySince = time.Time{}
}

// steady reports whether all renewals have been in time for that long.
func (l *Lease) steady(while time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	return l.fresh(now) && !l.steadySince.IsZero() && now.Sub(l.steadySince) >= while && !l.Lost()
}
