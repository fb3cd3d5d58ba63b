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
	// aside is for a driver that does not look at the context while it waits
	// for a lock: the wait is left to it.
	aside bool
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
	if !p.aside {
		return p.ConnPool.QueryContext(ctx, query, args...)
	}
	type answer struct {
		rows *sql.Rows
		err  error
	}
	answers := make(chan answer)
	go func() {
		rows, err := p.ConnPool.QueryContext(ctx, query, args...)
		select {
		case answers <- answer{rows, err}:
		case <-ctx.Done():
			if rows != nil {
				_ = rows.Close() // nobody is there to read them
			}
		}
	}()
	select {
	case a := <-answers:
		return a.rows, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
