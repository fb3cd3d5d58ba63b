package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
)

// Limits of Postgres.
const (
	postgresConnect  = 10 * time.Second
	postgresIdle     = 5 * time.Minute
	postgresRollback = 5 * time.Second
	// postgresConns is the least that works: a migration holds a lock on one
	// connection while it uses another.
	postgresConns = 2
	// postgresTries bounds how often a batch is begun.
	postgresTries = 4
)

// postgresDB is a Postgres database.
type postgresDB struct {
	pool *sql.DB
	gorm *gorm.DB
	// texts are the statements in Postgres' own words.
	texts sync.Map
}

func openPostgres(ctx context.Context, url string, conns int) (*postgresDB, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, errors.New("the url of the database cannot be read") // pgx repeats the url
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = postgresConnect
	}
	d := &postgresDB{pool: stdlib.OpenDB(*config)}
	d.pool.SetMaxOpenConns(max(conns, postgresConns))
	d.pool.SetMaxIdleConns(max(conns, postgresConns))
	d.pool.SetConnMaxIdleTime(postgresIdle)
	if err := d.pool.PingContext(ctx); err != nil {
		return nil, errors.Join(err, d.pool.Close())
	}
	if d.gorm, err = gorm.Open(postgres.New(postgres.Config{Conn: d.pool}), gormConfig()); err != nil {
		return nil, errors.Join(err, d.pool.Close())
	}
	return d, nil
}

func (d *postgresDB) read() *gorm.DB { return d.gorm }

func (d *postgresDB) contains(column string) string { return column + ` ILIKE ? ESCAPE '\'` }

func (d *postgresDB) close() error { return d.pool.Close() }

func (d *postgresDB) write(ctx context.Context, fn func(tx *gorm.DB) error) error {
	var err error
	for range postgresTries {
		if err = d.gorm.WithContext(ctx).Transaction(fn); !again(err) {
			break
		}
	}
	return err
}

// batch runs fn in a transaction whose statements are sent together where
// nothing has to be known in between. It begins anew when another transaction
// was in the way, and when a connection turns out to be dead before COMMIT.
func (d *postgresDB) batch(ctx context.Context, fn func(tx session) error) error {
	var err error
	for range postgresTries {
		tx := &postgresTx{texts: &d.texts}
		if err = d.try(ctx, tx, fn); err == nil {
			return nil
		}
		if !again(err) && (tx.committing || !away(err) || ctx.Err() != nil) {
			return err
		}
	}
	return err
}

func (d *postgresDB) try(ctx context.Context, tx *postgresTx, fn func(tx session) error) (err error) {
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
		return tx.run(ctx, fn)
	})
}

// postgresTx is a transaction; its statements wait in queue until an answer is
// needed.
type postgresTx struct {
	conn       *pgx.Conn
	texts      *sync.Map
	queue      pgx.Batch
	committing bool
}

func (t *postgresTx) run(ctx context.Context, fn func(tx session) error) error {
	done := false
	defer func() {
		if !done {
			t.rollback(ctx)
		}
	}()
	t.queue.Queue("BEGIN")
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

// rollback ends the transaction, or the connection when it does not answer.
func (t *postgresTx) rollback(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), postgresRollback)
	defer cancel()
	if t.conn.IsClosed() || t.conn.PgConn().TxStatus() == 'I' {
		return
	}
	if _, err := t.conn.Exec(ctx, "ROLLBACK"); err != nil {
		_ = t.conn.Close(ctx) // the pool makes another one
	}
}

func (t *postgresTx) flush(ctx context.Context) error {
	queue := t.queue
	t.queue = pgx.Batch{}
	return t.conn.SendBatch(ctx, &queue).Close()
}

func (t *postgresTx) each(_ context.Context, statement string, rows [][]any) error {
	text := t.text(statement)
	for _, args := range rows {
		t.queue.Queue(text, args...)
	}
	return nil
}

func (t *postgresTx) query(ctx context.Context, statement string, rows [][]any, scan func(row scanner) error) error {
	if len(rows) == 0 {
		return nil
	}
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
	}
	return t.flush(ctx)
}

// postgresWords stand for the marks of session in Postgres' SQL.
var postgresWords = strings.NewReplacer(
	"{among}", "= ANY (ARRAY(SELECT json_array_elements_text(CAST(? AS json))))", "{lock}", "FOR NO KEY UPDATE",
	"{next_seq}", "nextval('blocks_seq')",
)

// text returns the statement in Postgres' own words: numbered parameters and
// row locks.
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
