package sqldb

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"github.com/chattray/chattray/store/search"
)

// Limits of Postgres.
const (
	postgresConnect = 10 * time.Second
	postgresIdle    = 5 * time.Minute
	// postgresLife is how long a connection of the pool is used. Its statements and what the
	// server caches for it grow as long as it lives.
	postgresLife = 5 * time.Minute
	// postgresRollback is short: a connection that does not answer is closed.
	postgresRollback = time.Second
	// postgresTries is how often a transaction is tried if others conflict with it.
	postgresTries = 4
)

// postgresDB is a Postgres database.
type postgresDB struct {
	config    *pgx.ConnConfig
	connector *postgresConnector
	conns     int
	// own is for the renewal of the process's lease alone.
	pool, own *sql.DB
	search    *search.Postgres
	// bounded is the statement that sets the limits of a transaction behind a pooler.
	bounded string
	// reads and writes are handles on the pool.
	reads, writes *gorm.DB
	// texts caches the statements in Postgres' SQL.
	texts sync.Map
}

func openPostgres(ctx context.Context, url string, opts Options, logger *slog.Logger) (*postgresDB, error) {
	conns, lease := cmp.Or(opts.Conns, DefaultPostgresConns), opts.Lease
	config, err := parsePostgres(url)
	if err != nil {
		return nil, err
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = postgresConnect
	}
	limits := limitsOf(lease)
	d := &postgresDB{
		config: config, conns: conns, connector: newPostgresConnector(config, limits, logger), bounded: bounds(limits.statement, limits.idleTx),
	}
	shared := &sharedConnector{postgresConnector: d.connector, conns: conns}
	d.pool, d.own = openPool(shared, conns), openPool(d.connector, 1)
	d.pool.SetConnMaxLifetime(postgresLife)
	if err := d.usable(ctx, logger); err != nil {
		return nil, errors.Join(err, d.close())
	}
	if d.search, err = search.NewPostgres(ctx, d.pool); err != nil {
		return nil, errors.Join(err, d.close())
	}
	if opts.Existing {
		if err := d.existing(ctx); err != nil {
			return nil, errors.Join(err, d.close())
		}
	}
	// If all connections of the pool have ended, the last try makes a new one.
	reads := &readPool{ConnPool: d.pool, tries: conns + 1}
	if d.reads, err = gorm.Open(postgres.New(postgres.Config{Conn: reads}), gormConfig()); err == nil {
		d.writes, err = gorm.Open(postgres.New(postgres.Config{Conn: d.pool}), gormConfig())
	}
	if err != nil {
		return nil, errors.Join(err, d.close())
	}
	shared.pool = d.pool
	return d, nil
}

func (d *postgresDB) read() *gorm.DB { return d.reads }

func (d *postgresDB) Search() search.Database { return d.search }

// check does nothing: problems show up when the server is used.
func (d *postgresDB) check() error { return nil }

func (d *postgresDB) close() error { return errors.Join(d.pool.Close(), d.own.Close()) }

func (d *postgresDB) write(ctx context.Context, fn func(tx *gorm.DB) error) error {
	return d.repeat(ctx, func() (committing bool, err error) {
		err = d.writes.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
			if d.connector.pooled.Load() {
				if err := tx.Exec(d.bounded).Error; err != nil {
					return err
				}
			}
			err := fn(tx)
			committing = err == nil
			return err
		}, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
		return committing, err
	})
}

// batch runs fn in a transaction whose statements are sent together as long as
// no result is needed.
func (d *postgresDB) batch(ctx context.Context, fn func(tx Session) error) error {
	return d.repeat(ctx, func() (committing bool, err error) {
		tx := &postgresTx{texts: &d.texts}
		if d.connector.pooled.Load() {
			tx.limits = d.bounded
		}
		err = d.try(ctx, tx, fn)
		return tx.committing, err
	})
}

// repeat runs a transaction again if another one conflicted with it, and over
// another connection if its own ended before COMMIT was sent, so that nothing
// was applied. It also does so if a statement was outdated.
func (d *postgresDB) repeat(ctx context.Context, run func() (committing bool, err error)) error {
	for conflicts, ends := 1, 1; ; {
		committing, err := run()
		switch {
		case err == nil || ctx.Err() != nil:
			return err
		case again(err) && conflicts < postgresTries:
			conflicts++
		case (!committing && ended(err) || outdated(err)) && ends <= d.conns:
			ends++
		default:
			return err
		}
	}
}

func (d *postgresDB) try(ctx context.Context, tx *postgresTx, fn func(tx Session) error) (err error) {
	conn, err := d.pool.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // back to the pool
	return conn.Raw(func(raw any) error {
		own, ok := raw.(*stdlib.Conn)
		if !ok {
			return fmt.Errorf("the driver's connection is a %T", raw)
		}
		tx.conn = own.Conn()
		err := tx.run(ctx, fn)
		if ctx.Err() != nil { // the driver may have kept that, and would tell the next statement
			_ = tx.conn.Close(ctx)
		}
		return err
	})
}

// postgresTx is a transaction. Its statements wait in queue until a result is needed.
type postgresTx struct {
	conn  *pgx.Conn
	texts *sync.Map
	// limits is the statement that sets the transaction's limits if the connection does not.
	limits     string
	queue      pgx.Batch
	asked      bool // a SELECT is in queue
	committing bool
}

func (t *postgresTx) run(ctx context.Context, fn func(tx Session) error) error {
	done := false
	defer func() {
		if !done {
			t.rollback(ctx)
		}
	}()
	t.queue.Queue(begin)
	if t.limits != "" {
		t.queue.Queue(t.limits)
	}
	if err := fn(t); err != nil {
		return err
	}
	t.queue.Queue("COMMIT").Exec(func(tag pgconn.CommandTag) error {
		if tag.String() != "COMMIT" { // Postgres answers ROLLBACK for a transaction that failed
			return errors.New("the transaction was rolled back")
		}
		return nil
	})
	t.committing = true
	if err := t.flush(ctx); err != nil {
		return err
	}
	done = true
	return nil
}

// rollback ends the transaction, or the connection if it does not answer.
func (t *postgresTx) rollback(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), postgresRollback)
	defer cancel()
	if t.conn.IsClosed() || t.conn.PgConn().TxStatus() == 'I' {
		return
	}
	if _, err := t.conn.Exec(ctx, "ROLLBACK"); err != nil {
		_ = t.conn.Close(ctx) // the pool makes a new one
	}
}

func (t *postgresTx) flush(ctx context.Context) error {
	queue := t.queue
	t.queue, t.asked = pgx.Batch{}, false
	return t.conn.SendBatch(ctx, &queue).Close()
}

func (t *postgresTx) Each(_ context.Context, statement string, rows [][]any) error {
	text := t.text(statement)
	for _, args := range rows {
		t.queue.Queue(text, args...)
	}
	return nil
}

func (t *postgresTx) Ask(_ context.Context, statement string, rows [][]any, scan func(row Scanner) error) error {
	text := t.text(statement)
	for _, args := range rows {
		t.queue.Queue(text, args...).Query(func(found pgx.Rows) error {
			for found.Next() {
				if err := scan(found); err != nil {
					return err
				}
			}
			return found.Err()
		})
		t.asked = true
	}
	return nil
}

func (t *postgresTx) Query(ctx context.Context, statement string, rows [][]any, scan func(row Scanner) error) error {
	if err := t.Ask(ctx, statement, rows, scan); err != nil || !t.asked {
		return err
	}
	return t.flush(ctx)
}

func (t *postgresTx) Insert(ctx context.Context, statement, key string, rows [][]any, inserted func(i int, key int64)) error {
	statement += " RETURNING " + key
	for i := range rows {
		err := t.Ask(ctx, statement, rows[i:i+1], func(row Scanner) error {
			var n int64
			err := row.Scan(&n)
			inserted(i, n)
			return err
		})
		if err != nil {
			return err
		}
	}
	return t.Query(ctx, statement, nil, nil) // this waits for what was asked
}

// postgresWords replaces the marks of Session by Postgres' SQL.
var postgresWords = strings.NewReplacer(
	"{among}", "= ANY (ARRAY(SELECT json_array_elements_text(CAST(? AS json))))", "{lock}", "FOR NO KEY UPDATE",
	"{skip}", "FOR NO KEY UPDATE SKIP LOCKED", "{next_seq}", "nextval('blocks_seq')", "{next_place}", "nextval('runs_place')",
	"{not_gone}", "NOT EXISTS (SELECT 1 FROM replicas WHERE id = ? AND gone_at IS NOT NULL)",
	// A lease that is renewed no more lies in the past when others mark its replica as gone.
	"{left}", "EXISTS (SELECT 1 FROM replicas WHERE id = runs.replica AND NOT alone AND gone_at < expires_at)",
	"{now}", "CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT)",
)

// text returns the statement in Postgres' SQL: numbered parameters and row locks.
func (t *postgresTx) text(statement string) string {
	if known, ok := t.texts.Load(statement); ok {
		return known.(string) //nolint:forcetypeassert // only strings are stored below
	}
	var b strings.Builder
	n := 0
	for _, r := range postgresWords.Replace(statement) {
		if r != '?' {
			b.WriteRune(r)
			continue
		}
		n++
		b.WriteString("$" + strconv.Itoa(n))
	}
	t.texts.Store(statement, b.String())
	return b.String()
}
