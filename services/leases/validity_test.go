package leases_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chattray/chattray/services/leases"
)

// In the last sixth of its lease, as the database counts it, a replica does nothing, so that
// it has stopped before others begin. The answers to renewals are late.
func TestHoldEndsBeforeTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rows := &hung{table: newTable()}
		r := renewing(t, rows, rows)
		rows.take(lease / 4)
		passes(time.Minute)
		rows.setAway(true)
		ctx, cancel := context.WithCancel(r.Current().Context())
		defer cancel()
		seen := make(map[bool]int)
		for {
			rows.table.mu.Lock()
			left := time.Until(rows.rows[r.Current().ID].Until)
			rows.table.mu.Unlock()
			if left <= 0 {
				break
			}
			answer := held(ctx)
			good := left > lease/6
			if seen[good]++; good {
				answers(t, left.String()+" before the end", answer, nil)
			} else {
				waits(t, left.String()+" before the end", answer)
			}
			passes(lease / 60)
		}
		if seen[true] == 0 || seen[false] == 0 {
			t.Errorf("held and waited %v times, want both", seen)
		}
	})
}

// A replica that has missed some renewals, but not lost its lease, marks no other one as
// gone before its own have been in time for a whole lease: the others had the same outage.
func TestMarkGoneAfterAShortOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rows := newTable()
		a, b := start(t, rows, true), start(t, rows, true)
		passes(time.Minute)
		b.end()
		rows.setAway(true)
		passes(lease * 2 / 3)
		rows.setAway(false)
		passes(lease / 6)
		answers(t, "a deed after the outage", held(a.Current().Context()), nil)
		passes(lease * 2 / 3)
		if gone := rows.markedGone(); len(gone) > 0 {
			t.Errorf("%v were marked as gone, want none", gone)
		}
		passes(lease)
		if gone := rows.markedGone(); len(gone) != 1 {
			t.Errorf("%v were marked as gone, want the one that has stopped", gone)
		}
	})
}

// hung is a table whose answers to renewals take some time, whatever their context says, as
// for a process that is suspended.
type hung struct {
	*table
	mu    sync.Mutex
	takes time.Duration
	sent  int
}

func (h *hung) Renew(ctx context.Context, id string, d time.Duration) (int, error) {
	h.mu.Lock()
	takes := h.takes
	h.sent++
	h.mu.Unlock()
	live, err := h.table.Renew(context.WithoutCancel(ctx), id, d)
	<-time.After(takes)
	return live, err
}

func (h *hung) take(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.takes, h.sent = d, 0
}

// renewing is a replica of many that renews its lease in the table.
func renewing(t *testing.T, rows leases.Table, takeover leases.Takeover) *leases.Leases {
	l := leases.New(context.Background(), leases.Options{Table: rows, Takeover: takeover, Many: true, Time: lease, Logger: slog.New(slog.DiscardHandler)})
	if err := l.Join(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var loops sync.WaitGroup
	loops.Go(func() { l.Renew(ctx, func(*leases.Lease) {}) })
	loops.Go(func() { l.Look(ctx, func(context.Context, []string) error { return nil }) })
	t.Cleanup(func() { cancel(); loops.Wait() })
	return l
}

// A replica whose renewal took longer than its lease, without an error, as after it was
// suspended, marks no other one as gone at once.
func TestMarkGoneAfterALateRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rows := &hung{table: newTable()}
		renewing(t, rows, rows)
		other := start(t, rows.table, true)
		passes(time.Minute)
		other.end()
		rows.take(2 * lease)
		passes(lease / 3)
		rows.take(0)
		passes(2*lease + lease/2)
		if gone := rows.markedGone(); len(gone) > 0 {
			t.Errorf("%v were marked as gone, want none", gone)
		}
		passes(2 * lease)
		if gone := rows.markedGone(); len(gone) != 1 {
			t.Errorf("%v were marked as gone, want the one that has stopped", gone)
		}
	})
}

// However slow renewals are, they are sent three times in a lease.
func TestSlowRenewals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rows := &hung{table: newTable()}
		renewing(t, rows, rows)
		rows.take(lease / 4)
		passes(10 * lease)
		rows.mu.Lock()
		defer rows.mu.Unlock()
		if rows.sent < 29 {
			t.Errorf("%d renewals in ten leases, want three in each", rows.sent)
		}
	})
}

// A renewal waits for its answer for a few leases at most.
func TestRenewalsAreGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rows := &silent{table: newTable()}
		renewing(t, rows, rows)
		passes(time.Hour)
		rows.mu.Lock()
		defer rows.mu.Unlock()
		if rows.longest != 4*lease {
			t.Errorf("a renewal waited for %v, want at most %v", rows.longest, 4*lease)
		}
	})
}

// silent is a table that answers no renewal.
type silent struct {
	*table
	mu      sync.Mutex
	longest time.Duration
}

func (s *silent) Renew(ctx context.Context, _ string, _ time.Duration) (int, error) {
	sent := time.Now()
	<-ctx.Done()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.longest = max(s.longest, time.Since(sent))
	return 0, errAway
}
