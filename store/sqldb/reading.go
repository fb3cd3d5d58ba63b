package sqldb

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"sync/atomic"

	"gorm.io/gorm"

	"github.com/chattray/chattray/schemas"
)

// readPool is a pool for reads, each within its context's deadline. If a
// connection turns out to have ended before the first row, or the statement to be outdated
// there, it is tried again: a read may always be repeated.
type readPool struct {
	gorm.ConnPool
	// tries is how often a statement is tried.
	tries int
	// readers run the queries of a driver that does not check the context while
	// it waits for a lock. Nil means that no readers are needed.
	readers *readers
}

// QueryContext runs a SELECT. It returns once there is a row, or none. Its error after a
// wait for others, of which some began meanwhile, has schemas.ErrTooMuch in its tree.
func (p *readPool) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	for try := 1; ; try++ {
		rows, err := p.query(ctx, query, args)
		if err == nil || try >= p.tries || !ended(err) && !outdated(err) || ctx.Err() != nil {
			return rows, err
		}
	}
}

func (p *readPool) query(ctx context.Context, query string, args []any) (*sql.Rows, error) {
	if p.readers == nil {
		return p.ConnPool.QueryContext(ctx, query, args...)
	}
	q := &reading{ctx: ctx, pool: p.ConnPool, query: query, args: args, answers: make(chan answer)}
	before := p.readers.taken.Load()
	select {
	case p.readers.queries <- q:
	case <-p.readers.closed:
		return p.ConnPool.QueryContext(ctx, query, args...) // this returns the error of a closed pool
	case <-ctx.Done():
		if p.readers.taken.Load() > before {
			return nil, fmt.Errorf("%w: %w", schemas.ErrTooMuch, ctx.Err())
		}
		return nil, ctx.Err()
	}
	select {
	case a := <-q.answers:
		return a.rows, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// ScanRow scans the first row of a statement; without one it returns sql.ErrNoRows. Gorm's
// Row panics if the context ends before its statement is prepared.
func ScanRow(tx *gorm.DB, into ...any) error {
	rows, err := tx.Rows()
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // Err reports the error
	if !rows.Next() {
		return cmp.Or(rows.Err(), sql.ErrNoRows)
	}
	if err := rows.Scan(into...); err != nil {
		return err
	}
	return rows.Close()
}

// readers are goroutines that begin reads, one per connection. They are reused,
// because a new goroutine would first have to grow its stack.
type readers struct {
	queries chan *reading
	closed  <-chan struct{}
	taken   atomic.Int64 // queries that have begun
}

// newReaders starts n readers, which end when closed is closed.
func newReaders(n int, closed <-chan struct{}) *readers {
	r := &readers{queries: make(chan *reading), closed: closed}
	for range n {
		go r.work()
	}
	return r
}

func (r *readers) work() {
	for {
		select {
		case q := <-r.queries:
			r.taken.Add(1)
			q.begin()
		case <-r.closed:
			return
		}
	}
}

// reading is a query for readers.
type reading struct {
	ctx     context.Context //nolint:containedctx // lives as long as the call of QueryContext
	pool    gorm.ConnPool
	query   string
	args    []any
	answers chan answer
}

type answer struct {
	rows *sql.Rows
	err  error
}

func (q *reading) begin() {
	rows, err := q.pool.QueryContext(q.ctx, q.query, q.args...)
	select {
	case q.answers <- answer{rows, err}:
	case <-q.ctx.Done():
		if rows != nil {
			_ = rows.Close() // the caller has stopped waiting
		}
	}
}
