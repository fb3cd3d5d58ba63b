package sqldb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"
	"gorm.io/gorm"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

// errClosed is the error of a closed store.
var errClosed = errors.New("the store is closed")

// Fault returns an error for callers: schemas.ErrNotFound, one that wraps
// record.ErrUnavailable, or err with its operation.
func (d *DB) Fault(operation string, err error) error {
	if err == nil {
		return nil
	}
	if d.closed.Load() {
		return fmt.Errorf("store: %s: %w: %w", operation, record.ErrUnavailable, errClosed)
	}
	if errors.Is(err, schemas.ErrNotFound) {
		return err
	}
	if full(err) {
		d.room.ran()
	}
	return fmt.Errorf("store: %s: %w", operation, Translate(err))
}

// Translate wraps a driver's error in the error that it means, by its type and code.
func Translate(err error) error {
	switch {
	case errors.Is(err, gorm.ErrRecordNotFound), errors.Is(err, sql.ErrNoRows), notText(err):
		return schemas.ErrNotFound.Because(err)
	case full(err) && !errors.Is(err, schemas.ErrNoRoom):
		return fmt.Errorf("%w: %w: %w", record.ErrUnavailable, schemas.ErrNoRoom, err)
	case !errors.Is(err, record.ErrUnavailable) && away(err):
		return fmt.Errorf("%w: %w", record.ErrUnavailable, err)
	default:
		return err
	}
}

// Away reports whether err means that the database is closed, cannot be reached or cannot
// work now.
func (d *DB) Away(err error) bool { return d.closed.Load() || away(err) }

// HadRoom is called after a write that has succeeded: the disk is not full any more.
func (d *DB) HadRoom() { d.room.found() }

// away reports whether err means that the database cannot be reached or cannot work now.
func away(err error) bool {
	if errors.Is(err, context.Canceled) {
		return false
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return true // also one that the server refuses, as while its password is changed
	}
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return slices.ContainsFunc(awayStates, func(state string) bool { return strings.HasPrefix(pg.Code, state) })
	}
	if lite, ok := errors.AsType[*sqlite.Error](err); ok {
		return slices.Contains(awayCodes, lite.Code()&0xff)
	}
	if slices.ContainsFunc(awayErrors, func(e error) bool { return errors.Is(err, e) }) {
		return true
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	return pgconn.SafeToRetry(err)
}

// full reports whether err means that there is no room on the disk. An opened SQLite file
// first needs room for its -shm file.
func full(err error) bool {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pg.Code == "53100"
	}
	lite, ok := errors.AsType[*sqlite.Error](err)
	return ok && (lite.Code()&0xff == sqlite3.SQLITE_FULL || lite.Code() == sqlite3.SQLITE_IOERR_SHMSIZE) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// readOnly reports whether err means that the database accepts no writes.
func readOnly(err error) bool {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pg.Code == stateReadOnly
	}
	lite, ok := errors.AsType[*sqlite.Error](err)
	return ok && slices.Contains([]int{sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM}, lite.Code()&0xff)
}

// noRight reports whether err means that the user of the database lacks a right.
func noRight(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && pg.Code == stateNoRight
}

// broken reports whether err means that the system could not read or write the file, also
// because it has made the disk read-only after an error.
func broken(err error) bool {
	lite, ok := errors.AsType[*sqlite.Error](err)
	return ok && lite.Code()&0xff == sqlite3.SQLITE_IOERR
}

// Late reports whether err means that the time for a statement is over.
func Late(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && pg.Code == "57014" || errors.Is(err, context.DeadlineExceeded)
}

// locked reports whether err means that another process has locked the file.
func locked(err error) bool {
	lite, ok := errors.AsType[*sqlite.Error](err)
	return ok && lite.Code()&0xff == sqlite3.SQLITE_BUSY
}

// awayStates are the prefixes of Postgres' codes for away: connection
// exception, insufficient resources, operator intervention (shutdown, starting
// up), a statement or a transaction that timed out, a transaction that gave way
// to others as often as it was tried, system error, a server that has become
// read-only, and a right that the user lacks, until its operator gives it.
var awayStates = []string{"08", "53", "57P", "57014", "25P03", "25P04", "40001", "40P01", "58", stateReadOnly, stateNoRight}

// stateNoRight is Postgres' code of a statement for which the user lacks a right.
const stateNoRight = "42501"

// stateReadOnly is Postgres' code of a write that a read-only server or transaction refuses.
const stateReadOnly = "25006"

// awayCodes are SQLite's codes for away.
var awayCodes = []int{
	sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL, sqlite3.SQLITE_CANTOPEN,
	sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_INTERRUPT,
}

var awayErrors = append([]error{record.ErrUnavailable, context.DeadlineExceeded, syscall.ECONNREFUSED, syscall.ENOSPC, sql.ErrTxDone}, endedErrors...)

// ended reports whether err means that an established connection has ended, so
// that another one may work. Postgres calls an error that ends a connection
// FATAL. The time of a read is over before that of its context only if the driver tells a
// statement of the end of an earlier one.
func ended(err error) bool {
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return false
	}
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pg.Severity == "FATAL" || pg.SeverityUnlocalized == "FATAL" || pg.SeverityUnlocalized == "PANIC"
	}
	return slices.ContainsFunc(endedErrors, func(e error) bool { return errors.Is(err, e) }) || pgconn.SafeToRetry(err)
}

// outdated reports whether err means that the statement was prepared before a later release
// changed its table. Its connection prepares it again the next time.
func outdated(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && pg.Code == "0A000" && pg.Routine == "RevalidateCachedQuery"
}

var endedErrors = []error{
	driver.ErrBadConn, sql.ErrConnDone, net.ErrClosed, os.ErrDeadlineExceeded, io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE,
}

// notText reports whether err is Postgres' refusal of a parameter that it
// cannot store as text. Nothing is stored under such an id.
func notText(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && pg.Code == "22021"
}

// again reports whether the database aborted the transaction in favour of
// another one, so that a retry may succeed. So does one that finds the run that
// another process has begun under the same Idempotency-Key.
func again(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return GaveWay(err) || ok && pg.Code == "23505" && slices.Contains(racing, pg.ConstraintName) || errors.Is(err, ErrRace)
}

// GaveWay reports whether err means that the transaction gave way to others as often as it
// was tried. It is one of the errors of a database that is away.
func GaveWay(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (pg.Code == "40001" || pg.Code == "40P01")
}

// racing are the constraints that refuse a run when another process has begun one under
// the same Idempotency-Key, or with the same message, at the same time.
var racing = []string{"runs_idempotency", "blocks_pkey"}

// ErrRace means that another process made the same change first.
var ErrRace = errors.New("another process made this change first")
