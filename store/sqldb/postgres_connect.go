package sqldb

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

// bounds returns the statement that sets these limits, and flushed, for the current
// transaction; 0 means no limit.
func bounds(statement, idleTx time.Duration) string {
	return fmt.Sprintf("SELECT set_config('statement_timeout', '%d', true), set_config('idle_in_transaction_session_timeout', '%d', true), set_config('lock_timeout', '0', true), "+flushed,
		statement.Milliseconds(), idleTx.Milliseconds(), true)
}

// flushed sets synchronous_commit, for a transaction or a connection: what is committed is on
// the server's disk, and where else the server wants it.
const flushed = "set_config('synchronous_commit', replace(current_setting('synchronous_commit'), 'off', 'on'), %t)"

// begin begins a transaction in which a statement sees what was committed before it. The
// store's locks rely on that, and the database may have another default.
const begin = "BEGIN ISOLATION LEVEL READ COMMITTED"

var unbounded = bounds(0, 0)

// checkClient is how often the server looks whether the client of a statement is there,
// in milliseconds.
const checkClient = "1000"

// serverLimits are limits that the server enforces on a connection.
type serverLimits struct {
	statement, idleTx time.Duration
	// user is how long what was sent may remain unacknowledged; 0 is the system's.
	// With it the server also looks whether the client of a statement is there.
	user time.Duration
}

// limitsOf returns the limits of the connections of a process. A replica holds
// no lock for longer than the others wait before they take its runs: lease is
// that time, 0 for a single process.
func limitsOf(lease time.Duration) serverLimits {
	l := serverLimits{statement: postgresStatement, idleTx: postgresIdleTx}
	if lease > 0 {
		l.idleTx, l.user = lease/2, lease
	}
	return l
}

// passedOn are settings that the store and its driver rely on, and of which the database or
// the user may have others. PgBouncer passes them on.
var passedOn = map[string]string{"client_encoding": "UTF8", "standard_conforming_strings": "on", "datestyle": "ISO", "timezone": "UTC"}

// notPassedOn are further ones, which poolers refuse.
var notPassedOn = map[string]string{"bytea_output": "hex", "default_transaction_isolation": "read committed"}

// settings are the limits as settings of a connection. A statement waits for locks as long
// as it may take.
func (l serverLimits) settings() map[string]string {
	set := map[string]time.Duration{"statement_timeout": l.statement, "idle_in_transaction_session_timeout": l.idleTx, "lock_timeout": 0}
	if l.user > 0 {
		set["tcp_user_timeout"] = l.user
	}
	all := make(map[string]string, len(set))
	for name, limit := range set {
		all[name] = strconv.FormatInt(limit.Milliseconds(), 10)
	}
	return all
}

// postgresConnector connects to a server, or to a pooler such as PgBouncer in
// front of one. A pooler may give each transaction another server connection,
// so no state may remain on one: statements are not prepared, and limits are
// set in each transaction. Each new connection is checked for a pooler, which
// may be added at any time.
type postgresConnector struct {
	direct, behindPooler driver.Connector
	pooled               atomic.Bool
	logger               *slog.Logger
}

// errPooler means that a different server process answers than in the
// handshake.
var errPooler = errors.New("there is a pooler in front of the server")

func newPostgresConnector(config *pgx.ConnConfig, limits serverLimits, logger *slog.Logger) *postgresConnector {
	direct, pooled := *config, *config
	// A server that takes no writes may be one of before a failover: the next connection may
	// be to another one.
	direct.OnPgError = func(conn *pgconn.PgConn, err *pgconn.PgError) bool {
		return err.Code != stateReadOnly && config.OnPgError(conn, err)
	}
	pooled.OnPgError = direct.OnPgError
	pooled.RuntimeParams = maps.Clone(config.RuntimeParams)
	maps.Copy(pooled.RuntimeParams, passedOn)
	direct.RuntimeParams = maps.Clone(pooled.RuntimeParams)
	maps.Copy(direct.RuntimeParams, notPassedOn)
	for name, limit := range limits.settings() {
		if _, set := direct.RuntimeParams[name]; !set {
			direct.RuntimeParams[name] = limit
		}
	}
	start := func(ctx context.Context, conn *pgx.Conn) error {
		err := answersItself(ctx, conn)
		if err == nil {
			_, err = conn.PgConn().Exec(ctx, fmt.Sprintf("SELECT "+flushed, false)).ReadAll()
		}
		if err == nil && limits.user > 0 {
			err = checksClient(ctx, conn)
		}
		if err != nil {
			err = errors.Join(err, conn.Close(ctx))
		}
		return err
	}
	if pooled.DefaultQueryExecMode == pgx.QueryExecModeCacheStatement {
		pooled.DefaultQueryExecMode = pgx.QueryExecModeExec
	}
	return &postgresConnector{
		direct:       stdlib.GetConnector(direct, stdlib.OptionAfterConnect(start)),
		behindPooler: stdlib.GetConnector(pooled), logger: logger,
	}
}

// answersItself returns errPooler if a different server process answers than in the handshake.
func answersItself(ctx context.Context, conn *pgx.Conn) error {
	answers, err := conn.PgConn().Exec(ctx, "SELECT pg_backend_pid()").ReadAll()
	if err == nil && (len(answers) != 1 || len(answers[0].Rows) != 1 ||
		string(answers[0].Rows[0][0]) != strconv.FormatUint(uint64(conn.PgConn().PID()), 10)) {
		err = errPooler
	}
	return err
}

// checksClient makes the server look whether its client is there, if it can: that came
// with version 14, and not on every system.
func checksClient(ctx context.Context, conn *pgx.Conn) error {
	_, err := conn.Exec(ctx, "SELECT set_config(name, $1, false) FROM pg_settings WHERE name = 'client_connection_check_interval'", checkClient)
	if _, refused := errors.AsType[*pgconn.PgError](err); refused {
		return nil
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
		c.logger.Info("a pooler is in front of the database: statements are not prepared")
	}
	return conn, err
}

// poolerSaid reports whether err comes from a pooler, which has other process
// ids than the server, or refuses the limits at the connection's start.
func poolerSaid(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return errors.Is(err, errPooler) || ok && pg.Code == statePooler
}

// statePooler is the code of all that PgBouncer refuses.
const statePooler = "08P01"

// Driver implements driver.Connector.
func (c *postgresConnector) Driver() driver.Driver { return c.direct.Driver() }

// unboundedConnector makes connections whose transactions have no limits, behind a pooler too.
type unboundedConnector struct{ *postgresConnector }

// Connect makes a connection.
func (c unboundedConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.postgresConnector.Connect(ctx)
	if own, ok := conn.(*stdlib.Conn); ok && err == nil {
		conn = unboundedConn{own}
	}
	return conn, err
}

type unboundedConn struct{ *stdlib.Conn }

// BeginTx begins a transaction.
func (c unboundedConn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	tx, err := c.Conn.BeginTx(ctx, o)
	if err != nil {
		return nil, err
	}
	if _, err := c.ExecContext(ctx, unbounded, nil); err != nil {
		return nil, errors.Join(err, tx.Rollback())
	}
	return tx, nil
}

// openPool opens a pool of at most conns connections.
func openPool(c driver.Connector, conns int) *sql.DB {
	pool := sql.OpenDB(c)
	sizePool(pool, conns)
	pool.SetConnMaxIdleTime(postgresIdle)
	return pool
}

// sizePool bounds the connections of a pool, and keeps them all.
func sizePool(pool *sql.DB, conns int) {
	pool.SetMaxOpenConns(conns)
	pool.SetMaxIdleConns(conns)
}
