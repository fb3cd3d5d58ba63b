package sqldb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// Limits of a pool whose server has no connection left.
const (
	// crowdedTime is how long the pool remains as small as the server has made it.
	crowdedTime = 5 * time.Second
	// crowdedPause is how long a pool without a connection waits before it asks again.
	crowdedPause = 100 * time.Millisecond
)

// sharedConnector makes the connections of the pool on a server that others use too. While
// the server has none left, the pool is as small as it is then: what needs a connection waits
// for one of the pool. The first one waits for the server.
type sharedConnector struct {
	*postgresConnector
	conns int
	// pool is the pool; nil while the database is opened, which does not wait.
	pool  *sql.DB
	small atomic.Bool
}

// Connect makes a connection. An error that is crowded means that another try waits for one
// of the pool.
func (c *sharedConnector) Connect(ctx context.Context) (driver.Conn, error) {
	for {
		conn, err := c.postgresConnector.Connect(ctx)
		if c.pool == nil || !crowded(err) {
			return conn, err
		}
		others := c.pool.Stats().OpenConnections - 1
		c.shrink(max(others, 1), err)
		if others > 0 {
			return nil, err
		}
		select {
		case <-time.After(crowdedPause):
		case <-ctx.Done():
			return nil, err
		}
	}
}

// shrink makes the pool smaller for a time.
func (c *sharedConnector) shrink(conns int, cause error) {
	c.pool.SetMaxOpenConns(conns)
	if c.small.Swap(true) {
		return
	}
	c.logger.Warn("the server of the database has no connection left: its max_connections, or a limit of the user or the database, "+
		"is too small for database_conns of all processes and what else uses it", "database_conns", c.conns, "open", conns, "error", cause)
	time.AfterFunc(crowdedTime, func() {
		c.small.Store(false)
		sizePool(c.pool, c.conns)
	})
}

// crowded reports whether err means that the server has no connection left.
func crowded(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && pg.Code == "53300"
}
