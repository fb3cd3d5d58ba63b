package store

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

// errClosed is what a closed store says.
var errClosed = errors.New("the store is closed")

// fault returns what a caller may branch on: schemas.ErrNotFound, an error with
// record.ErrUnavailable in its tree, or the error with its operation.
func (s *Store) fault(operation string, err error) error {
	if err == nil {
		return nil
	}
	if s.closed.Load() {
		return fmt.Errorf("store: %s: %w: %w", operation, record.ErrUnavailable, errClosed)
	}
	if errors.Is(err, schemas.ErrNotFound) {
		return err
	}
	if full(err) {
		s.room.ran()
	}
	return fmt.Errorf("store: %s: %w", operation, translate(err))
}

// translate marks a driver's error with what it means, by its type and code.
func translate(err error) error {
	switch {
	case errors.Is(err, gorm.ErrRecordNotFound), errors.Is(err, sql.ErrNoRows), notText(err):
		return schemas.ErrNotFound.Because(err)
	case !errors.Is(err, record.ErrUnavailable) && away(err):
		return fmt.Errorf("%w: %w", record.ErrUnavailable, err)
	default:
		return err
	}
}

// away says whether err means that the database cannot be reached or cannot
// work now.
func away(err error) bool {
	if errors.Is(err, context.Canceled) {
		return false
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
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return true
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	return pgconn.SafeToRetry(err)
}

// full says whether err means that there is no room on the disk.
func full(err error) bool {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pg.Code == "53100"
	}
	lite, ok := errors.AsType[*sqlite.Error](err)
	return ok && lite.Code()&0xff == sqlite3.SQLITE_FULL || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// readOnly says whether err means that the database takes no writes at all.
func readOnly(err error) bool {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pg.Code == "25006"
	}
	lite, ok := errors.AsType[*sqlite.Error](err)
	return ok && slices.Contains([]int{sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM}, lite.Code()&0xff)
}

// locked says whether err means that another process has locked the file.
func locked(err error) bool {
	lite, ok := errors.AsType[*sqlite.Error](err)
	return ok && lite.Code()&0xff == sqlite3.SQLITE_BUSY
}

// awayStates begin the codes of Postgres that mean it: connection exception,
// insufficient resources, operator intervention (shutdown, starting up), a
// statement or a transaction beyond its time, system error, and a server that has
// become read-only.
var awayStates = []string{"08", "53", "57P", "57014", "25P03", "58", "25006"}

// awayCodes are SQLite's.
var awayCodes = []int{
	sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL, sqlite3.SQLITE_CANTOPEN,
	sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_INTERRUPT,
}

var awayErrors = append([]error{context.DeadlineExceeded, os.ErrDeadlineExceeded, syscall.ECONNREFUSED, syscall.ENOSPC}, endedErrors...)

// ended says whether err means that a connection which there was has ended, so
// that another one may do. FATAL is what Postgres calls an error that ends it.
func ended(err error) bool {
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return false
	}
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pg.Severity == "FATAL" || pg.SeverityUnlocalized == "FATAL" || pg.SeverityUnlocalized == "PANIC"
	}
	return slices.ContainsFunc(endedErrors, func(e error) bool { return errors.Is(err, e) }) || pgconn.SafeToRetry(err)
}

var endedErrors = []error{
	driver.ErrBadConn, sql.ErrConnDone, net.ErrClosed, io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE,
}

// notText says whether err is Postgres' refusal of a parameter that is no text
// it can hold; nothing is stored under such an id.
func notText(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && pg.Code == "22021"
}

// again says whether the database gave the transaction up for another one, so
// that the same transaction may succeed now.
func again(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (pg.Code == "40001" || pg.Code == "40P01") || errors.Is(err, errRace)
}

// errRace means that another process was quicker.
var errRace = errors.New("another process was quicker")
