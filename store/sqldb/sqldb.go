// Package sqldb has the two databases of the store, Postgres and SQLite, behind one type:
// connections, transactions, locks, migrations, the indexes of searches, and what an error
// of a driver means. It knows few of the tables: those that transactions, searches and
// the probe of [Upkeep.Ping] need.
package sqldb

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/store/search"
)

// The default numbers of connections: for reading on SQLite, for everything on
// Postgres.
const (
	defaultSQLiteConns   = 4
	DefaultPostgresConns = 16
)

// Options configure how a database is opened. The zero value is the default.
type Options struct {
	// Logger logs the migrations; nil discards the logs.
	Logger *slog.Logger
	// NoMigrate leaves the tables unchanged. Without it Open brings them up to
	// date.
	NoMigrate bool
	// Existing makes Open fail, and change nothing, if the database does not exist or has
	// no tables of chattray. It goes with NoMigrate.
	Existing bool
	// Alone makes Open fail, and change nothing, if another store that was opened with it
	// has the same SQLite file, in this process or another one, until that is closed or its
	// process has ended. On Postgres the table of replicas tells who serves it.
	Alone bool
	// Conns bounds the connections; 0 means defaultSQLiteConns or
	// DefaultPostgresConns. SQLite has one more, for writing.
	Conns int
	// Lease is how long this process may keep its runs without a renewal; 0 if it is
	// the only one. On Postgres no lock of its connections lasts longer.
	Lease time.Duration
	// ReadTimeout bounds a read, from the wait for a connection to its last
	// row; 0 means defaultReadTimeout. A change may take changeTimes as long.
	ReadTimeout time.Duration
	// Driver is the registered name of the driver of SQLite; empty means its own. Tests
	// have drivers that fail.
	Driver string
}

// defaultReadTimeout is how long a read may take.
const defaultReadTimeout = 5 * time.Second

// changeTimes is how many times longer than a read a change may take, from
// asking for a connection to its commit, including retries.
const changeTimes = 2

// DB is an open database. It is safe for concurrent use.
type DB struct {
	database
	logger *slog.Logger
	closed atomic.Bool
	// readTime bounds a read.
	readTime time.Duration
	probe    probe
	room     roomMemory
}

// database has the parts that differ between Postgres and SQLite.
type database interface {
	// read returns a handle for reading.
	read() *gorm.DB
	// write runs fn in a transaction. fn may run again, as with batch: if
	// another transaction conflicted with it, or its connection had ended.
	write(ctx context.Context, fn func(tx *gorm.DB) error) error
	// batch runs fn in a transaction on the fast path.
	batch(ctx context.Context, fn func(tx Session) error) error
	// check returns problems that can be seen without a query.
	check() error
	migrate(ctx context.Context, logger *slog.Logger) error
	migrations(ctx context.Context) ([]Migration, error)
	// Search returns how the database finds texts.
	Search() search.Database
	// GiveWay is called between two transactions of an import.
	GiveWay(ctx context.Context) error
	// Imported is called after an import.
	Imported(ctx context.Context) error
	// EmptyLog removes text of deleted rows from where the server writes first.
	EmptyLog(ctx context.Context) error
	// Forget removes the terms of deleted titles and messages from the search indexes, a
	// step at a time. It is not safe for concurrent use.
	Forget(ctx context.Context) (more bool, err error)
	// RowLock locks the rows of a SELECT until the end of the transaction.
	RowLock() []clause.Expression
	// sharedLock, at the end of a SELECT, keeps its rows as they are until then.
	sharedLock() string
	// Index brings some of what is new into the indexes of searches. It is called before
	// each commit, with waiting, and now and then while none waits.
	Index(ctx context.Context, waiting bool) error
	close() error
}

// Session runs statements in one transaction. Their parameters are question
// marks. Each database replaces these marks: {among} tests membership in a JSON
// array of texts, its parameter; {lock} at the end of a SELECT locks its rows
// until the end, and {skip} those of them that nobody else has locked;
// {next_seq} and {next_place} are numbers for blocks.seq and runs.place greater
// than all existing ones; {not_gone} is true for a replica, its parameter, that
// was not marked as gone, and {left} for a run whose replica, one of several, has left
// in good order; {now} is the server's time in microseconds, or later than all times
// where the only clock is the process's own.
type Session interface {
	// Each runs the statement once for each row of arguments, now or together
	// with the next statements, always in order.
	Each(ctx context.Context, statement string, rows [][]any) error
	// Ask runs the SELECT once for each row of arguments and calls scan for each row found,
	// now or in the next Query: what is asked before it is sent together with it.
	Ask(ctx context.Context, statement string, rows [][]any, scan func(row Scanner) error) error
	// Query does the same, and has called scan when it returns, also for what was asked
	// before it.
	Query(ctx context.Context, statement string, rows [][]any, scan func(row Scanner) error) error
	// Insert runs the INSERT, which has no RETURNING, once for each row of arguments. It has
	// called inserted when it returns, for each row that was not there yet: with its index, and
	// with its value in the column key, the table's numbers of rows.
	Insert(ctx context.Context, statement, key string, rows [][]any, inserted func(i int, key int64)) error
}

// Scanner is a row.
type Scanner interface{ Scan(into ...any) error }

// Open opens the database under url and brings its tables up to date. The url
// is sqlite:PATH, whose folder is created if it is missing, or postgres://….
// Errors never contain the url of a server, which may have a password.
func Open(ctx context.Context, url string, opts Options) (*DB, error) {
	logger := cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	scheme, rest, _ := strings.Cut(url, ":")
	var db database
	var err error
	switch scheme {
	case "sqlite":
		if opts.Existing {
			err = existing(ctx, rest)
		}
		if err == nil {
			db, err = openSQLite(ctx, rest, cmp.Or(opts.Conns, defaultSQLiteConns), opts)
		}
		err = named(rest, err)
	case "postgres", "postgresql":
		db, err = openPostgres(ctx, url, opts, logger)
	default:
		return nil, errors.New("store: a database url begins with sqlite: or postgres://")
	}
	if err != nil {
		return nil, fmt.Errorf("store: open: %w", Translate(err))
	}
	d := &DB{database: db, logger: logger, readTime: cmp.Or(opts.ReadTimeout, defaultReadTimeout)}
	if opts.NoMigrate {
		return d, nil
	}
	if err := d.Upkeep().Migrate(ctx); err != nil {
		return nil, errors.Join(err, d.Upkeep().Close())
	}
	return d, nil
}

// Upkeep is what the operator of a database does with it. It is safe for concurrent use.
type Upkeep struct{ db *DB }

// Upkeep returns the database's.
func (d *DB) Upkeep() Upkeep { return Upkeep{d} }

// Close ends all connections. Later calls fail with record.ErrUnavailable.
func (u Upkeep) Close() error {
	if u.db.closed.Swap(true) {
		return nil
	}
	return u.db.close()
}

// Read returns a handle whose reads end within the read timeout.
func (d *DB) Read(ctx context.Context) *gorm.DB {
	ctx, cancel := context.WithTimeout(ctx, d.readTime) //nolint:gosec // the caller's context or the time ends it: a handle is not told when it was used last
	_ = cancel
	return d.read().WithContext(ctx)
}

// Write runs fn in a transaction that ends within the timeout of a change; fn
// may run again from its start. It holds the fence of the context.
func (d *DB) Write(ctx context.Context, fn func(tx *gorm.DB) error) error {
	ctx, cancel := context.WithTimeout(ctx, d.ChangeTime())
	defer cancel()
	return d.write(ctx, func(tx *gorm.DB) error {
		if err := d.hold(tx, record.FenceOf(ctx)); err != nil {
			return err
		}
		return fn(tx)
	})
}

// hold keeps the run at its attempt until the end of the transaction, or returns
// record.ErrFenced. It comes before all other locks, so that everybody who locks a run
// and a document does so in this order.
func (d *DB) hold(tx *gorm.DB, f record.Fence) error {
	if f == (record.Fence{}) {
		return nil
	}
	held := 0
	err := tx.Raw("SELECT 1 FROM runs WHERE id = ? AND attempt = ? AND state IN ('running', 'waiting')"+d.sharedLock(), f.RunID, f.Attempt).Scan(&held).Error
	if err == nil && held == 0 {
		err = record.ErrFenced
	}
	return err
}

// Batch is like Write, but on the fast path.
func (d *DB) Batch(ctx context.Context, fn func(ctx context.Context, tx Session) error) error {
	ctx, cancel := context.WithTimeout(ctx, d.ChangeTime())
	defer cancel()
	return d.batch(ctx, func(tx Session) error { return fn(ctx, tx) })
}

// Transact is like Batch, but has no limit of time besides that of its context.
func (d *DB) Transact(ctx context.Context, fn func(tx Session) error) error { return d.batch(ctx, fn) }

// goesAhead is the key of contexts whose transactions come before all that wait, where
// there is one at a time.
type goesAhead struct{}

// Ahead returns a context whose transactions come before all that wait: one at a time
// commits for all runs, and many others may wait.
func Ahead(ctx context.Context) context.Context { return context.WithValue(ctx, goesAhead{}, true) }

// Shared returns the connections to a server that other processes may use too, and the one
// for the renewal of this process's lease alone; nil for SQLite, whose file one process serves.
func (d *DB) Shared() (all, own *sql.DB) {
	if pg, ok := d.database.(*postgresDB); ok {
		return pg.pool, pg.own
	}
	return nil, nil
}

// ReadTime is the most time of a read.
func (d *DB) ReadTime() time.Duration { return d.readTime }

// ChangeTime is the most time of a change.
func (d *DB) ChangeTime() time.Duration { return changeTimes * d.readTime }

// gormConfig is for a handle whose transactions the store manages itself.
func gormConfig() *gorm.Config {
	return &gorm.Config{SkipDefaultTransaction: true, DisableAutomaticPing: true, Logger: logger.Discard}
}

// Number returns the one number that the SELECT finds. gorm's Row would panic
// when the statement cannot be prepared.
func Number(tx *gorm.DB, query string, args ...any) (int64, error) {
	var n int64
	found := tx.Raw(query, args...).Scan(&n)
	if found.Error == nil && found.RowsAffected == 0 {
		return 0, schemas.ErrNotFound
	}
	return n, found.Error
}

// Found returns the error of a statement that must change a row.
func Found(done *gorm.DB) error {
	if done.Error == nil && done.RowsAffected == 0 {
		return schemas.ErrNotFound
	}
	return done.Error
}
