package store

import (
	"context"
	"database/sql"

	"gorm.io/gorm"
)

// readPool is a pool that is only read from, each read within its context's
// deadline. A statement is begun over another connection when its own turns out
// to have ended before the first row; a read may always be repeated.
type readPool struct {
	gorm.ConnPool
	// tries bounds how often a statement is begun.
	tries int
	// readers take the queries of a driver that does not look at the context
	// while it waits for a lock: the wait is left to them. Nil is that none do.
	readers *readers
}

// QueryContext runs a SELECT. It returns once there is a row, or the end.
func (p *readPool) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	for try := 1; ; try++ {
		rows, err := p.query(ctx, query, args)
		if err == nil || try >= p.tries || !ended(err) || ctx.Err() != nil {
			return rows, err
		}
	}
}

func (p *readPool) query(ctx context.Context, query string, args []any) (*sql.Rows, error) {
	if p.readers == nil {
		return p.ConnPool.QueryContext(ctx, query, args...)
	}
	q := &reading{ctx: ctx, pool: p.ConnPool, query: query, args: args, answers: make(chan answer)}
	select {
	case p.readers.queries <- q:
	case <-p.readers.closed:
		return p.ConnPool.QueryContext(ctx, query, args...) // which says that it is closed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case a := <-q.answers:
		return a.rows, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// readers are goroutines that begin reads, as many as there are connections. They
// stay, because a new goroutine has to grow its stack for each read first.
type readers struct {
	queries chan *reading
	closed  <-chan struct{}
}

// newReaders starts n readers, which end once closed is.
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
			_ = rows.Close() // nobody is there to read them
		}
	}
}
