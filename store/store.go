// Package store remembers: chats and their messages, runs with their logs,
// checkpoints and tool calls, payloads, and the research data. It is the only
// package that knows SQL, gorm and the migrations, on Postgres and on SQLite.
// What the remembered things mean is left to services.
//
// Everything that a run writes goes through [Store.Commit], which takes the
// writes of many runs at once. All other methods are small reads and changes.
// Errors carry schemas.ErrNotFound for an id that is unknown or somebody
// else's, record.ErrUnavailable while the database is away.
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

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"
)

// DefaultConns is how many connections are opened for reading on SQLite, and
// for everything on Postgres.
const (
	DefaultSQLiteConns   = 4
	DefaultPostgresConns = 16
)

// Options settle how a database is opened. The zero value is the default.
type Options struct {
	// Logger gets what the migrations do; nil discards it.
	Logger *slog.Logger
	// NoMigrate leaves the tables as they are. Without it Open brings them up
	// to date.
	NoMigrate bool
	// Conns bounds the connections; 0 is DefaultSQLiteConns or
	// DefaultPostgresConns. SQLite has one more, for writing.
	Conns int
}

// Store is an open database. It is safe for concurrent use.
type Store struct {
	db      database
	logs    *slog.Logger
	journal journalSize
	closed  atomic.Bool
}

// database is what differs between the databases.
type database interface {
	// read returns a handle for reading.
	read() *gorm.DB
	// write runs fn in a transaction.
	write(ctx context.Context, fn func(tx *gorm.DB) error) error
	// batch runs fn in a transaction on the fast path; fn may be run again
	// when the database asks for it.
	batch(ctx context.Context, fn func(tx session) error) error
	migrate(ctx context.Context, logs *slog.Logger) error
	migrations(ctx context.Context) ([]Migration, error)
	// searchArticles narrows tx to the articles with all or some of the words,
	// the best first.
	searchArticles(tx *gorm.DB, words []string, all bool) *gorm.DB
	// imported is called in the transaction of an import, at its end.
	imported(tx *gorm.DB) error
	// rowLock locks the rows of a SELECT until the end of the transaction.
	rowLock() []clause.Expression
	// contains is the condition that a column's text matches a LIKE pattern in
	// lower case, whatever its own case; \ escapes.
	contains(column string) string
	close() error
}

// session runs statements in one transaction. Their parameters are question
// marks. The databases have their own words for these marks: {among} is the
// condition to be in a JSON array of texts, its parameter; {lock} at the end of
// a SELECT locks its rows until the end; {next_seq} is a number for blocks.seq
// greater than all there are.
type session interface {
	// each runs the statement once for each row of arguments, now or together
	// with what comes next, always in order.
	each(ctx context.Context, statement string, rows [][]any) error
	// query runs the SELECT once for each row of arguments and calls scan for
	// each row found.
	query(ctx context.Context, statement string, rows [][]any, scan func(row scanner) error) error
}

type scanner interface{ Scan(into ...any) error }

// Open opens the database under url and brings its tables up to date. The url
// is sqlite:PATH, whose folder is made when it is missing, or postgres://…;
// it is never part of an error.
func Open(ctx context.Context, url string, opts Options) (*Store, error) {
	logs := cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	scheme, rest, _ := strings.Cut(url, ":")
	var db database
	var err error
	switch scheme {
	case "sqlite":
		db, err = openSQLite(ctx, rest, cmp.Or(opts.Conns, DefaultSQLiteConns))
	case "postgres", "postgresql":
		db, err = openPostgres(ctx, url, cmp.Or(opts.Conns, DefaultPostgresConns))
	default:
		return nil, errors.New("store: a database url begins with sqlite: or postgres://")
	}
	if err != nil {
		return nil, fmt.Errorf("store: open: %w", translate(err))
	}
	s := &Store{db: db, logs: logs}
	s.journal.rows.Store(journalRows)
	if opts.NoMigrate {
		return s, nil
	}
	if err := s.Migrate(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Close ends all connections. What is called afterwards fails with
// record.ErrUnavailable.
func (s *Store) Close() error {
	if s.closed.Swap(true) {
		return nil
	}
	return s.db.close()
}

// Ping says whether the database answers and takes writes. It changes nothing.
func (s *Store) Ping(ctx context.Context) error {
	return s.fault("ping", s.db.batch(ctx, func(tx session) error { return tx.each(ctx, deleteNothing, [][]any{nil}) }))
}

// deleteNothing is refused by a database that has become read-only; no run has
// this id.
const deleteNothing = "DELETE FROM runs WHERE id = ''"

// Empty says whether there are no research data yet.
func (s *Store) Empty(ctx context.Context) (bool, error) {
	n, err := number(s.read(ctx), "SELECT (SELECT COUNT(*) FROM streams) + (SELECT COUNT(*) FROM reports)")
	return n == 0, s.fault("empty", err)
}

func (s *Store) read(ctx context.Context) *gorm.DB { return s.db.read().WithContext(ctx) }

// gormConfig is for a handle whose transactions are ours.
func gormConfig() *gorm.Config {
	return &gorm.Config{SkipDefaultTransaction: true, DisableAutomaticPing: true, Logger: logger.Discard}
}
