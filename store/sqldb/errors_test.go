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
		&pgconn.PgError{Code: "42501"}: true, // until the operator gives the right
		&pgconn.PgError{Code: "42P01"}: false, &pgconn.PgError{Code: "23505"}: false,
	} {
		if got := errors.Is(Translate(fmt.Errorf("driver: %w", err)), record.ErrUnavailable); got != want {
			t.Errorf("%v: unavailable %t, want %t", err, got, want)
		}
	}
}

// A server that takes no further connection is full, and so is a pooler: at each of its limits
// for clients, but not at what else it refuses.
func TestCrowded(t *testing.T) {
	for err, want := range map[*pgconn.PgError]bool{
		{Code: "53300", Message: "sorry, too many clients already"}:                           true,
		{Code: "08P01", Message: "no more connections allowed (max_client_conn)"}:             true,
		{Code: "08P01", Message: "client connections exceeded (max_db_client_connections)"}:   true,
		{Code: "08P01", Message: "client connections exceeded (max_user_client_connections)"}: true,
		{Code: "08P01", Message: "unsupported startup parameter: client_connection"}:          false,
		{Code: "08P01", Message: "no such user"}:                                              false,
	} {
		if _, got := crowded(fmt.Errorf("driver: %w", err)); got != want {
			t.Errorf("%v: full %t, want %t", err, got, want)
		}
	}
}
