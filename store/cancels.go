package store

import (
	"context"
	"slices"
	"sync"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/store/sqldb"
	"github.com/chattray/chattray/store/tables"
	"github.com/chattray/chattray/store/values"
)

// cancelTimes is how many times longer than a change the cancels of many may take.
const cancelTimes = 2

// cancels are runs whose cancel is to be stored. Those that wait for a transaction are
// stored with the first of them. The zero value is ready.
type cancels struct {
	mu   sync.Mutex
	next *cancelled // nil if none waits
}

// cancelled are the runs whose cancels are stored together. Known has those that exist,
// once done is closed and unless err is set.
type cancelled struct {
	ids   []string
	done  chan struct{}
	known map[string]bool
	err   error
}

// join adds a run to those that wait, and reports whether it is the first of them.
func (c *cancels) join(id string) (with *cancelled, first bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if first = c.next == nil; first {
		c.next = &cancelled{done: make(chan struct{})}
	}
	c.next.ids = append(c.next.ids, id)
	return c.next, first
}

// close returns the runs that have joined; the next one is the first of others.
func (c *cancels) close(with *cancelled) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.next == with {
		c.next = nil
	}
	return with.ids
}

// RequestCancel stores the request to cancel a run. It does nothing for a run that has
// ended. Requests that wait for the same transaction are stored by it together.
func (s *Store) RequestCancel(ctx context.Context, id string) error {
	if !values.PlainText(id) {
		return schemas.ErrNotFound
	}
	if ctx.Err() != nil {
		return s.db.Fault("request cancel", ctx.Err())
	}
	with, first := s.cancels.join(id)
	if first {
		with.err = s.storeCancels(context.WithoutCancel(ctx), with)
		close(with.done)
	} else {
		select {
		case <-with.done:
		case <-ctx.Done():
			return s.db.Fault("request cancel", ctx.Err())
		}
	}
	if with.err == nil && !with.known[id] {
		return schemas.ErrNotFound
	}
	return s.db.Fault("request cancel", with.err)
}

// storeCancels stores the cancels of the runs that have joined when its transaction
// begins.
func (s *Store) storeCancels(ctx context.Context, with *cancelled) error {
	defer s.cancels.close(with) // also if no transaction has begun
	ctx, cancel := context.WithTimeout(ctx, cancelTimes*s.db.ChangeTime())
	defer cancel()
	return s.db.Transact(ctx, func(tx sqldb.Session) error {
		ids := slices.Compact(slices.Sorted(slices.Values(s.cancels.close(with))))
		rows := make([][]any, 0, len(ids))
		with.known = make(map[string]bool, len(ids)) // of this try
		err := lockRuns(ctx, tx.Query, ids, func(r *runState) {
			rows, with.known[r.id] = append(rows, []any{r.id}), true
		})
		if err != nil {
			return err
		}
		return tx.Each(ctx, "UPDATE runs SET cancel_requested = TRUE WHERE id = ? AND "+tables.OpenStates, rows)
	})
}
