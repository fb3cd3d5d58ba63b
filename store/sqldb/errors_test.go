package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/chattray/chattray/schemas/record"
)

// Errors that a driver reports when the time for the database is over, or its connection,
// mean that it is not available; a request that was given up does not.
func TestUnavailable(t *testing.T) {
	for err, want := range map[error]bool{
		context.DeadlineExceeded: true, sql.ErrConnDone: true,
		sql.ErrTxDone:    true, // the time of the transaction ended before its COMMIT
		context.Canceled: false, errors.New("another"): false,
		// What Postgres has ended in favour of others or after a time of its own could be done later.
		&pgconn.PgError{Code: "40P01"}: true, &pgconn.PgError{Code: "40001"}: true, &pgconn.PgError{Code: "25P04"}: true,
		&pgconn.PgError{Code: "42P01"}: false, &pgconn.PgError{Code: "23505"}: false,
	} {
		if got := errors.Is(Translate(fmt.Errorf("driver: %w", err)), record.ErrUnavailable); got != want {
			t.Errorf("%v: unavailable %t, want %t", err, got, want)
		}
	}
}
