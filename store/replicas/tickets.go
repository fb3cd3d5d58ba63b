package replicas

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/store/values"
)

// sweptTickets is how many expired tickets are dropped at most at once.
const sweptTickets = 100

// addTicket also drops expired tickets, and those of the owner that are bound to a run
// and exceed the limit: the ones that end first.
const addTicket = `WITH swept AS (DELETE FROM tickets WHERE hash IN (SELECT hash FROM tickets WHERE until <= clock_timestamp() ORDER BY until LIMIT $7)),
	dropped AS (DELETE FROM tickets WHERE hash IN (SELECT hash FROM tickets WHERE owner = $2 AND run <> '' ORDER BY until DESC OFFSET $6))
	INSERT INTO tickets (hash, owner, identity, until, ends)
	SELECT $1, $2, $3, LEAST(clock_timestamp() + $4 * interval '1 microsecond', $5), $5
	WHERE (SELECT COUNT(*) FROM tickets WHERE owner = $2 AND run = '' AND until > clock_timestamp()) < $6`

// dropTickets drops expired tickets that no new one has dropped.
// useTicket drops a ticket that has not been used, bindTicket binds it to a run or finds
// it bound to that run.
const (
	dropTickets = `DELETE FROM tickets WHERE hash IN (SELECT hash FROM tickets WHERE until <= clock_timestamp() ORDER BY until LIMIT $1)`

	useTicket  = `DELETE FROM tickets WHERE hash = $1 AND run = '' AND until > clock_timestamp() RETURNING identity`
	bindTicket = `UPDATE tickets SET run = $2, until = CASE WHEN run = '' THEN LEAST(clock_timestamp() + $3 * interval '1 microsecond', ends) ELSE until END
		WHERE hash = $1 AND run IN ('', $2) AND until > clock_timestamp() RETURNING identity`
)

// never is the end of a token that has none.
var never = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// AddTicket keeps a ticket for some time, at most until its token ends. It returns false
// if the owner has that many that have not been used; of those that are bound to a run it
// keeps that many.
func (r *Table) AddTicket(ctx context.Context, t record.Ticket, life time.Duration, most int) (bool, error) {
	ends := t.Ends
	if ends.IsZero() {
		ends = never
	}
	ctx, cancel := context.WithTimeout(ctx, r.db.ChangeTime())
	defer cancel()
	done, err := r.all.ExecContext(ctx, addTicket, t.Hash, values.Clean(t.Owner), t.Identity, life.Microseconds(), ends, most, sweptTickets)
	if err != nil {
		return false, r.db.Fault("add a ticket", err)
	}
	n, err := done.RowsAffected()
	return n > 0, r.db.Fault("add a ticket", err)
}

// TakeTicket returns the identity of a valid ticket. For run "" the ticket must not have
// been used and is used up. Otherwise it is valid for the first run that it is taken for,
// for that time from then on. The error is schemas.ErrNotFound for any other ticket.
func (r *Table) TakeTicket(ctx context.Context, hash []byte, run string, life time.Duration) (identity []byte, err error) {
	if !values.PlainText(run) {
		return nil, schemas.ErrNotFound
	}
	ctx, cancel := context.WithTimeout(ctx, r.db.ChangeTime())
	defer cancel()
	statement, args := useTicket, []any{hash}
	if run != "" {
		statement, args = bindTicket, []any{hash, run, life.Microseconds()}
	}
	if err := r.all.QueryRowContext(ctx, statement, args...).Scan(&identity); errors.Is(err, sql.ErrNoRows) {
		return nil, schemas.ErrNotFound
	} else if err != nil {
		return nil, r.db.Fault("take a ticket", err)
	}
	return identity, nil
}

// Forget drops an owner's tickets, and what their deleted runs have claimed.
func (r *Table) Forget(ctx context.Context, owner string) error {
	return r.change(ctx, `WITH dropped AS (DELETE FROM tickets WHERE owner = $1)
		DELETE FROM claims WHERE owner = $1 AND NOT EXISTS (SELECT 1 FROM runs WHERE id = claims.run)`, values.Clean(owner))
}

// DropTickets drops the next tickets that have expired. More says that there may be more.
func (r *Table) DropTickets(ctx context.Context) (more bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, r.db.ChangeTime())
	defer cancel()
	done, err := r.all.ExecContext(ctx, dropTickets, sweptTickets)
	if err != nil {
		return false, r.db.Fault("drop tickets", err)
	}
	n, err := done.RowsAffected()
	return n == sweptTickets, r.db.Fault("drop tickets", err)
}
