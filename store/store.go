// Package store keeps chats and their messages, runs with their logs,
// checkpoints and tool calls, payloads, documents, and the research data in
// Postgres or SQLite. It is the only package that knows SQL, gorm and the
// migrations. Package services decides what the data means.
//
// Everything that a run writes goes through [Store.Commit], which takes the
// writes of many runs at once. All other methods are small reads and changes.
// Errors wrap schemas.ErrNotFound for an id that is unknown or belongs to
// another user, and record.ErrUnavailable while the database cannot be reached.
//
// Free text is stored as valid UTF-8 without U+0000, the same on both
// databases. JSON and file contents are kept byte for byte.
package store

import (
	"cmp"
	"context"
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
	// Quota bounds the bytes of documents and attachments of each owner,
	// including pending changes. Each document, attachment and block counts 1
	// KiB more. Exceeding it is an error of code quota; concurrent changes may
	// together exceed it. 0 means no limit.
	Quota int64
	// Limits are checked only where several processes share the database: a single one
	// knows what it has started.
	Limits StartLimits
}

// defaultReadTimeout is how long a read may take.
const defaultReadTimeout = 5 * time.Second

// changeTimes is how many times longer than a read a change may take, from
// asking for a connection to its commit, including retries.
const changeTimes = 2

// Store is an open database. It is safe for concurrent use.
type Store struct {
	db      database
	quota   int64 // see Options
	limits  StartLimits
	many    bool // other processes use the database too
	logger  *slog.Logger
	journal journalSize
	cancels cancels
	closed  atomic.Bool
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
	batch(ctx context.Context, fn func(tx session) error) error
	// check returns problems that can be seen without a query.
	check() error
	migrate(ctx context.Context, logger *slog.Logger) error
	migrations(ctx context.Context) ([]Migration, error)
	// searchArticles narrows tx to the articles with all or some of the words,
	// the best first.
	searchArticles(tx *gorm.DB, words []string, all bool) *gorm.DB
	// giveWay is called between two transactions of an import.
	giveWay(ctx context.Context) error
	// imported is called after an import.
	imported(ctx context.Context) error
	// emptyLog removes text of deleted rows from where the server writes first.
	emptyLog(ctx context.Context) error
	// forget does a step of Store.Forget.
	forget(ctx context.Context) (more bool, err error)
	// rowLock locks the rows of a SELECT until the end of the transaction.
	rowLock() []clause.Expression
	// sharedLock, at the end of a SELECT, keeps its rows as they are until then.
	sharedLock() string
	// contains returns the condition that a column has a lower-case text, ignoring the
	// column's case. Its argument is pattern of the text.
	contains(column string) string
	pattern(text string) string
	// looksFirst returns how many of the newest chats a search looks through before it
	// asks the index.
	looksFirst() int
	// indexed returns a SELECT of the ids of the owner's chats whose title or current
	// messages have the lower-case text of at least termLength characters, which is also
	// given as a pattern; an id may come several times.
	indexed(owner, text, pattern string) (query string, args []any)
	// index brings some of what is new into the indexes of searches. It is called before
	// each commit, with waiting, and now and then while none waits.
	index(ctx context.Context, waiting bool) error
	close() error
}

// session runs statements in one transaction. Their parameters are question
// marks. Each database replaces these marks: {among} tests membership in a JSON
// array of texts, its parameter; {lock} at the end of a SELECT locks its rows
// until the end, and {skip} those of them that nobody else has locked;
// {next_seq} and {next_place} are numbers for blocks.seq and runs.place greater
// than all existing ones; {not_gone} is true for a replica, its parameter, that
// was not marked as gone; {now} is the server's time in microseconds, or later
// than all times where the only clock is the process's own.
type session interface {
	// each runs the statement once for each row of arguments, now or together
	// with the next statements, always in order.
	each(ctx context.Context, statement string, rows [][]any) error
	// query runs the SELECT once for each row of arguments and calls scan for
	// each row found.
	query(ctx context.Context, statement string, rows [][]any, scan func(row scanner) error) error
}

type scanner interface{ Scan(into ...any) error }

// Open opens the database under url and brings its tables up to date. The url
// is sqlite:PATH, whose folder is created if it is missing, or postgres://….
// Errors never contain the url.
func Open(ctx context.Context, url string, opts Options) (*Store, error) {
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
			db, err = openSQLite(ctx, rest, cmp.Or(opts.Conns, defaultSQLiteConns), opts.Alone)
		}
	case "postgres", "postgresql":
		db, err = openPostgres(ctx, url, opts, logger)
	default:
		return nil, errors.New("store: a database url begins with sqlite: or postgres://")
	}
	if err != nil {
		return nil, fmt.Errorf("store: open: %w", translate(err))
	}
	s := &Store{db: db, quota: opts.Quota, limits: opts.Limits, many: opts.Lease > 0, logger: logger, readTime: cmp.Or(opts.ReadTimeout, defaultReadTimeout)}
	if opts.NoMigrate {
		return s, nil
	}
	if err := s.Migrate(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Close ends all connections. Later calls fail with record.ErrUnavailable.
func (s *Store) Close() error {
	if s.closed.Swap(true) {
		return nil
	}
	return s.db.close()
}

// Empty reports whether the store has no research data yet.
func (s *Store) Empty(ctx context.Context) (bool, error) {
	n, err := number(s.read(ctx), "SELECT (SELECT COUNT(*) FROM streams) + (SELECT COUNT(*) FROM reports)")
	return n == 0, s.fault("empty", err)
}

// read returns a handle whose reads end within the read timeout.
func (s *Store) read(ctx context.Context) *gorm.DB {
	ctx, cancel := context.WithTimeout(ctx, s.readTime) //nolint:gosec // the caller's context or the time ends it: a handle is not told when it was used last
	_ = cancel
	return s.db.read().WithContext(ctx)
}

// write runs fn in a transaction that ends within the timeout of a change; fn
// may run again from its start. It holds the fence of the context.
func (s *Store) write(ctx context.Context, fn func(tx *gorm.DB) error) error {
	ctx, cancel := context.WithTimeout(ctx, changeTimes*s.readTime)
	defer cancel()
	return s.db.write(ctx, func(tx *gorm.DB) error {
		if err := s.hold(tx, record.FenceOf(ctx)); err != nil {
			return err
		}
		return fn(tx)
	})
}

// hold keeps the run at its attempt until the end of the transaction, or returns
// record.ErrFenced. It comes before all other locks, so that everybody who locks a run
// and a document does so in this order.
func (s *Store) hold(tx *gorm.DB, f record.Fence) error {
	if f == (record.Fence{}) {
		return nil
	}
	held := 0
	err := tx.Raw("SELECT 1 FROM runs WHERE id = ? AND attempt = ? AND state IN ('running', 'waiting')"+s.db.sharedLock(), f.RunID, f.Attempt).Scan(&held).Error
	if err == nil && held == 0 {
		err = record.ErrFenced
	}
	return err
}

// batch is like write, but on the fast path.
func (s *Store) batch(ctx context.Context, fn func(ctx context.Context, tx session) error) error {
	ctx, cancel := context.WithTimeout(ctx, changeTimes*s.readTime)
	defer cancel()
	return s.db.batch(ctx, func(tx session) error { return fn(ctx, tx) })
}

// gormConfig is for a handle whose transactions the store manages itself.
func gormConfig() *gorm.Config {
	return &gorm.Config{SkipDefaultTransaction: true, DisableAutomaticPing: true, Logger: logger.Discard}
}

// number returns the one number that the SELECT finds. gorm's Row would panic
// when the statement cannot be prepared.
func number(tx *gorm.DB, query string, args ...any) (int64, error) {
	var n int64
	found := tx.Raw(query, args...).Scan(&n)
	if found.Error == nil && found.RowsAffected == 0 {
		return 0, schemas.ErrNotFound
	}
	return n, found.Error
}

// change runs a statement that must change a row.
func (s *Store) change(ctx context.Context, statement string, args ...any) error {
	return s.write(ctx, func(tx *gorm.DB) error { return found(tx.Exec(statement, args...)) })
}

// found returns the error of a statement that must change a row.
func found(done *gorm.DB) error {
	if done.Error == nil && done.RowsAffected == 0 {
		return schemas.ErrNotFound
	}
	return done.Error
}
