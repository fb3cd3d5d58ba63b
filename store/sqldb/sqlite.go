package sqldb

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"gorm.io/driver/sqlite"
	"gorm.io/gorm"

	"github.com/chattray/chattray/store/search"
)

// Limits of SQLite.
const (
	// sqliteBusy is how long to wait for another process's lock; a waiting
	// transaction checks its context every sqliteLook.
	sqliteBusy, sqliteLook = 10 * time.Second, 100 * time.Millisecond
	// sqliteReadCache and sqliteWriteCache limit the page cache of a connection. The system
	// caches the file, too. Readers that are rarely used fill theirs for hours: a larger one
	// would grow for so long.
	sqliteReadCache, sqliteWriteCache = "-250", "-4000" // KiB
	// sqlitePage is the size of a page of a new file, in bytes. Most answers and logs have
	// 1 to 4 KiB: of pages of 4 KiB they would leave a third empty.
	sqlitePage = "8192"
	// sqliteCheckpoint is how many pages the write-ahead log may have before
	// they are moved into the file.
	sqliteCheckpoint = "2000"
	// statementsStay keeps gorm's prepared statements practically forever: with
	// a shorter lifetime gorm starts a goroutine that never ends.
	statementsStay = 10 * 365 * 24 * time.Hour
	// mostStatements bounds the prepared statements for reading, of each connection. A
	// list of ids in a statement makes another one of each length.
	mostStatements = 256
)

// sqliteDB is a database file: a pool of readers and one writer.
type sqliteDB struct {
	path    string
	driver  string      // see Options
	frozen  bool        // see frozen
	lock    *sqliteLock // nil unless this process serves the file
	file    sqliteFile
	readers *sql.DB
	reads   *gorm.DB
	writers *sql.DB

	// turn holds one token, whose holder may use the writer. The token is gone
	// once closed is closed. A transaction that goes ahead gets it from ahead before
	// all others.
	turn, ahead, closed chan struct{}
	// passed counts how often the turn was passed on, unless locked is set. locked is the error
	// of the last transaction that tried to begin if another process has the lock, else nil.
	passed atomic.Int64
	locked atomic.Pointer[error]
	// writer is nil until it is needed, and again once it is broken.
	writer *sqliteWriter
	// forgetting has how many deletions each search index had counted when it began to
	// forget them, as far as that is stored. Only Forget uses it.
	forgetting map[string]int64
	// commits counts the commits. Behind is true unless the search indexes are known to
	// have what was committed.
	commits atomic.Int64
	behind  atomic.Bool
	// indexRows is the constant of this name; tests have others.
	indexRows int64
}

// sqliteWriter is the one connection that writes, with its statements.
type sqliteWriter struct {
	conn       *sql.Conn
	gorm       *gorm.DB
	statements map[string]*sql.Stmt
}

func openSQLite(ctx context.Context, path string, conns int, opts Options) (_ *sqliteDB, err error) {
	if path == "" || strings.HasPrefix(path, ":memory:") {
		return nil, errors.New("sqlite: needs the path of a file")
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	if err := createSQLite(ctx, path); err != nil {
		return nil, err
	}
	path = linked(path)
	if opts.Alone {
		if err := writable(path); err != nil {
			return nil, err
		}
	}
	d := &sqliteDB{path: path, driver: cmp.Or(opts.Driver, "sqlite"), turn: make(chan struct{}, 1), ahead: make(chan struct{}), closed: make(chan struct{}), forgetting: make(map[string]int64), indexRows: indexRows}
	d.behind.Store(true)
	d.turn <- struct{}{}
	d.frozen = opts.Existing && frozen(path)
	if d.writers, err = sql.Open(d.driver, d.source(sqliteWriteCache, sqliteLook)); err != nil {
		return nil, err
	}
	d.writers.SetMaxOpenConns(1)
	if err := d.writers.PingContext(ctx); err != nil { // Ping turns on WAL mode before the first read
		return nil, errors.Join(err, d.writers.Close())
	}
	if d.file.opened, err = os.Stat(path); err != nil {
		return nil, errors.Join(err, d.writers.Close())
	}
	if opts.Alone {
		if d.lock, err = lockSQLite(path); err != nil {
			return nil, errors.Join(err, d.writers.Close())
		}
		defer func() {
			if err != nil {
				err = errors.Join(err, d.lock.release())
			}
		}()
	}
	if d.readers, err = sql.Open(d.driver, d.source(sqliteReadCache, sqliteBusy)+"&_pragma=query_only(1)"); err != nil {
		return nil, errors.Join(err, d.writers.Close())
	}
	d.readers.SetMaxOpenConns(conns)
	d.readers.SetMaxIdleConns(conns)
	config := gormConfig()
	config.PrepareStmt, config.PrepareStmtTTL, config.PrepareStmtMaxSize = true, statementsStay, mostStatements
	if d.reads, err = gorm.Open(sqlite.Dialector{DriverName: "sqlite", Conn: d.readers}, config); err != nil {
		return nil, errors.Join(err, d.readers.Close(), d.writers.Close())
	}
	d.reads.Statement.ConnPool = &readPool{ConnPool: d.reads.Statement.ConnPool, tries: 1, readers: newReaders(conns, d.closed)}
	return d, nil
}

// createSQLite makes a new file with pages of sqlitePage, which only its owner can read, and
// leaves an existing one as it is; that of another program is an error. In WAL mode the size
// of the pages could no longer be chosen. SQLite gives its other files the mode of this one.
func createSQLite(ctx context.Context, path string) error {
	if info, err := os.Stat(path); err == nil && info.Size() > 0 {
		if err := existing(ctx, path); errors.Is(err, errForeign) {
			return err
		}
		return nil
	}
	if file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600); err == nil { //nolint:gosec // the operator names the file
		_ = file.Close() // it is empty; SQLite tells what is wrong with it or its folder
	}
	db, err := sql.Open("sqlite", sqliteFileURL(path)+"?_pragma=page_size("+sqlitePage+")")
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, "VACUUM") // writes the first page
	return errors.Join(err, db.Close())
}

// sqliteFileURL returns the file as an SQLite URI.
func sqliteFileURL(path string) string {
	return "file:" + (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath()
}

// source returns the data source of the file.
func (d *sqliteDB) source(cache string, busy time.Duration) string {
	if d.frozen {
		return sqliteReadURL(d.path) + "&_pragma=cache_size(" + cache + ")"
	}
	return sqliteDSN(d.path, cache, busy)
}

// sqliteDSN returns a data source with durable commits and enforced references, which
// overwrites what is deleted with zeros: free pages would have text of deleted users.
func sqliteDSN(path, cache string, busy time.Duration) string {
	q := url.Values{"_txlock": {"immediate"}, "_pragma": {
		"busy_timeout(" + strconv.FormatInt(busy.Milliseconds(), 10) + ")", "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)",
		"cache_size(" + cache + ")", "wal_autocheckpoint(" + sqliteCheckpoint + ")", "temp_store(MEMORY)",
		"secure_delete(1)",
	}}
	return sqliteFileURL(path) + "?" + q.Encode()
}

func (d *sqliteDB) read() *gorm.DB { return d.reads }

func (*sqliteDB) Search() search.Database { return search.SQLite{} }

// close waits for the current transaction. The last connection to the file deletes the
// write-ahead log; before others it is emptied, if nobody reads it.
func (d *sqliteDB) close() error {
	<-d.turn
	close(d.closed)
	if d.writer != nil {
		_, _ = d.tryEmptyLog(context.Background()) // nothing is lost without it
	}
	d.drop()
	return errors.Join(d.readers.Close(), d.writers.Close(), d.lock.release())
}

func (d *sqliteDB) write(ctx context.Context, fn func(tx *gorm.DB) error) error {
	return d.transaction(ctx, func(w *sqliteWriter) error { return fn(w.gorm.WithContext(ctx)) })
}

func (d *sqliteDB) batch(ctx context.Context, fn func(tx Session) error) error {
	return d.transaction(ctx, func(w *sqliteWriter) error { return fn(w) })
}

// transaction runs fn between BEGIN and COMMIT, one transaction at a time.
func (d *sqliteDB) transaction(ctx context.Context, fn func(w *sqliteWriter) error) error {
	if err := d.await(ctx); err != nil {
		return err
	}
	defer d.pass()
	if d.writer == nil {
		if err := d.connect(ctx); err != nil {
			return err
		}
	}
	begun, done := false, false
	defer func() {
		if begun && !done {
			d.rollback(ctx)
		}
	}()
	if err := d.inPlace(); err != nil {
		return err
	}
	if err := d.begin(ctx); err != nil {
		if !locked(err) && ctx.Err() == nil { // it may have begun
			d.drop()
		}
		return err
	}
	begun = true
	if err := fn(d.writer); err != nil {
		return err
	}
	if err := d.writer.run(ctx, "COMMIT"); err != nil {
		return err
	}
	done = true
	return nil
}

// rollback ends a failed transaction. Some failures have already ended it.
func (d *sqliteDB) rollback(ctx context.Context) {
	if err := d.writer.run(context.WithoutCancel(ctx), "ROLLBACK"); err != nil {
		d.drop()
	}
}

// drop closes the writer; the next transaction opens another one. The pool does not keep the
// connection, which may have a transaction that has not ended.
func (d *sqliteDB) drop() {
	if d.writer == nil {
		return
	}
	for _, st := range d.writer.statements {
		_ = st.Close() // closing the connection ends it anyway
	}
	_ = d.writer.conn.Raw(func(any) error { return driver.ErrBadConn }) // this closes it
	d.writer = nil
	d.file.forgetLog()
}

func (d *sqliteDB) connect(ctx context.Context) error {
	conn, err := d.writers.Conn(ctx)
	if err != nil {
		return err
	}
	db, err := gorm.Open(sqlite.Dialector{DriverName: "sqlite", Conn: conn}, gormConfig())
	if err != nil {
		return errors.Join(err, conn.Close())
	}
	d.writer = &sqliteWriter{conn: conn, gorm: db, statements: make(map[string]*sql.Stmt)}
	return nil
}

// sqliteWords replaces the marks of Session by SQLite's SQL.
var sqliteWords = strings.NewReplacer(
	"{among}", "IN (SELECT value FROM json_each(?))", "{lock}", "", "{skip}", "", "{next_seq}", "(SELECT MAX(seq) + 1 FROM blocks)",
	// A place is not given again once a sweep has come so far: it would not come back.
	"{next_place}", "(SELECT MAX(COALESCE((SELECT MAX(place) FROM runs), 0), at) + 1 FROM sweeps WHERE kind = 'logs')", "{not_gone}", "? IS NOT NULL", "{left}", "false", "{now}", "9223372036854775807",
)

// prepare returns the statement, which is kept as long as the connection.
func (w *sqliteWriter) prepare(ctx context.Context, statement string) (*sql.Stmt, error) {
	if st, ok := w.statements[statement]; ok {
		return st, nil
	}
	st, err := w.conn.PrepareContext(ctx, sqliteWords.Replace(statement))
	if err != nil {
		return nil, fmt.Errorf("prepare %.40q: %w", statement, err)
	}
	w.statements[statement] = st
	return st, nil
}

// run runs a statement without parameters. The driver starts a goroutine for
// each statement whose context can end, so the context is checked once. The
// file answers quickly, and sqliteBusy bounds the wait for its lock.
func (w *sqliteWriter) run(ctx context.Context, statement string) error {
	return w.Each(ctx, statement, [][]any{nil})
}

func (w *sqliteWriter) Each(ctx context.Context, statement string, rows [][]any) error {
	return w.forEach(ctx, statement, rows, func(ctx context.Context, st *sql.Stmt, args []any) error {
		_, err := st.ExecContext(ctx, args...)
		return err
	})
}

// Ask is Query: the file answers at once.
func (w *sqliteWriter) Ask(ctx context.Context, statement string, rows [][]any, scan func(row Scanner) error) error {
	return w.Query(ctx, statement, rows, scan)
}

func (w *sqliteWriter) Query(ctx context.Context, statement string, rows [][]any, scan func(row Scanner) error) error {
	return w.forEach(ctx, statement, rows, func(ctx context.Context, st *sql.Stmt, args []any) error {
		return queryOne(ctx, st, args, scan)
	})
}

// Insert needs no RETURNING, for which SQLite would make a table in memory each time.
func (w *sqliteWriter) Insert(ctx context.Context, statement, _ string, rows [][]any, inserted func(i int, key int64)) error {
	i := 0
	return w.forEach(ctx, statement, rows, func(ctx context.Context, st *sql.Stmt, args []any) error {
		done, err := st.ExecContext(ctx, args...)
		if err != nil {
			return err
		}
		n, err := done.RowsAffected()
		if err == nil && n > 0 {
			var key int64
			if key, err = done.LastInsertId(); err == nil {
				inserted(i, key)
			}
		}
		i++
		return err
	})
}

// forEach prepares the statement and calls do with it once for each row.
func (w *sqliteWriter) forEach(ctx context.Context, statement string, rows [][]any, do func(context.Context, *sql.Stmt, []any) error) error {
	if err := ctx.Err(); err != nil || len(rows) == 0 {
		return err
	}
	ctx = context.Background() // see run
	st, err := w.prepare(ctx, statement)
	if err != nil {
		return err
	}
	for _, args := range rows {
		if err := do(ctx, st, args); err != nil {
			return err
		}
	}
	return nil
}

func queryOne(ctx context.Context, st *sql.Stmt, args []any, scan func(row Scanner) error) error {
	found, err := st.QueryContext(ctx, args...)
	if err != nil {
		return err
	}
	defer func() { _ = found.Close() }() // Err reports the error
	for found.Next() {
		if err := scan(found); err != nil {
			return err
		}
	}
	return found.Err()
}
