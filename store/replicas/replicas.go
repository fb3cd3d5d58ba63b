// Package replicas has the table of the processes that share a database: which runs each
// may work on, what they claim, what users do to runs of others, the events that others
// store, and tickets. Only Postgres has it. The runs themselves are written by
// package store.
package replicas

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"time"

	"gorm.io/gorm"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/store/sqldb"
	"github.com/chattray/chattray/store/tables"
	"github.com/chattray/chattray/store/values"
)

// joinLock distinguishes the lock of joining replicas from the locks of other
// programs.
const joinLock = 0x6374726a

// goneFor is how long the row of a replica that is gone and has left nothing is
// kept.
const goneFor = "1 day"

// Table is the table of the processes that serve the database. All its times come
// from the database. It is safe for concurrent use.
type Table struct {
	db  *sqldb.DB
	all *sql.DB
	// own is the connection of Renew alone, so that a renewal waits for nothing
	// else.
	own    *sql.DB
	logger *slog.Logger
}

// New returns the table of a database; nil on SQLite, whose file one process serves.
func New(db *sqldb.DB, logger *slog.Logger) *Table {
	all, own := db.Shared()
	if all == nil {
		return nil
	}
	return &Table{db, all, own, logger}
}

// Join adds a replica with a lease of that time. A single process ends the
// membership of an earlier single process and of all whose lease has expired.
// If live replicas conflict with it (any replica for a single process, a single
// process for any replica), Join returns them and adds nothing. A Join whose answer was lost
// may be repeated.
func (r *Table) Join(ctx context.Context, me record.Replica, lease time.Duration) (inTheWay []record.Replica, err error) {
	tx, err := r.all.BeginTx(ctx, nil)
	if err != nil {
		return nil, r.db.Fault("join", err)
	}
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing
	if _, err := tx.ExecContext(ctx, "SELECT pg_advisory_xact_lock($1, hashtext(coalesce(current_schema(), '')))", joinLock); err != nil {
		return nil, r.db.Fault("join", err)
	}
	rows, err := tx.QueryContext(ctx, `SELECT id, name, alone, expires_at FROM replicas
		WHERE gone_at IS NULL AND expires_at > clock_timestamp() AND NOT (alone AND $1) ORDER BY id`, me.Alone)
	if err != nil {
		return nil, r.db.Fault("join", err)
	}
	defer func() { _ = rows.Close() }() // Err says what went wrong
	for rows.Next() {
		var other record.Replica
		if err := rows.Scan(&other.ID, &other.Name, &other.Alone, &other.Until); err != nil {
			return nil, r.db.Fault("join", err)
		}
		if other.Alone || me.Alone {
			inTheWay = append(inTheWay, other)
		}
	}
	if err := rows.Err(); err != nil || len(inTheWay) > 0 {
		return inTheWay, r.db.Fault("join", err)
	}
	for _, step := range []struct {
		statement string
		args      []any
	}{
		{`UPDATE replicas SET gone_at = clock_timestamp() WHERE gone_at IS NULL AND $1`, []any{me.Alone}},
		{`DELETE FROM tickets WHERE until <= clock_timestamp()`, nil},
		{`DELETE FROM replicas WHERE gone_at < clock_timestamp() - CAST($1 AS INTERVAL) AND NOT ` + hasLeft, []any{goneFor}},
		{nameUnknown, []any{tables.RunFormat}},
		{
			`INSERT INTO replicas (id, name, alone, format, expires_at) VALUES ($1, $2, $3, $4, clock_timestamp() + $5 * interval '1 microsecond')
				ON CONFLICT (id) DO UPDATE SET expires_at = excluded.expires_at, gone_at = NULL`,
			[]any{me.ID, values.Clean(me.Name), me.Alone, tables.RunFormat, lease.Microseconds()},
		},
	} {
		if _, err := tx.ExecContext(ctx, step.statement, step.args...); err != nil {
			return nil, r.db.Fault("join", err)
		}
	}
	return nil, r.db.Fault("join", tx.Commit())
}

// nameUnknown adds the replicas that have left something and have no row, so that it is
// taken: one that was suspended for longer than its row is kept may begin a run before it
// finds out, and a server that takes the place of another one may lack the newest rows.
const nameUnknown = `INSERT INTO replicas (id, name, alone, format, expires_at, gone_at)
	SELECT replica, 'unknown', false, $1, clock_timestamp(), clock_timestamp()
	FROM (SELECT replica FROM runs WHERE ` + tables.OpenStates + ` UNION SELECT replica FROM journal) AS left_by
	WHERE replica <> '' AND NOT EXISTS (SELECT 1 FROM replicas WHERE id = left_by.replica)`

// hasLeft is true for a replica with unfinished runs or rows of the journal.
const hasLeft = `(EXISTS (SELECT 1 FROM runs WHERE runs.replica = replicas.id AND ` + tables.OpenStates + `)
	OR EXISTS (SELECT 1 FROM journal WHERE journal.replica = replicas.id))`

// Renew extends the lease to that time from now, and returns how many replicas have a
// valid lease. 0 means that the replica has been marked as gone and has lost its runs.
func (r *Table) Renew(ctx context.Context, id string, lease time.Duration) (live int, err error) {
	err = r.own.QueryRowContext(ctx, `UPDATE replicas SET expires_at = clock_timestamp() + $1 * interval '1 microsecond' WHERE id = $2 AND gone_at IS NULL
		RETURNING 1 + (SELECT COUNT(*) FROM replicas WHERE id <> $2 AND gone_at IS NULL AND expires_at > clock_timestamp())`, lease.Microseconds(), id).Scan(&live)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return live, r.db.Fault("renew", err)
}

// Drain says that the replica is about to leave, and returns whether there is another
// live one that is not.
func (r *Table) Drain(ctx context.Context, id string) (others bool, err error) {
	err = r.own.QueryRowContext(ctx, `WITH me AS (UPDATE replicas SET draining = true WHERE id = $1)
		SELECT EXISTS (SELECT 1 FROM replicas WHERE id <> $1 AND gone_at IS NULL AND NOT draining AND expires_at > clock_timestamp())`, id).Scan(&others)
	return others, r.db.Fault("drain", err)
}

// LetGo leaves runs of the replica without an owner. Nothing of them may be
// written any more, and the journal must have nothing of them.
func (r *Table) LetGo(ctx context.Context, id string, runs []string) error {
	return r.db.Fault("let runs go", r.db.Write(context.WithoutCancel(ctx), func(tx *gorm.DB) error {
		return tx.Exec("UPDATE runs SET "+tables.RememberOwner+", replica = '' WHERE replica = ? AND id IN ? AND "+tables.OpenStates, id, runs).Error
	}))
}

// Leave marks the replica as gone.
func (r *Table) Leave(ctx context.Context, id string) error {
	_, err := r.own.ExecContext(ctx, `UPDATE replicas SET gone_at = clock_timestamp() WHERE id = $1 AND gone_at IS NULL`, id)
	return r.db.Fault("leave", err)
}

// Expired returns the replicas whose lease has expired.
func (r *Table) Expired(ctx context.Context) ([]string, error) {
	return r.ids(ctx, `SELECT id FROM replicas WHERE gone_at IS NULL AND expires_at < clock_timestamp()`)
}

// MarkGone marks those of the replicas as gone whose lease is still expired, and
// returns them.
func (r *Table) MarkGone(ctx context.Context, expired []string) ([]string, error) {
	return r.ids(ctx, `UPDATE replicas SET gone_at = clock_timestamp() WHERE id = ANY($1) AND gone_at IS NULL AND expires_at < clock_timestamp() RETURNING id`, expired)
}

// Unfinished returns the replicas that are gone and have left something. Call Take and Tidy for
// each. "" means runs without a replica.
func (r *Table) Unfinished(ctx context.Context) ([]string, error) {
	return r.ids(ctx, `SELECT id FROM replicas WHERE gone_at IS NOT NULL AND `+hasLeft+`
		UNION ALL SELECT '' WHERE EXISTS (SELECT 1 FROM runs WHERE replica = '' AND `+tables.OpenStates+`)`)
}

// ExpiredFor returns how long ago the first of the leases has expired; less than 0 if that
// is still to come.
func (r *Table) ExpiredFor(ctx context.Context, replicas []string) (time.Duration, error) {
	var seconds float64
	err := r.each(ctx, func(row sqldb.Scanner) error { return row.Scan(&seconds) },
		`SELECT COALESCE(EXTRACT(EPOCH FROM clock_timestamp() - MIN(expires_at)), 0)::float8 FROM replicas WHERE id = ANY($1)`, replicas)
	return time.Duration(seconds * float64(time.Second)), err
}

// First reports whether the replica is the one of the live ones that does what only one
// of them does.
func (r *Table) First(ctx context.Context, id string) (first bool, err error) {
	err = r.each(ctx, func(row sqldb.Scanner) error { return row.Scan(&first) },
		`SELECT COALESCE(MIN(id) = $1, false) FROM replicas WHERE gone_at IS NULL AND NOT draining AND expires_at > clock_timestamp()`, id)
	return first, err
}

// Served reports to the replica, which is gone, whether another one has a valid lease. It
// writes as a renewal does, so that it fails when nobody can renew a lease: the server is
// read-only, or its commits wait for a standby.
func (r *Table) Served(ctx context.Context, id string) (served bool, err error) {
	err = r.each(ctx, func(row sqldb.Scanner) error { return row.Scan(&served) },
		`WITH me AS (UPDATE replicas SET draining = true WHERE id = $1)
		SELECT EXISTS (SELECT 1 FROM replicas WHERE id <> $1 AND gone_at IS NULL AND expires_at > clock_timestamp())`, id)
	return served, err
}

// Now returns the time of the database's server.
func (r *Table) Now(ctx context.Context) (now time.Time, err error) {
	err = r.each(ctx, func(row sqldb.Scanner) error { return row.Scan(&now) }, `SELECT clock_timestamp()`)
	return now, err
}

// maxReplicas bounds the replicas that are listed.
const maxReplicas = 100

// List returns the processes that serve the database, and those that did lately, the
// newest first.
func (r *Table) List(ctx context.Context) (list []schemas.AdminReplica, err error) {
	list = []schemas.AdminReplica{}
	err = r.scan(ctx, func(row sqldb.Scanner) error {
		var a schemas.AdminReplica
		var started, expires time.Time
		err := row.Scan(&a.ID, &a.Name, &a.Live, &a.Draining, &started, &expires, &a.OpenRuns)
		started, expires = started.UTC(), expires.UTC()
		a.StartedAt, a.ExpiresAt = &started, &expires
		list = append(list, a)
		return err
	}, `SELECT id, name, gone_at IS NULL AND expires_at > clock_timestamp(), draining, started_at, expires_at,
		(SELECT COUNT(*) FROM runs WHERE runs.replica = newest.id AND `+tables.OpenStates+`)
		FROM (SELECT * FROM replicas ORDER BY started_at DESC, id LIMIT $1) newest ORDER BY started_at DESC, id`, maxReplicas)
	return list, err
}
