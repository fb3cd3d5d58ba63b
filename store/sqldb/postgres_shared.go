package sqldb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/chattray/chattray/schemas/seldom"
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
// for one of the pool, and if that has none, the first one waits for the server.
type sharedConnector struct {
	*postgresConnector
	conns int
	// pool is the pool; nil while the database is opened, which does not wait.
	pool  *sql.DB
	small atomic.Bool
	told  seldom.Log
}

// Connect makes a connection. If the server has none left, the pool takes driver.ErrBadConn as
// the reason to try again: that try waits for one of its connections.
func (c *sharedConnector) Connect(ctx context.Context) (driver.Conn, error) {
	for {
		conn, err := c.postgresConnector.Connect(ctx)
		full, ok := crowded(err)
		if c.pool == nil || !ok {
			return conn, err
		}
		others := c.pool.Stats().OpenConnections - 1
		c.shrink(ctx, max(others, 1), err)
		if others > 0 {
			return nil, fmt.Errorf("%w: %w", driver.ErrBadConn, full)
		}
		select {
		case <-time.After(crowdedPause):
		case <-ctx.Done():
			return nil, err
		}
	}
}

// shrink makes the pool smaller for a time.
func (c *sharedConnector) shrink(ctx context.Context, conns int, cause error) {
	c.pool.SetMaxOpenConns(conns)
	if c.small.Swap(true) {
		return
	}
	c.told.Write(ctx, c.logger, slog.LevelWarn, "the server of the database has no connection left: its max_connections, a pooler's limit of clients, or a limit of the user or the database, "+
		"is too small for database_conns of all processes and what else uses it", slog.Int("database_conns", c.conns), slog.Int("open", conns), slog.Any("error", cause))
	time.AfterFunc(crowdedTime, func() {
		c.small.Store(false)
		sizePool(c.pool, c.conns)
	})
}

// crowded returns the server's answer if it is that it has no connection left. PgBouncer has
// one code for whatever it refuses, and names the limit: max_client_conn, max_db_client_connections
// or max_user_client_connections.
func crowded(err error) (answer *pgconn.PgError, is bool) {
	answer, ok := errors.AsType[*pgconn.PgError](err)
	return answer, ok && (answer.Code == "53300" || answer.Code == statePooler && strings.Contains(answer.Message, "_client_conn"))
}
