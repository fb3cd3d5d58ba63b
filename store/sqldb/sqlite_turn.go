package sqldb

import (
	"context"
	"fmt"
	"time"

	"github.com/chattray/chattray/schemas"
)

// await waits for the turn. Its error after a wait for others, which were stored meanwhile,
// has schemas.ErrTooMuch in its tree, and after a wait for one that waits for the lock of
// another process, that it is locked.
func (d *sqliteDB) await(ctx context.Context) error {
	before := d.passed.Load()
	ahead := d.ahead
	if ctx.Value(goesAhead{}) == nil {
		ahead = nil
	}
	select {
	case <-d.turn:
	case <-ahead:
	case <-d.closed:
		return errClosed
	case <-ctx.Done():
		if d.passed.Load() > before {
			return fmt.Errorf("%w: %w", schemas.ErrTooMuch, ctx.Err())
		}
		if lock := d.locked.Load(); lock != nil {
			return fmt.Errorf("%w: %w", ctx.Err(), *lock)
		}
		return ctx.Err()
	}
	return nil
}

// pass gives the turn to a transaction that goes ahead, or to the next one. What another
// process keeps from beginning has stored nothing.
func (d *sqliteDB) pass() {
	if d.locked.Load() == nil {
		d.passed.Add(1)
	}
	select {
	case d.ahead <- struct{}{}:
	default:
		d.turn <- struct{}{}
	}
}

// begin waits for the lock of another process, no longer than sqliteBusy and
// the context allow: the driver does not check the context while it waits. The error says
// that there was a lock, also when the context has ended.
func (d *sqliteDB) begin(ctx context.Context) error {
	var lock error
	for since := time.Now(); ; {
		err := d.writer.run(ctx, "BEGIN IMMEDIATE")
		switch {
		case err == nil:
			d.locked.Store(nil)
			return nil
		case locked(err) && time.Since(since) <= sqliteBusy:
			lock = err
			d.locked.Store(&err)
		case lock != nil && ctx.Err() != nil:
			return fmt.Errorf("%w: %w", ctx.Err(), lock)
		default:
			return err
		}
	}
}
