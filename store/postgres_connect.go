package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// Limits that the server enforces, so that a statement or a transaction ends
// even if its client has disconnected.
const (
	postgresStatement = 15 * time.Second
	postgresIdleTx    = 30 * time.Second
)

// bounds returns the statement that sets these limits for the current
// transaction; 0 means no limit.
func bounds(statement, idleTx time.Duration) string {
	return fmt.Sprintf("SELECT set_config('statement_timeout', '%d', true), set_config('idle_in_transaction_session_timeout', '%d', true)",
		statement.Milliseconds(), idleTx.Milliseconds())
}

var (
	bounded   = bounds(postgresStatement, postgresIdleTx)
	unbounded = bounds(0, 0)
)

// postgresConnector connects to a server, or to a pooler such as PgBouncer in
// front of one. A pooler may give each transaction another server connection,
// so no state may remain on one: statements are not prepared, and limits are
// set in each transaction. Each new connection is checked for a pooler, which
// may be added at any time.
type postgresConnector struct {
	direct, behindPooler driver.Connector
	pooled               atomic.Bool
	logs                 *slog.Logger
}

// errPooler means that a different server process answers than in the
// handshake.
var errPooler = errors.New("there is a pooler in front of the server")

func newPostgresConnector(config *pgx.ConnConfig, statement, idleTx time.Duration, logs *slog.Logger) *postgresConnector {
	direct, pooled := *config, *config
	direct.RuntimeParams = maps.Clone(config.RuntimeParams)
	for name, limit := range map[string]time.Duration{"statement_timeout": statement, "idle_in_transaction_session_timeout": idleTx} {
		if _, set := direct.RuntimeParams[name]; !set {
			direct.RuntimeParams[name] = strconv.FormatInt(limit.Milliseconds(), 10)
		}
	}
	if pooled.DefaultQueryExecMode == pgx.QueryExecModeCacheStatement {
		pooled.DefaultQueryExecMode = pgx.QueryExecModeExec
	}
	return &postgresConnector{
		direct:       stdlib.GetConnector(direct, stdlib.OptionAfterConnect(answersItself)),
		behindPooler: stdlib.GetConnector(pooled), logs: logs,
	}
}

// answersItself returns errPooler, and closes the connection, if a different
// server process answers than in the handshake.
func answersItself(ctx context.Context, conn *pgx.Conn) error {
	answers, err := conn.PgConn().Exec(ctx, "SELECT pg_backend_pid()").ReadAll()
	if err == nil && (len(answers) != 1 || len(answers[0].Rows) != 1 ||
		string(answers[0].Rows[0][0]) != strconv.FormatUint(uint64(conn.PgConn().PID()), 10)) {
		err = errPooler
	}
	if err != nil {
		err = errors.Join(err, conn.Close(ctx))
	}
	return err
}

// Connect makes a connection.
func (c *postgresConnector) Connect(ctx context.Context) (driver.Conn, error) {
	if !c.pooled.Load() {
		conn, err := c.direct.Connect(ctx)
		if !poolerSaid(err) {
			return conn, err
		}
	}
	conn, err := c.behindPooler.Connect(ctx)
	if err == nil && !c.pooled.Swap(true) {
		c.logs.Info("a pooler is in front of the database: statements are not prepared")
	}
	return conn, err
}

// poolerSaid reports whether err comes from a pooler, which has other process
// ids than the server, or refuses the limits at the connection's start.
func poolerSaid(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return errors.Is(err, errPooler) || ok && pg.Code == "08P01"
}

// Driver implements driver.Connector.
func (c *postgresConnector) Driver() driver.Driver { return c.direct.Driver() }

// openPool opens a pool of at most conns connections.
func openPool(c *postgresConnector, conns int) *sql.DB {
	pool := sql.OpenDB(c)
	pool.SetMaxOpenConns(conns)
	pool.SetMaxIdleConns(conns)
	pool.SetConnMaxIdleTime(postgresIdle)
	return pool
}
